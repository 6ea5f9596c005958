"""Plain schemas are compiled without a grammar: what else is asked of them must not show it."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tokenstile as xgr
from tests.json_schema import walk

# Objects that refer to each other, each of which is a rule of its grammar.
RULES = 60
RING = {
    "$ref": "#/$defs/0",
    "$defs": {
        str(at): {
            "type": "object",
            "properties": {"next": {"$ref": f"#/$defs/{(at + 1) % RULES}"}, "text": {"type": "string"}},
        }
        for at in range(RULES)
    },
}


def test_the_grammar_is_that_of_the_schema():
    compiled = walk.COMPILER.compile_json_schema(RING)
    known = xgr.Grammar.from_json_schema(RING)
    assert str(compiled.grammar) == str(known)
    assert compiled.grammar.report == known.report
    again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), walk.INFO)
    assert str(again.grammar) == str(known)


def test_the_grammar_is_made_whatever_its_size():
    limits = xgr.Limits(max_rules=RULES // 2)
    with pytest.raises(xgr.LimitExceededError, match="max_rules"):
        xgr.Grammar.from_json_schema(RING, limits=limits)
    compiled = xgr.GrammarCompiler(walk.INFO, limits=limits).compile_json_schema(RING)
    assert str(compiled.grammar).count("::=") > RULES
    masks = [np.zeros(xgr.get_bitmask_shape(1, walk.INFO.vocab_size), dtype=np.int32) for _ in range(2)]
    for mask, grammar in zip(masks, [compiled, pickle.loads(pickle.dumps(compiled))], strict=True):
        xgr.GrammarMatcher(grammar).fill_next_token_bitmask(mask)
    assert (masks[0] == masks[1]).all()


def test_the_grammar_counts_once_it_is_made():
    compiled = walk.COMPILER.compile_json_schema(RING)
    before = compiled.memory_size_bytes
    assert str(compiled.grammar)
    assert compiled.memory_size_bytes > before


def test_the_time_is_looked_at():
    schema = json.dumps({"properties": {f"key {at}": {"const": at} for at in range(100_000)}})
    with pytest.raises(xgr.LimitExceededError, match="max_compile_time"):
        walk.COMPILER.compile_json_schema(schema, timeout=1e-6)
    token = xgr.CancelToken()
    token.cancel()
    with pytest.raises(xgr.CancelledError):
        walk.COMPILER.compile_json_schema(schema, cancel=token)


def test_an_interrupt_ends_it():
    code = """
import _thread, json, signal, threading
import tokenstile as xgr
# Whoever runs the tests in the background may have had interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
items = {"type": "array", "items": {"type": "array"}}
schema = json.dumps({"properties": {f"key {at}": {**items, "minItems": at} for at in range(400_000)}})
compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "</s>"]), cache_enabled=False)
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    compiler.compile_json_schema(schema)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "interrupted\n", done.stderr
