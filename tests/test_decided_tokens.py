"""How many tokens are decided without the context: counted byte by byte, and beside the masks."""

from __future__ import annotations

import numpy as np
import pytest

import tokenstile as xgr
from tests.real_tokenizers import read
from tokenstile.testing import bitmask_to_bool_mask

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["a", "bc"]}}},
    "required": ["name"],
}


def counts(matcher):
    found = matcher.count_decided_tokens()
    return {name: found[name] for name in ("taken", "refused", "open")}


def passes_the_closing_quote(token):
    """Tell whether a token closes the JSON string that it begins in, and goes on."""
    at = 0
    while at < len(token) and token[at] >= 0x20:
        if token[at] == ord('"'):
            return at + 1 < len(token)
        at += 2 if token[at] == ord("\\") else 1
    return False


def test_small_vocabularies():
    info = xgr.TokenizerInfo(["a", "b", 'a"', '",', '"]', 'b"],', '"', "1", "</s>"], special_token_ids=[8])
    compiled = xgr.GrammarCompiler(info).compile_grammar(
        'root ::= "[" string ("," string)* "]"\nstring ::= "\\"" [ab]* "\\""'
    )
    matcher = xgr.GrammarMatcher(compiled)
    assert matcher.accept_string('["a')
    found = matcher.count_decided_tokens()
    (terminal,) = found["terminals"]
    assert bytes(terminal["next_bytes"]) == b'"ab'
    assert not terminal["may_end"]
    assert counts(matcher) == {name: terminal[name] for name in ("taken", "refused", "open")}
    # The quote ends the string; what stands behind it in the same token is for the list around it.
    assert counts(matcher)["refused"] == 1
    assert sum(counts(matcher).values()) == 8


def test_tokens_that_a_grammar_names_are_taken():
    info = xgr.TokenizerInfo(["a", "b", "<x>"], special_token_ids=[2])
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar('root ::= "a" | <[2]>'))
    assert counts(matcher) == {"taken": 2, "refused": 1, "open": 0}


@pytest.mark.parametrize("name", ["llama3_1", "gpt2", "llama2"])
def test_inside_of_a_json_string(name, tmp_path):
    info = read(name, tmp_path)
    special = set(info.special_token_ids)
    texts = [token for number, token in enumerate(info.decoded_vocab) if number not in special]
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_json_schema(SCHEMA))
    assert matcher.accept_string('{"name": "Al')
    found = counts(matcher)
    assert found["open"] == sum(map(passes_the_closing_quote, texts))
    assert sum(found.values()) == len(texts)
    assert found["open"] < len(texts) / 100 or name == "gpt2"


def walked(matcher, rng, info):
    """Walk to the end, and give what is counted and the mask at each step."""
    row = np.zeros(xgr.get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
    for _ in range(60):
        if matcher.is_terminated():
            return
        matcher.fill_next_token_bitmask(row)
        mask = bitmask_to_bool_mask(row, info.vocab_size)[0]
        yield counts(matcher), mask
        allowed = np.flatnonzero(mask)
        if not len(allowed):
            return
        assert matcher.accept_token(int(rng.choice(allowed)))


@pytest.mark.parametrize(
    "grammar",
    [
        SCHEMA,
        {"type": "array", "items": {"type": "number", "multipleOf": 0.5}, "uniqueItems": True},
        {"anyOf": [{"type": "string", "maxLength": 4}, {"type": "array", "items": {"$ref": "#"}}]},
        'root ::= "a" root "b" | [0-9]{1,3} | "x" root',
        'root ::= TagDispatch(("<a>", a), loop_after_dispatch=true)\na ::= [0-9]+ "</a>"',
    ],
)
def test_masks_lie_between_what_is_taken_and_what_may_be(grammar, vocab, stop):
    info = xgr.TokenizerInfo(vocab, special_token_ids=[stop])
    compiler = xgr.GrammarCompiler(info)
    compiled = (
        compiler.compile_grammar(grammar)
        if isinstance(grammar, str)
        else compiler.compile_json_schema(grammar)
    )
    rng = np.random.default_rng(3)
    steps = 0
    for _ in range(8):
        for found, mask in walked(xgr.GrammarMatcher(compiled), rng, info):
            allowed = int(mask.sum()) - int(mask[stop])
            assert found["taken"] <= allowed <= found["taken"] + found["open"]
            steps += 1
    assert steps > 20
