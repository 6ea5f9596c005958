"""A pipeline of structured generation: whatever a model wants, what it writes is right."""

from __future__ import annotations

import json
import sqlite3

import jsonschema_rs
import numpy as np
import pytest

import tokenstile as xgr
from tokenstile import grammars
from tokenstile.testing import bitmask_to_bool_mask

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1, "maximum": 500},
        "name": {"type": "string", "minLength": 1, "maxLength": 12},
        "state": {"enum": ["new", "open", "closed"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 3},
        "parent": {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
    },
    "required": ["id", "state", "parent"],
    "additionalProperties": False,
}
MAX_TOKENS = 160


def generate(compiled, info, seed, max_tokens=MAX_TOKENS):
    """Write with a model that knows nothing: random logits, masked, and sampled by their softmax."""
    rng = np.random.default_rng(seed)
    matcher = xgr.GrammarMatcher(compiled, max_tokens=max_tokens)
    mask = np.zeros(xgr.get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
    written = []
    while not matcher.is_terminated():
        matcher.fill_next_token_bitmask(mask)
        logits = rng.normal(scale=3, size=(1, info.vocab_size)).astype(np.float32)
        xgr.apply_token_bitmask_inplace(logits, mask)
        weights = np.exp(logits[0] - logits.max())
        token = int(rng.choice(info.vocab_size, p=weights / weights.sum()))
        assert matcher.accept_token(token)
        written.append(token)
    texts = info.decoded_vocab
    return b"".join(texts[token] for token in written[:-1]).decode(), len(written)


@pytest.mark.parametrize("seed", range(25))
def test_json_is_right_whatever_the_logits_are(info, seed):
    compiled = xgr.GrammarCompiler(info).compile_json_schema(SCHEMA)
    text, count = generate(compiled, info, seed)
    assert jsonschema_rs.is_valid(SCHEMA, json.loads(text))
    assert count <= MAX_TOKENS


@pytest.mark.parametrize("seed", range(15))
def test_sql_is_right_whatever_the_logits_are(info, seed):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE people (name TEXT, age INTEGER)")
    compiled = xgr.GrammarCompiler(info).compile_grammar(grammars.sql_select({"people": ["name", "age"]}))
    text, _ = generate(compiled, info, seed)
    database.execute(f"EXPLAIN {text}")


def test_tokens_that_do_not_fit_cannot_be_sampled(info):
    compiled = xgr.GrammarCompiler(info).compile_json_schema(SCHEMA)
    matcher = xgr.GrammarMatcher(compiled)
    mask = np.zeros(xgr.get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
    logits = np.full((1, info.vocab_size), 7.0, dtype=np.float32)
    matcher.fill_next_token_bitmask(mask)
    xgr.apply_token_bitmask_inplace(logits, mask)
    fits = bitmask_to_bool_mask(mask, info.vocab_size)[0]
    assert np.isneginf(logits[0, ~fits]).all()
    assert (logits[0, fits] == 7).all()
    for token in range(info.vocab_size):
        fork = matcher.fork()
        assert fork.accept_token(token) == fits[token]


def test_masks_of_a_second_output_are_looked_up(info):
    """The first output pays for the masks; the same places need none again, on any thread or in any request."""
    compiled = xgr.GrammarCompiler(info).compile_json_schema(SCHEMA)
    first = generate(compiled, info, 3)
    before = compiled.get_stats()
    assert generate(compiled, info, 3) == first
    after = compiled.get_stats()
    assert {name: after[name] for name in ("masks", "sets", "terminal_states")} == {
        name: before[name] for name in ("masks", "sets", "terminal_states")
    }
