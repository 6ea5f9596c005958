"""Bitmasks in torch tensors."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch

import tokenstile as xgr
from tokenstile.testing import bitmask_to_bool_mask

WORDS = 5
GUARD = 0x5A5A5A5A


@pytest.fixture(scope="module")
def matcher(info):
    return xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar('root ::= [a-c] | "true"'))


@pytest.fixture(scope="module")
def expected(matcher):
    mask = np.zeros((1, WORDS), dtype=np.int32)
    assert matcher.fill_next_token_bitmask(mask)
    return torch.from_numpy(mask[0].copy())


def test_allocate():
    mask = xgr.allocate_token_bitmask(3, 100)
    assert isinstance(mask, torch.Tensor)
    assert mask.shape == xgr.get_bitmask_shape(3, 100)
    assert mask.dtype == torch.int32 == xgr.bitmask_dtype
    assert mask.device.type == "cpu"
    assert (mask == -1).all()
    mask.zero_()
    xgr.reset_token_bitmask(mask[1:])
    assert (mask[1:] == -1).all()
    assert (mask[0] == 0).all()


LAYOUTS = {
    "contiguous": lambda base: base[:3, :WORDS].contiguous(),
    "one row": lambda base: base[0, :WORDS],
    "wider rows": lambda base: base[:3, 2 : 2 + WORDS],
    "every second row": lambda base: base[1::2, :WORDS],
    "every second column": lambda base: base[:4, : 2 * WORDS : 2],
    "transposed": lambda base: base.T[:4, :WORDS],
    "row of a transposed": lambda base: base.T[2, :WORDS],
    "parameter": lambda base: torch.nn.Parameter(base[:3, :WORDS].contiguous(), requires_grad=False),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(matcher, expected, name):
    base = torch.full((12, 12), GUARD, dtype=torch.int32)
    view = LAYOUTS[name](base)
    for index in range(view.shape[0] if view.dim() == 2 else 1):
        view.fill_(GUARD)
        before = base.clone()
        assert matcher.fill_next_token_bitmask(view, index)
        row = view[index] if view.dim() == 2 else view
        assert torch.equal(row.data, expected)
        row.fill_(GUARD)
        assert torch.equal(base, before), "nothing else was written"


def test_many_short_lived_views(matcher, expected):
    """The layout of the last tensor is remembered, and must not be taken for that of another at its address."""
    base = torch.zeros((8, 3 * WORDS), dtype=torch.int32)
    for round_number in range(2000):
        base.zero_()
        start = round_number % (2 * WORDS)
        rows = 1 + round_number % 2
        assert matcher.fill_next_token_bitmask(base[::rows, start : start + WORDS], 1)
        assert torch.equal(base[rows, start : start + WORDS], expected)
        assert torch.count_nonzero(base) == torch.count_nonzero(expected)
        with pytest.raises(xgr.BitmaskError):
            matcher.fill_next_token_bitmask(base[:, start:start], 0)
        if round_number % 100 == 0:
            gc.collect()


def test_a_tensor_that_changes_its_memory(matcher, expected):
    mask = torch.zeros((2, WORDS), dtype=torch.int32)
    matcher.fill_next_token_bitmask(mask, 1)
    assert torch.equal(mask[1], expected)
    other = torch.zeros((7, WORDS), dtype=torch.int32)
    mask.set_(other)
    matcher.fill_next_token_bitmask(mask, 6)
    assert torch.equal(other[6], expected)


@pytest.mark.parametrize(
    "mask",
    [
        torch.zeros((1, WORDS), dtype=torch.int64),
        torch.zeros((1, WORDS), dtype=torch.float32),
        torch.zeros((1, WORDS), dtype=torch.bool),
        torch.zeros((1, WORDS - 1), dtype=torch.int32),
        torch.zeros((1, WORDS + 1), dtype=torch.int32),
        torch.zeros((1, 1, WORDS), dtype=torch.int32),
        torch.zeros((0, WORDS), dtype=torch.int32),
        torch.zeros((), dtype=torch.int32),
        torch.zeros((1, WORDS), dtype=torch.int32, device="meta"),
        torch.zeros((1, WORDS), dtype=torch.int32).expand(2, WORDS),
        torch.zeros((1, 1), dtype=torch.int32).expand(1, WORDS),
    ],
    ids=lambda mask: f"{mask.dtype}-{tuple(mask.shape)}-{mask.stride()}-{mask.device}",
)
def test_wrong_tensors_are_refused(matcher, mask):
    with pytest.raises(RuntimeError):
        matcher.fill_next_token_bitmask(mask)


def test_batch(matcher, expected):
    mask = torch.zeros((64, WORDS), dtype=torch.int32)
    xgr.BatchGrammarMatcher(2).batch_fill_next_token_bitmask([matcher] * 64, mask)
    assert (mask == expected).all()
    for rows in ([3], torch.tensor([3])):
        mask.zero_()
        xgr.BatchGrammarMatcher(2).batch_fill_next_token_bitmask([matcher], mask, indices=rows)
        assert (mask[3] == expected).all()
        assert not mask[2].any()
    temperatures = torch.zeros(2, dtype=torch.float32)
    xgr.BatchGrammarMatcher.batch_fill_temperature([matcher], temperatures, indices=[1])
    assert temperatures.tolist() == [0, -1]


def test_draft_tree(match, tiny):
    matcher = match('root ::= "a" "b"?', tokenizer_info=tiny)
    children, siblings, tokens = (torch.tensor(c) for c in ([1, -1, -1], [-1, 2, -1], [0, 0, 1]))
    mask = torch.zeros((3, 1), dtype=torch.int32)
    temperatures = torch.full((3,), -1.0)
    assert matcher.traverse_draft_tree(children, siblings, tokens, mask, temperatures=temperatures)
    assert mask[:, 0].tolist() == [0b0101, 0b1010, 0]
    with pytest.raises(ValueError, match="int64"):
        matcher.traverse_draft_tree(children.int(), siblings, tokens, mask)


def test_tokens_as_tensors(match, vocab):
    matcher = match("root ::= [a-z]+")
    a = vocab.index("a")
    assert matcher.accept_token(torch.tensor(a))
    assert matcher.accept_token(torch.tensor([a, 0])[0])
    assert matcher.validate_tokens(torch.tensor([a, a, 0])) == 2


def test_helpers(expected, vocab):
    bools = bitmask_to_bool_mask(expected, len(vocab))
    assert {vocab[token] for token in np.flatnonzero(bools)} == {"a", "b", "c", "t", "true"}
