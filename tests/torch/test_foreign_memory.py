"""Tensors that change between two calls: everything about them is looked at each time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tokenstile as xgr
from tokenstile._core import apply_token_bitmask_inplace_cpu, batch_fill_drafts


@pytest.fixture
def compiled(info):
    return xgr.GrammarCompiler(info, cache_enabled=False).compile_builtin_json_grammar()


@pytest.fixture
def words(info):
    return xgr.get_bitmask_shape(1, info.vocab_size)[1]


@pytest.fixture
def expected(compiled, words):
    mask = np.zeros((1, words), dtype=np.int32)
    xgr.GrammarMatcher(compiled).fill_next_token_bitmask(mask)
    return torch.from_numpy(mask[0])


def give_smaller_data(mask, words):
    mask.data = torch.zeros(1, words, dtype=torch.int32)


def give_other_type(mask, words):
    mask.data = torch.zeros(4, words, dtype=torch.float32)


def transpose(mask, _words):
    mask.t_()


def make_smaller(mask, words):
    mask.resize_(1, words)


def cut_the_storage(mask, _words):
    mask.untyped_storage().resize_(8)


def empty_the_storage(mask, _words):
    mask.untyped_storage().resize_(0)


CHANGES = [give_smaller_data, give_other_type, transpose, make_smaller, cut_the_storage, empty_the_storage]

CALLS = {
    "one": lambda matcher, mask: matcher.fill_next_token_bitmask(mask, 3),
    "batch": lambda matcher, mask: xgr.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(
        [matcher], mask, [3]
    ),
    "drafts": lambda matcher, mask: batch_fill_drafts(
        xgr.BatchGrammarMatcher(2), [matcher], [3], [[]], None, mask
    ),
    "tree": lambda matcher, mask: matcher.traverse_draft_tree(
        *(torch.tensor(values) for values in ([1, 2, 3, -1], [-1] * 4, [0, 1, 2, 3])), mask
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_bitmask_that_has_changed_is_refused(compiled, words, call, change):
    mask = torch.zeros(4, words, dtype=torch.int32)
    matcher = xgr.GrammarMatcher(compiled)
    CALLS[call](matcher, mask)
    change(mask, words)
    with pytest.raises(xgr.BitmaskError):
        CALLS[call](matcher, mask)


def test_a_tensor_in_new_memory_is_written_there(compiled, words, expected):
    mask = torch.zeros(2, words, dtype=torch.int32)
    matcher = xgr.GrammarMatcher(compiled)
    matcher.fill_next_token_bitmask(mask, 1)
    before = mask.data
    mask.data = torch.full((3, words), -7, dtype=torch.int32)
    before.zero_()
    matcher.fill_next_token_bitmask(mask, 2)
    assert torch.equal(mask[2], expected)
    assert (mask[:2] == -7).all()
    assert (before == 0).all()


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_views_are_written_and_nothing_beside_them(compiled, words, expected, offset):
    whole = torch.full((4 * words + 8,), -7, dtype=torch.int32)
    view = whole[offset : offset + 2 * words].view(2, words)
    xgr.GrammarMatcher(compiled).fill_next_token_bitmask(view, 1)
    assert torch.equal(view[1], expected)
    view[1] = -7
    assert (whole == -7).all()
    columns = torch.full((words, 3), -7, dtype=torch.int32).t()
    xgr.GrammarMatcher(compiled).fill_next_token_bitmask(columns, 1)
    assert torch.equal(columns[1], expected)
    assert (columns[[0, 2]] == -7).all()


@pytest.mark.parametrize("of", [torch.nn.Parameter, lambda tensor, **_: tensor.as_subclass(Subclass)])
def test_classes_of_tensors(compiled, words, expected, of):
    mask = of(torch.zeros(2, words, dtype=torch.int32), requires_grad=False)
    matcher = xgr.GrammarMatcher(compiled)
    matcher.fill_next_token_bitmask(mask, 1)
    assert torch.equal(torch.Tensor(mask.detach())[1].to(torch.int32), expected) or torch.equal(
        mask.detach().as_subclass(torch.Tensor)[1], expected
    )
    mask.untyped_storage().resize_(4)
    with pytest.raises(xgr.BitmaskError, match="storage"):
        matcher.fill_next_token_bitmask(mask, 1)


class Subclass(torch.Tensor):
    pass


def test_logits_that_have_changed():
    logits = torch.zeros(2, 64)
    mask = torch.zeros(2, 2, dtype=torch.int32)
    apply_token_bitmask_inplace_cpu(logits, mask)
    assert torch.isneginf(logits).all()
    logits.untyped_storage().resize_(64)
    with pytest.raises(xgr.BitmaskError, match="the logits: the tensor reaches beyond"):
        apply_token_bitmask_inplace_cpu(logits, mask)
    logits = torch.zeros(2, 64)
    mask.untyped_storage().resize_(8)
    with pytest.raises(xgr.BitmaskError, match="storage"):
        apply_token_bitmask_inplace_cpu(logits, mask)


def test_temperatures_that_have_changed(compiled):
    temperatures = torch.zeros(2)
    matchers = [xgr.GrammarMatcher(compiled)] * 2
    xgr.BatchGrammarMatcher.batch_fill_temperature(matchers, temperatures)
    temperatures.untyped_storage().resize_(4)
    with pytest.raises(xgr.BitmaskError, match="storage"):
        xgr.BatchGrammarMatcher.batch_fill_temperature(matchers, temperatures)
