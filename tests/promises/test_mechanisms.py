"""The mechanisms of a fast grammar engine, each seen from outside: by answers, and by the numbers that it keeps."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import numpy as np
import pytest

import tokenstile as xgr
from tests.real_tokenizers import read
from tokenstile.structured_output import StructuredOutputManager, StructuredOutputsParams

ROOT = Path(__file__).resolve().parents[2]
TOKENS = ["{", "}", "[", "]", '"', "a", "b", "ab", ":", ",", '":', '",', '"]', '"}', "]}", "}]", "1", "</s>"]
JSON = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#"}, {"type": "object"}]}}


@pytest.fixture
def info():
    return xgr.TokenizerInfo(TOKENS, special_token_ids=[TOKENS.index("</s>")])


def allowed(matcher):
    row = np.zeros(xgr.get_bitmask_shape(1, len(TOKENS)), dtype=np.int32)
    matcher.fill_next_token_bitmask(row)
    return {token for at, token in enumerate(TOKENS) if row[0, 0] >> at & 1}


def after(compiled, text):
    matcher = xgr.GrammarMatcher(compiled)
    assert matcher.accept_string(text)
    return matcher


def compile_json(info, schema=JSON):
    return xgr.GrammarCompiler(info).compile_json_schema(schema, any_whitespace=False, separators=(",", ":"))


def test_grammars_are_context_free(info):
    """Palindromes with a middle: no automaton without a stack reads them."""
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "1" | "a" root "a" | "b" root "b"')
    for half in ("ab" * 40, "aab" * 30):
        matcher = after(compiled, half + "1" + half[:0:-1])
        assert allowed(matcher) == {half[0]}
        assert matcher.accept_string(half[0])
        assert matcher.is_completed()


def test_nearly_all_tokens_are_decided_without_the_stack(tmp_path):
    real = read("llama3_1", tmp_path)
    matcher = xgr.GrammarMatcher(
        xgr.GrammarCompiler(real).compile_json_schema({"type": "array", "items": JSON})
    )
    assert matcher.accept_string('[["and so on')
    found = matcher.count_decided_tokens()
    assert found["open"] < (found["taken"] + found["refused"]) / 100


def test_a_mask_is_made_once_for_a_place_and_then_looked_up(info):
    compiled = compile_json(info)
    text = '["ab",["a",{"b":1}],"b"]'

    def fill_along(count):
        matcher = xgr.GrammarMatcher(compiled)
        for byte in text[:count]:
            allowed(matcher)
            assert matcher.accept_string(byte)

    fill_along(len(text))
    before = compiled.get_stats()
    for _ in range(3):
        fill_along(len(text))
    assert compiled.get_stats() == before, "nothing is computed a second time"


def test_what_is_made_of_one_grammar_serves_another(info):
    """Strings are the same terminal in both, and their tables are kept for the vocabulary."""
    first, second = (
        compile_json(info, {"type": "array", "items": {"type": kind}}) for kind in ("string", "string")
    )
    assert allowed(after(first, '["a')) == allowed(after(second, '["a'))


def test_only_the_stack_tells_which_bracket_closes(info):
    compiled = compile_json(info)
    in_list, in_object = after(compiled, '["a"'), after(compiled, '[{"a":1')
    assert "]" in allowed(in_list)
    assert "}" not in allowed(in_list)
    assert "}" in allowed(in_object)
    assert "]" not in allowed(in_object)
    assert "}]" in allowed(in_object), "a token that closes both is followed through the stack"
    assert "}]" not in allowed(after(compiled, '[{"a":{"a":1'))


def test_what_may_follow_a_rule_decides_tokens_that_pass_its_end(info):
    """The same string rule in a list and as a key: what stands behind its quote in one token differs."""
    compiled = compile_json(info)
    item, key = allowed(after(compiled, '["a')), allowed(after(compiled, '[{"a'))
    assert {'",', '"]', '"'} <= item
    assert '":' not in item
    assert {'":', '"'} <= key
    assert not {'",', '"]'} & key


def test_states_are_kept_and_gone_back_to(info):
    compiled = compile_json(info)
    matcher = xgr.GrammarMatcher(compiled)
    text = '[["a",{"b":[1,"ab"]}],"a"]'
    masks = []
    for character in text:
        masks.append(allowed(matcher))
        assert matcher.accept_string(character)
    before = compiled.get_stats()["sets"]
    for count in (1, 5, 12):
        matcher.rollback(count)
        place = len(masks) - count
        assert allowed(matcher) == masks[place]
        fork = matcher.fork()
        assert all(matcher.accept_string(character) for character in text[place:])
        assert allowed(fork) == masks[place], "a second way on from the same place"
    matcher.rollback(len(text))
    assert allowed(matcher) == masks[0]
    assert compiled.get_stats()["sets"] == before, "all of these places were known"


def test_several_ways_to_read_a_text_are_followed_together(info):
    grammar = 'root ::= x "1" | y ":"\nx ::= "a" x "b" | "ab"\ny ::= "a"* "b"*'
    matcher = after(xgr.GrammarCompiler(info).compile_grammar(grammar), "aaabb")
    assert allowed(matcher) == {"b", ":"}
    assert matcher.accept_string("b")
    assert allowed(matcher) == {"b", "1", ":"}


def test_rules_are_inlined_and_equal_states_are_one(info):
    compiler = xgr.GrammarCompiler(info)
    chain = "root ::= r0\n" + "".join(f"r{at} ::= r{at + 1}\n" for at in range(30)) + 'r30 ::= "a" "b"'
    assert compiler.compile_grammar(chain).get_stats()["rules"] == 1
    nodes = [
        compiler.compile_grammar(text).get_stats()["nodes"]
        for text in ('root ::= "a" ("b" | "1") root | "a"', 'root ::= "a" "b" root | "a" "1" root | "a"')
    ]
    assert nodes[0] == nodes[1]


def test_grammars_compile_on_several_threads_at_once(info):
    """Two compilations are under way at the same time: each waits until the other has begun."""
    compiler = xgr.GrammarCompiler(info, cache_enabled=False)
    results, barrier = [], threading.Barrier(4)

    def work(number):
        barrier.wait(30)
        results.append(compiler.compile_regex(f"(a|b){{{number}}}").grammar)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {str(grammar) for grammar in results} == {
        str(xgr.Grammar.from_regex(f"(a|b){{{number}}}")) for number in range(1, 5)
    }


def test_masks_are_filled_beside_the_forward_pass(info):
    with StructuredOutputManager(info) as manager:
        manager.grammar_init("r", StructuredOutputsParams(regex="ab1")).result(30)
        expected = manager.grammar_bitmask(["r"]).bitmask.copy()
        for _ in range(5):
            rows = manager.grammar_bitmask_async(["r"])
            forward = np.ones((64, 64)) @ np.ones((64, 64))
            assert forward[0, 0] == 64
            assert (rows.result(30).bitmask == expected).all()


def test_text_that_must_come_is_known(info):
    matcher = after(compile_json(info, {"const": {"ab": ["a", 1]}}), '{"')
    assert matcher.find_jump_forward_string() == 'ab":["a",1]}'
    assert matcher.accept_string(matcher.find_jump_forward_string())
    assert matcher.is_completed()


def test_the_engine_knows_no_python():
    for crate in ("grammar", "engine"):
        manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8")
        assert not re.search(r"^\s*pyo3", manifest, re.MULTILINE)
