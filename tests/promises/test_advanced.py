"""What is said of compiling on threads, the cache, padded logits and batches: each snippet as a program."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import threading
import time

import numpy as np
import pytest
import tokenizers

import tokenstile as xgr
from tests.real_tokenizers import FOLDER

TOKENS = ["a", "b", "ab", "</s>"]
GRAMMARS = 'root ::= "a" root | "b"', "root ::= [ab]+"


@pytest.fixture
def info():
    return xgr.TokenizerInfo(TOKENS)


def test_two_grammars_at_once_from_asyncio(info):
    grammar_compiler = xgr.GrammarCompiler(info, max_threads=8)
    grammar1, grammar2 = GRAMMARS

    async def compile_grammars():
        future1 = asyncio.to_thread(grammar_compiler.compile_grammar, grammar1)
        future2 = asyncio.to_thread(grammar_compiler.compile_grammar, grammar2)
        return await future1, await future2

    compiled = asyncio.run(compile_grammars())
    for grammar, one in zip(GRAMMARS, compiled, strict=True):
        assert one == grammar_compiler.compile_grammar(grammar)
        assert xgr.GrammarMatcher(one).accept_token(0)


LONG = r"(?=.{1,255}$)((.{1,63}\.){1,127}(?![0-9]*$)[a-z0-9-]+\.?)"


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("compile_regex", LONG),
        ("compile_json_schema", {"type": "string", "pattern": f"^{LONG}$"}),
        ("compile_grammar", f"root ::= Regex({json.dumps(LONG)})"),
    ],
)
def test_compiling_lets_other_threads_run(method, text):
    """A compilation that would take many seconds is cancelled by another thread, which must run beside it for that."""
    limits = xgr.Limits(max_states=2_000_000)
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS), limits=limits)
    token, ended = xgr.CancelToken(), []

    def work():
        try:
            getattr(compiler, method)(text, cancel=token)
        except xgr.TokenstileError as error:
            ended.append(type(error))

    thread = threading.Thread(target=work)
    thread.start()
    while not compiler.get_stats()["compilations"]:
        time.sleep(0.001)
    token.cancel()
    thread.join()
    assert ended == [xgr.CancelledError]


def test_max_threads_is_an_argument_and_is_checked(info):
    for count in (1, 8, os.cpu_count() or 1):
        compiled = xgr.GrammarCompiler(info, max_threads=count).compile_regex("a+b")
        assert compiled.grammar == xgr.Grammar.from_regex("a+b")


def test_the_same_grammar_is_compiled_once(info):
    grammar_compiler = xgr.GrammarCompiler(info, cache_enabled=True, cache_limit_bytes=128 * 1024 * 1024)
    for compile_once in (
        lambda: grammar_compiler.compile_grammar(GRAMMARS[0]),
        lambda: grammar_compiler.compile_json_schema('{"enum": ["a"]}'),
        lambda: grammar_compiler.compile_regex("a"),
    ):
        before = grammar_compiler.get_stats()["compilations"]
        assert compile_once() == compile_once()
        assert grammar_compiler.get_stats()["compilations"] == before + 1
    assert 0 < grammar_compiler.get_cache_size_bytes() <= 128 * 1024 * 1024
    grammar_compiler.clear_cache()
    assert grammar_compiler.get_cache_size_bytes() == 0


def test_one_text_of_different_kinds_is_not_one_grammar(info):
    compiler = xgr.GrammarCompiler(info)
    as_regex, as_schema = compiler.compile_regex("true"), compiler.compile_json_schema("true")
    assert as_regex != as_schema


def test_the_least_recently_used_grammar_goes_first():
    info = xgr.TokenizerInfo([*map(chr, range(128)), "</s>"])
    sizes = xgr.GrammarCompiler(info)
    for number in range(4):
        sizes.compile_regex(f"a{{{number + 2}}}b")
    compiler = xgr.GrammarCompiler(info, cache_limit_bytes=sizes.get_cache_size_bytes())
    for number in range(4):
        compiler.compile_regex(f"a{{{number + 2}}}b")
    compiler.compile_regex("a{2}b")
    compiler.compile_regex("a{9}b")
    before = compiler.get_stats()["compilations"]
    compiler.compile_regex("a{2}b")
    assert compiler.get_stats()["compilations"] == before, "it was used lately"
    compiler.compile_regex("a{3}b")
    assert compiler.get_stats()["compilations"] == before + 1, "it was the least recently used"


def test_without_a_cache_nothing_is_kept(info):
    compiler = xgr.GrammarCompiler(info, cache_enabled=False)
    compiler.compile_regex("a")
    compiler.compile_regex("a")
    assert compiler.get_stats()["compilations"] == 2
    assert compiler.get_cache_size_bytes() == 0


def test_logits_that_are_padded():
    file = FOLDER / "deepseek_v3" / "tokenizer.json.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    tokenizer = tokenizers.Tokenizer.from_str(gzip.decompress(file.read_bytes()).decode())
    assert tokenizer.get_vocab_size() == 128_815
    tokenizer_info = xgr.TokenizerInfo(tokenizer, vocab_size=129280)
    assert tokenizer_info.vocab_size == 129_280
    token_bitmask = xgr.get_bitmask_shape(1, tokenizer_info.vocab_size)
    assert token_bitmask == (1, 4_040)
    compiled = xgr.GrammarCompiler(tokenizer_info).compile_regex("(.|\n)*")
    mask = np.full(token_bitmask, -1, dtype=np.int32)
    xgr.GrammarMatcher(compiled).fill_next_token_bitmask(mask)
    assert not xgr.testing.bitmask_to_bool_mask(mask, 129_280)[0][128_815:].any(), "padding is no token"
    logits = np.zeros((1, 129_280), dtype=np.float32)
    xgr.apply_token_bitmask_inplace(logits, mask)
    assert np.isneginf(logits[0, 128_815:]).all()


@pytest.mark.parametrize("options", [{"max_threads": 8}, {"max_threads": "auto"}, {}])
def test_a_batch_of_matchers(info, options):
    compiled = [xgr.GrammarCompiler(info).compile_grammar(text) for text in (*GRAMMARS, 'root ::= "b"')]
    matchers = [xgr.GrammarMatcher(one) for one in compiled]
    token_bitmask = np.full(xgr.get_bitmask_shape(len(matchers), info.vocab_size), -1, dtype=np.int32)
    batch_grammar_matcher = xgr.BatchGrammarMatcher(**options)
    batch_grammar_matcher.batch_fill_next_token_bitmask(matchers, token_bitmask)
    assert token_bitmask.tolist() == [[0b111], [0b111], [0b010]]
    results = xgr.BatchGrammarMatcher.batch_accept_token(matchers, [0, 2, 0])
    assert results == [True, True, False]
    results = xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["ab", "1", "b"])
    assert results == [True, False, True]
    assert [matcher.is_completed() for matcher in matchers] == [True, True, True]
