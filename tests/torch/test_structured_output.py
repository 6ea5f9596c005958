"""The serving layer with torch: bitmasks as tensors, and the backends of other libraries behind the contract.

The checks of the contract that another library fails are listed with the reason. The list is exact: a check that begins
to pass, or to fail, is seen here.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch

import tokenstile as xgr
from tokenstile.structured_output import (
    BackendContext,
    GrammarType,
    ReasoningMarkers,
    RequestStatus,
    StructuredOutputManager,
    StructuredOutputsParams,
    available_backends,
    create_backend,
)
from tokenstile.structured_output.conformance import CHECKS, run_check

FORGETS = "it forgets ways on from where the text may end: `a(bc)?` and `a|ab` allow `a` alone"
REGULAR = "it has regular expressions only"
DIFFERENCES = {
    "xgrammar": {},
    "llguidance": {"compiles_structural_tags": "it has tags of the older form only"},
    "outlines_core": {
        "masks_agree_with_accepting": FORGETS,
        "compiles_choice": FORGETS,
        "compiles_json_object": "any object is no regular language; an approximation takes half a minute",
        "compiles_ebnf": REGULAR,
        "compiles_lark": REGULAR,
        "compiles_structural_tags": REGULAR,
        "compiles_older_structural_tags": REGULAR,
    },
}


def needs(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"the package {name} is not installed")


@pytest.mark.parametrize("name", DIFFERENCES)
@pytest.mark.parametrize("check", CHECKS)
def test_others(name, check):
    needs(name)
    finding = run_check(check, lambda context: create_backend(name, context))
    reason = DIFFERENCES[name].get(check)
    assert finding.passed is (reason is None), f"{reason}; {finding.detail}"


def test_the_list_names_checks():
    assert all(set(checks) <= set(CHECKS) for checks in DIFFERENCES.values())


def follow(manager, name, params, text, info):
    """Follow a text through a backend, and return all of its masks."""
    manager.grammar_init(name, params, backend=name).result(60)
    by_bytes = {token: number for number, token in enumerate(info.decoded_vocab)}
    masks = []
    for character in text:
        row = np.asarray(manager.grammar_bitmask([name]).bitmask)
        masks.append(xgr.testing.bitmask_to_bool_mask(row, info.vocab_size)[0])
        assert manager.accept_tokens(name, [by_bytes[character.encode()]])
    return masks


@pytest.mark.parametrize("other", DIFFERENCES)
def test_the_same_request_through_two_backends(other, info):
    needs(other)
    params = StructuredOutputsParams(regex=r"[a-c]+: [0-9]{3}")
    with StructuredOutputManager(info) as manager:
        ours = follow(manager, "tokenstile", params, "abc: 12", info)
        theirs = follow(manager, other, params, "abc: 12", info)
        assert {"tokenstile", other} <= set(available_backends())
        stats = manager.get_stats()["compile_total"]
    assert all((one == two).all() for one, two in zip(ours, theirs, strict=True))
    assert stats == {"tokenstile": 1, other: 1}


@pytest.mark.parametrize("other", DIFFERENCES)
def test_drafts_through_another_backend(other, info):
    needs(other)
    params = StructuredOutputsParams(regex="a[bc]{2}d")
    rows = {}
    with StructuredOutputManager(info, num_speculative_tokens=5) as manager:
        for name in ("tokenstile", other):
            manager.grammar_init(name, params, backend=name).result(60)
            result = manager.grammar_bitmask([name], {name: [*b"abd", -1]})
            rows[name] = xgr.testing.bitmask_to_bool_mask(result.bitmask, info.vocab_size).tolist()
            assert result.num_acceptable_drafts == [2]
            assert manager.validate_tokens(name, list(b"abcd")) == list(b"abcd")
    assert rows["tokenstile"] == rows[other]


@pytest.mark.parametrize("name", ["tokenstile", *DIFFERENCES])
def test_a_marker_and_the_beginning_of_an_answer_in_one_token(name):
    """What is allowed is taken, what is not is not: a rest that is no token is spelled with others."""
    if name != "tokenstile":
        needs(name)
    tokens = [bytes([byte]) for byte in range(128)] + [
        b"</th",
        b"ink>",
        b"ink>ab",
        b"ink>\n\na",
        b"ink>b",
        b"</s>",
    ]
    info = xgr.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])
    markers = ReasoningMarkers(end="</think>")
    with StructuredOutputManager(info, backend=name, reasoning=markers, num_speculative_tokens=2) as manager:
        request = manager.grammar_init("r", StructuredOutputsParams(regex="abc[de]"))
        request.result(60)
        begins = tokens.index(b"</th")
        assert manager.accept_tokens("r", [*b"hm", begins])
        row = xgr.testing.bitmask_to_bool_mask(manager.grammar_bitmask(["r"]).bitmask, info.vocab_size)[0]
        assert np.flatnonzero(~row).tolist() == [tokens.index(b"ink>b")]
        for ending, left in {b"ink>ab": b"cd", b"ink>\n\na": b"bce", b"ink>": b"abcd"}.items():
            written = [tokens.index(ending), *left, len(tokens) - 1]
            assert manager.grammar_bitmask(["r"], {"r": written[:2]}).num_acceptable_drafts == [2]
            assert manager.accept_tokens("r", written), ending
            assert request.status is RequestStatus.FINISHED
            manager.rollback("r", len(written))
            assert request.is_thinking
        assert not manager.accept_tokens("r", [tokens.index(b"ink>b")])
        assert request.error is None


@pytest.mark.parametrize("name", ["tokenstile", *DIFFERENCES])
def test_objects_can_be_closed(name, info):
    if name != "tokenstile":
        needs(name)
    schema = {"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"]}
    closed = StructuredOutputsParams(
        json=schema, disable_additional_properties=True, disable_any_whitespace=True
    )
    with StructuredOutputManager(info, backend=name) as manager:
        manager.grammar_init("r", closed).result(60)
        assert manager.validate_tokens("r", list(b'{"a":1}')) == list(b'{"a":1}')
        assert manager.validate_tokens("r", list(b'{"a":1,"b":1}')) == list(b'{"a":1')
        assert manager.validate_tokens("r", list(b'{ "a":1}')) == list(b"{")


def test_bitmasks_of_torch(info):
    def allocate(rows, vocab_size):
        return torch.zeros(xgr.get_bitmask_shape(rows, vocab_size), dtype=torch.int32)

    with StructuredOutputManager(info, max_num_seqs=4, allocate=allocate) as manager:
        manager.grammar_init("r", StructuredOutputsParams(regex="ab")).result(60)
        manager.grammar_init("free", None)
        result = manager.grammar_bitmask(["free", "r"])
        assert isinstance(result.bitmask, torch.Tensor)
        assert result.bitmask.shape == (2, 5)
        logits = torch.zeros(2, info.vocab_size)
        xgr.apply_token_bitmask_inplace(logits, result.bitmask)
        assert torch.isfinite(logits[0]).all()
        allowed = torch.isfinite(logits[1]).nonzero().flatten().tolist()
        assert [info.decoded_vocab[token] for token in allowed] == [b"a", b"ab"]


def test_pool_and_contract_with_tensors(info):
    backend = create_backend("tokenstile", BackendContext(info))
    grammar = backend.compile_grammar(GrammarType.REGEX, "ab")
    mask = xgr.allocate_token_bitmask(2, info.vocab_size)
    grammar.fill_bitmask(mask, 1)
    assert (mask[0] == -1).all()
    assert not (mask[1] == -1).all()
