"""Each class of the module for XGrammar backends, used as its names and one-line descriptions say.

The programs know nothing but those: no argument and no method that is not in the list of names.
"""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from enum import Enum

import numpy as np
import pytest

from tests.structured_output.test_tokenizers import Fast, make_encoding, make_tokenizer
from tokenstile.structured_output.xgrammar_backend import (
    AsyncXGrammarBackend,
    CompiledGrammar,
    CompositeGrammar,
    GrammarCompiler,
    GrammarMatcher,
    GrammarType,
    TokenizerInfo,
    VocabType,
    XGrammarBackend,
    XGrammarGrammar,
)

TOKENS = ["{", "}", '"', "a", "b", ":", "1", "12", '"a"', "ab", " ", "</s>"]
STOP = TOKENS.index("</s>")
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
EBNF = 'root ::= "a" root "b" | ""'
TAG = {"begin": "a", "schema": {"type": "integer"}, "end": "b"}


def tokens(*texts):
    return [TOKENS.index(text) for text in texts]


def allowed(grammar, fill="fill_next_token_bitmask"):
    mask = np.zeros((1, 1), dtype=np.int32)
    getattr(grammar, fill)(mask)
    return {token for at, token in enumerate(TOKENS) if mask[0, 0] >> at & 1}


def write(grammar, *texts):
    return all(grammar.accept_token(token) for token in tokens(*texts))


@pytest.fixture
def compiler():
    return GrammarCompiler(TokenizerInfo.from_tokenizer(TOKENS, len(TOKENS)))


@pytest.fixture(params=[XGrammarBackend, AsyncXGrammarBackend])
def backend(request):
    made = request.param(TOKENS, len(TOKENS))
    yield made
    made.destroy()


def test_enumerations_of_kinds():
    assert issubclass(GrammarType, Enum)
    assert issubclass(VocabType, Enum)
    kinds = {"json", "json_object", "regex", "choice", "grammar", "structural_tag"}
    assert kinds <= {kind.value for kind in GrammarType}
    assert {"RAW", "BYTE_FALLBACK", "BYTE_LEVEL"} == set(VocabType.__members__)


def test_tokenizer_info_of_any_tokenizer():
    for tokenizer, kind in (
        (make_tokenizer(), VocabType.BYTE_LEVEL),
        (Fast(), VocabType.BYTE_LEVEL),
        (make_encoding(), VocabType.RAW),
        (TOKENS, VocabType.RAW),
    ):
        info = TokenizerInfo.from_tokenizer(tokenizer, 512)
        assert info.vocab_size == 512
        assert info.vocab_type is kind
        assert TokenizerInfo._detect_vocab_type(tokenizer) is kind
        assert info.stop_token_ids


def test_a_compiled_grammar_checks_tokens_and_fills_masks(compiler):
    grammar = compiler.compile_json_schema(SCHEMA, any_whitespace=False)
    assert isinstance(grammar, CompiledGrammar)
    assert allowed(grammar, "fill_bitmask") == {"{"}
    assert write(grammar, "{", '"a"', ":")
    assert not write(grammar, "a")
    assert allowed(grammar, "fill_bitmask") == {"1", "12"}
    assert write(grammar, "12", "}")
    grammar.rollback(1)
    assert write(grammar, "1", "}", "</s>")
    assert grammar.is_terminated()
    grammar.reset()
    assert not grammar.is_terminated()
    assert allowed(grammar, "fill_bitmask") == {"{"}


def test_a_compiled_grammar_is_known_by_its_key(compiler):
    grammar = compiler.compile_regex("a+")
    assert grammar.cache_key == grammar._compute_cache_key()
    assert grammar.cache_key == compiler.compile_regex("a+").cache_key
    keys = {
        compiler.compile_regex("ab").cache_key,
        compiler.compile_grammar('root ::= "ab"').cache_key,
        compiler.compile_json_schema("{}", True).cache_key,
        compiler.compile_json_schema("{}", False).cache_key,
        GrammarCompiler(TokenizerInfo.from_tokenizer([*TOKENS, "c"], None)).compile_regex("ab").cache_key,
    }
    assert len(keys) == 5, "the kind, the text, how it is read, and the vocabulary"


def test_a_matcher_goes_back_as_speculative_decoding_does(compiler):
    compiled = compiler.compile_grammar(EBNF)
    matcher = GrammarMatcher(compiled)
    assert allowed(matcher) == {"a", "ab", "</s>"}
    drafts = tokens("a", "ab", "b")
    masks = []
    for draft in drafts:
        masks.append(allowed(matcher))
        assert matcher.accept_token(draft)
    assert allowed(matcher) == {"</s>"}
    for left in (2, 1, 0):
        matcher.rollback(1)
        assert allowed(matcher) == masks[left]
    write(matcher, "a")
    matcher.reset()
    assert allowed(matcher) == {"a", "ab", "</s>"}
    assert allowed(compiled, "fill_bitmask") == {"a", "ab", "</s>"}, "the compiled grammar has not moved"


def test_the_compiler_compiles_every_kind(compiler):
    tag = {"structures": [TAG], "triggers": ["a"]}
    for grammar, text in (
        (compiler.compile_json_schema(SCHEMA, False), ("{", '"a"', ":", "1", "}", "</s>")),
        (compiler.compile_json_schema(SCHEMA, True), ("{", " ", '"a"', ":", " ", "1", "}", "</s>")),
        (compiler.compile_regex("(ab)+"), ("a", "b", "ab", "</s>")),
        (compiler.compile_grammar(EBNF), ("a", "ab", "b", "</s>")),
        (compiler.compile_structural_tag([TAG], ["a"]), ("b", "a", "12", "b", "</s>")),
        (compiler.compile_structural_tag(tag, None), ("b", "a", "12", "b", "</s>")),
    ):
        assert write(grammar, *text)
        assert grammar.is_terminated()


def test_the_compiler_keeps_what_it_compiled(compiler):
    first = compiler.compile_regex("a{1,9}")
    assert compiler.compile_regex("a{1,9}").compiled is first.compiled
    stats = compiler.get_stats()
    assert (stats["cache_hits"], stats["cache_misses"]) == (1, 1)
    compiler._put_cached("mine", first)
    assert compiler._get_cached("mine").compiled is first.compiled
    compiler.clear_cache()
    assert compiler._get_cached("mine") is None
    assert compiler.get_stats()["cache_entries"] == 0


def test_the_cache_of_the_compiler_can_be_off_and_has_a_limit():
    info = TokenizerInfo.from_tokenizer(TOKENS, None)
    off = GrammarCompiler(info, 8, False, -1)
    assert off.compile_regex("a").compiled is not off.compile_regex("a").compiled
    small = GrammarCompiler(info, 8, True, 100_000)
    for count in range(1, 60):
        small.compile_regex(f"(a|b){{{count}}}")
    stats = small.get_stats()
    assert stats["cache_bytes"] <= stats["cache_limit_bytes"] == 100_000
    assert 0 < stats["cache_entries"] < 59
    assert stats["cache_evictions"] > 0


def test_the_cache_of_the_compiler_is_for_many_threads(compiler):
    barrier = threading.Barrier(8)

    def work(number):
        barrier.wait()
        found = []
        for count in range(1, 30):
            grammar = compiler.compile_regex(f"a{{{count}}}")
            found.append(allowed(grammar, "fill_bitmask"))
            if count % 10 == number:
                compiler.clear_cache()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [[{"a", "ab"} - ({"ab"})] * 29] * 8


def test_a_grammar_of_a_backend_wraps_a_matcher(compiler):
    compiled = compiler.compile_regex("ab(a|b)").compiled
    grammar = XGrammarGrammar(GrammarMatcher(compiled), len(TOKENS), compiled)
    assert grammar.jump_forward_string() == "ab"
    assert allowed(grammar) == {"a", "ab"}
    assert write(grammar, "ab")
    assert grammar.jump_forward_string() == ""
    assert not write(grammar, "1")
    assert write(grammar, "b", "</s>")
    assert grammar.is_terminated()
    grammar.rollback(2)
    assert allowed(grammar) == {"a", "b"}
    grammar.reset()
    assert allowed(grammar) == {"a", "ab"}


def test_a_backend_compiles_allocates_and_ends(backend):
    for kind, spec, text in (
        (GrammarType.JSON, '{"type": "integer"}', ("12",)),
        (GrammarType.JSON_OBJECT, "", ("{", "}")),
        (GrammarType.REGEX, "a+", ("a", "a")),
        (GrammarType.CHOICE, '["ab", "b"]', ("b",)),
        (GrammarType.GRAMMAR, EBNF, ("a", "b")),
        (GrammarType.STRUCTURAL_TAG, json.dumps({"structures": [TAG], "triggers": ["a"]}), ("a", "1", "b")),
    ):
        grammar = backend.compile_grammar(kind, spec)
        mask = backend.allocate_token_bitmask(3)
        assert (mask.shape, mask.dtype) == ((3, 1), np.int32)
        assert write(grammar, *text)
        grammar.fill_bitmask(mask, 2)
        assert mask[2, 0] >> STOP & 1
        assert (mask[:2] == -1).all()
        backend.release_token_bitmask(mask)
    assert backend.get_stats()["bitmasks_reused"] == 5


def test_a_backend_reads_lark(backend):
    ebnf = backend._convert_lark_to_ebnf("start: A+ B\nA: /a/\nB: /b/")
    assert write(backend.compile_grammar(GrammarType.GRAMMAR, ebnf), "a", "ab", "</s>")


def test_a_backend_without_white_space():
    for off, fits in ((False, True), (True, False)):
        tokenizer = ["[", "]", " ", "</s>"]
        grammar = XGrammarBackend(tokenizer, None, off).compile_grammar(GrammarType.JSON, '{"type": "array"}')
        assert grammar.accept_token(0)
        assert grammar.accept_token(2) is fits


def test_a_backend_goes_back_over_its_drafts():
    backend = XGrammarBackend(TOKENS, len(TOKENS), False, 4, 2, 16)
    grammar = backend.compile_grammar(GrammarType.REGEX, "a{9}")
    before = allowed(grammar)
    for _ in range(4):
        assert grammar.accept_tokens("r", tokens("a"))
    grammar.rollback(4)
    assert allowed(grammar) == before
    assert grammar.validate_tokens(tokens("a", "a", "b")) == tokens("a", "a")
    assert allowed(grammar) == before
    assert backend.get_stats()["cache_limit_bytes"] == 16 << 20


def test_a_backend_measures(backend):
    grammar = backend.compile_grammar(GrammarType.REGEX, "ab(a|b)")
    backend.compile_grammar(GrammarType.REGEX, "ab(a|b)")
    grammar.jump_forward_string()
    allowed(grammar)
    write(grammar, "a", "b")
    grammar.rollback(1)
    stats = backend.get_stats()
    expected = {"masks": 1, "accepts": 2, "rollbacks": 1, "jump_forward_texts": 1, "cache_hits": 1}
    assert {name: stats[name] for name in expected} == expected
    assert 0 < stats["mask_seconds_p50"] <= stats["mask_seconds_p99"]


def test_several_tokenizers_at_once():
    backends = [XGrammarBackend(tokenizer, None) for tokenizer in (TOKENS, make_tokenizer(), Fast())]
    grammars = [backend.compile_grammar(GrammarType.REGEX, "a+b") for backend in backends]
    for backend, grammar in zip(backends, grammars, strict=True):
        info = backend.tokenizer_info
        for text in (b"a", b"b"):
            assert grammar.accept_token(info.decoded_vocab.index(text))
        assert grammar.accept_token(info.stop_token_ids[0])


def test_an_async_backend_does_not_block():
    async def main():
        backend = AsyncXGrammarBackend(TOKENS, len(TOKENS))
        kinds = [(GrammarType.REGEX, f"(a|b){{{count}}}") for count in range(1, 20)]
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(tick())
        grammars = await asyncio.gather(*(backend.compile_grammar_async(*kind) for kind in kinds))
        beside.cancel()
        future = backend.compile_grammar_future(GrammarType.REGEX, "b")
        assert write(future.result(30), "b", "</s>")
        backend.destroy()
        return grammars, ticks

    grammars, ticks = asyncio.run(main())
    assert all(allowed(grammar) >= {"a", "b"} for grammar in grammars)
    assert ticks > 0


def test_a_composite_is_several_constraints_at_once():
    backend = XGrammarBackend(TOKENS, len(TOKENS))
    parts = [backend.compile_grammar(GrammarType.REGEX, regex) for regex in ("[ab]+", "(ab)+|1", ".{4}")]
    composite = CompositeGrammar(parts)
    assert allowed(composite) == {"a", "ab"}
    assert write(composite, "ab", "a")
    assert not write(composite, "a")
    composite.rollback(1)
    assert write(composite, "ab", "</s>")
    assert composite.is_terminated()
    composite.reset()
    assert allowed(composite) == {"a", "ab"}
