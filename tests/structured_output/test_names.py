"""The classes that backends for XGrammar are written with: names, arguments, methods, and that they work."""

from __future__ import annotations

import asyncio
import inspect

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.structured_output import xgrammar_backend as names
from tokenstile.structured_output.key import GrammarType

# Class: what its constructor takes, and its methods with what they take.
CLASSES = {
    "GrammarType": (None, {}),
    "VocabType": (None, {}),
    "TokenizerInfo": (
        None,
        {"from_tokenizer": ["tokenizer", "vocab_size"], "_detect_vocab_type": ["tokenizer"]},
    ),
    "CompiledGrammar": (
        None,
        {
            "__post_init__": [],
            "_compute_cache_key": [],
            "accept_token": ["token_id"],
            "rollback": ["num_tokens"],
            "reset": [],
            "is_terminated": [],
            "fill_bitmask": ["bitmask"],
        },
    ),
    "GrammarMatcher": (
        None,
        {
            "accept_token": ["token_id"],
            "rollback": ["num_tokens"],
            "reset": [],
            "fill_next_token_bitmask": ["bitmask"],
        },
    ),
    "GrammarCompiler": (
        ["tokenizer_info", "max_threads", "cache_enabled", "cache_limit_bytes"],
        {
            "compile_json_schema": ["schema", "any_whitespace"],
            "compile_regex": ["pattern"],
            "compile_grammar": ["ebnf"],
            "compile_structural_tag": ["spec", "triggers"],
            "_get_cached": ["key"],
            "_put_cached": ["key", "grammar"],
            "get_stats": [],
            "clear_cache": [],
        },
    ),
    "XGrammarGrammar": (
        ["matcher", "vocab_size", "ctx"],
        {
            "accept_token": ["token_id"],
            "rollback": ["num_tokens"],
            "reset": [],
            "is_terminated": [],
            "fill_next_token_bitmask": ["bitmask"],
            "jump_forward_string": [],
        },
    ),
    "XGrammarBackend": (
        [
            "tokenizer",
            "vocab_size",
            "disable_any_whitespace",
            "num_speculative_tokens",
            "max_threads",
            "cache_limit_mb",
        ],
        {
            "compile_grammar": ["grammar_type", "grammar_spec"],
            "allocate_token_bitmask": ["max_num_seqs"],
            "release_token_bitmask": ["bitmask"],
            "_convert_lark_to_ebnf": ["lark_grammar"],
            "get_stats": [],
            "destroy": [],
        },
    ),
    "AsyncXGrammarBackend": (None, {}),
    "CompositeGrammar": (
        ["grammars"],
        {
            "accept_token": ["token_id"],
            "rollback": ["num_tokens"],
            "reset": [],
            "is_terminated": [],
            "fill_next_token_bitmask": ["bitmask"],
        },
    ),
}


def arguments(function):
    return [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]


@pytest.mark.parametrize("name", CLASSES)
def test_the_list(name):
    constructor, methods = CLASSES[name]
    found = getattr(names, name)
    if constructor is not None:
        assert arguments(found)[: len(constructor)] == constructor
    for method, taken in methods.items():
        assert arguments(getattr(found, method))[: len(taken)] == taken, method


def test_the_async_backend_is_a_backend():
    assert issubclass(names.AsyncXGrammarBackend, names.XGrammarBackend)


TOKENS = ["a", "b", "c", "ab", "</s>"]


def allowed(grammar, fill="fill_next_token_bitmask"):
    mask = np.zeros((1, 1), dtype=np.int32)
    getattr(grammar, fill)(mask)
    return [token for at, token in enumerate(TOKENS) if mask[0, 0] >> at & 1]


def test_a_compiled_grammar_follows_one_sequence():
    compiler = names.GrammarCompiler(names.TokenizerInfo.from_tokenizer(TOKENS, None))
    compiled = compiler.compile_regex("ab*")
    assert allowed(compiled, "fill_bitmask") == ["a", "ab"]
    assert compiled.accept_token(0)
    assert not compiled.accept_token(0)
    assert compiled.accept_token(4)
    assert compiled.is_terminated()
    compiled.rollback(1)
    assert not compiled.is_terminated()
    compiled.reset()
    assert allowed(compiled, "fill_bitmask") == ["a", "ab"]
    other = compiler.compile_regex("ab*")
    assert other.compiled is compiled.compiled
    assert other.cache_key == compiled.cache_key
    assert compiled.accept_token(0)
    assert allowed(other, "fill_bitmask") == ["a", "ab"]
    matcher = names.GrammarMatcher(compiled)
    assert isinstance(matcher, xgr.GrammarMatcher)
    assert allowed(matcher) == ["a", "ab"]


def test_the_compiler_counts_and_forgets():
    compiler = names.GrammarCompiler(xgr.TokenizerInfo(TOKENS))
    for _ in range(3):
        compiler.compile_grammar('root ::= "a"')
    compiler.compile_json_schema({"type": "null"}, any_whitespace=False)
    compiler.compile_json_schema({"type": "null"}, any_whitespace=True)
    stats = compiler.get_stats()
    assert (stats["cache_hits"], stats["cache_misses"], stats["cache_entries"]) == (2, 3, 3)
    assert 0 < stats["cache_bytes"] <= stats["cache_limit_bytes"]
    compiler.clear_cache()
    assert compiler.get_stats()["cache_entries"] == 0


def test_the_cache_is_bounded():
    compiler = names.GrammarCompiler(xgr.TokenizerInfo(TOKENS), cache_limit_bytes=1)
    compiler.compile_regex("a")
    assert compiler.get_stats()["cache_entries"] == 0
    assert compiler.get_stats()["cache_evictions"] == 1


def test_structural_tags_in_both_forms():
    compiler = names.GrammarCompiler(xgr.TokenizerInfo(["<f>", "1", "</f>", "x", "</s>"]))
    item = {"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}
    older = compiler.compile_structural_tag([item], ["<f>"])
    newer = compiler.compile_structural_tag({"format": {"type": "const_string", "value": "x"}})
    assert older.accept_token(3)
    assert newer.accept_token(3)
    assert not newer.accept_token(3)


def test_lark_becomes_ebnf():
    backend = names.XGrammarBackend(TOKENS, None)
    text = backend._convert_lark_to_ebnf('start: "a" B*\nB: "b"')
    assert "::=" in text
    grammar = backend.compile_grammar(GrammarType.GRAMMAR, text)
    assert all(grammar.accept_token(token) for token in (0, 1, 1, 4))


def test_bitmasks_are_used_again():
    backend = names.XGrammarBackend(TOKENS, 40)
    first = backend.allocate_token_bitmask(3)
    assert first.shape == (3, 2)
    first[:] = 0
    backend.release_token_bitmask(first)
    second = backend.allocate_token_bitmask(3)
    assert second is first
    assert (second == -1).all()
    assert backend.allocate_token_bitmask(3) is not first
    assert backend.get_stats()["bitmasks_reused"] == 1
    backend.release_token_bitmask(first)
    with pytest.raises(xgr.InvalidArgumentError, match="come back already"):
        backend.release_token_bitmask(first)
    with pytest.raises(xgr.InvalidArgumentError, match="not handed out"):
        backend.release_token_bitmask(np.zeros((3, 2), dtype=np.int32))
    backend.destroy()
    assert backend.get_stats()["bitmasks_lent"] == 0


def test_jump_forward():
    backend = names.XGrammarBackend(TOKENS)
    grammar = backend.compile_grammar(GrammarType.REGEX, "abc(a|b)")
    assert grammar.jump_forward_string() == "abc"
    assert grammar.accept_token(0)
    assert grammar.jump_forward_string() == "bc"


def test_compiling_without_blocking():
    backend = names.AsyncXGrammarBackend(TOKENS)

    async def compile_some():
        work = [backend.compile_grammar_async(GrammarType.REGEX, f"a{{{count}}}") for count in range(1, 9)]
        return await asyncio.gather(
            *work, backend.compile_grammar_async(GrammarType.REGEX, "(("), return_exceptions=True
        )

    *good, bad = asyncio.run(compile_some())
    assert all(allowed(grammar) for grammar in good)
    assert isinstance(bad, xgr.RegexError)
    assert backend.compile_grammar_future(GrammarType.CHOICE, '["a"]').result(10).accept_token(0)
    backend.destroy()


def compile_all(*regexes):
    backend = names.XGrammarBackend(TOKENS)
    return [backend.compile_grammar(GrammarType.REGEX, regex) for regex in regexes]


def test_a_composite_is_the_intersection():
    parts = compile_all("[ab]+c?", "a.*", "(ab|c)+")
    composite = names.CompositeGrammar(parts)
    assert composite.is_exact
    assert allowed(composite) == ["a", "ab"]
    assert composite.accept_token(3)
    assert allowed(composite) == ["a", "c", "ab", "</s>"]
    assert not composite.accept_token(1)
    assert composite.accept_token(4)
    assert composite.is_terminated()
    composite.rollback(1)
    assert composite.accept_token(2)
    composite.reset()
    assert allowed(composite) == ["a", "ab"]
    assert allowed(parts[0]) == ["a", "b", "ab"]


def test_a_composite_that_was_begun_intersects_masks():
    parts = compile_all("ab?c", "a[bc]+")
    for part in parts:
        part.accept_token(0)
    composite = names.CompositeGrammar(parts)
    assert not composite.is_exact
    assert allowed(composite) == ["b", "c"]
    assert composite.accept_token(1)
    assert allowed(composite) == ["c"]
    assert not composite.is_dead()
    composite.rollback(1)
    assert composite.accept_token(2)
    assert allowed(composite) == ["</s>"]


def test_a_composite_of_nothing_in_common():
    with pytest.raises(xgr.GrammarError):
        names.CompositeGrammar(compile_all("a", "b"))
    begun = compile_all("ab", "ac")
    for part in begun:
        part.accept_token(0)
    assert names.CompositeGrammar(begun).is_dead()
    with pytest.raises(xgr.InvalidArgumentError):
        names.CompositeGrammar([])


def test_one_grammar_alone_is_exact():
    composite = names.CompositeGrammar(compile_all("ab"))
    assert composite.is_exact
    assert allowed(composite) == ["a", "ab"]
