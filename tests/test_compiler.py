"""`GrammarCompiler` and `CompiledGrammar`: the cache, single flight, cancellation, serializing."""

from __future__ import annotations

import math
import pickle
import threading
import time

import numpy as np
import pytest

import tokenstile as xgr

SLOW = "root ::= " + " | ".join(f'"{number}" [a-z]{{0,500}} "x"' for number in range(4000))


@pytest.fixture
def compiler(info):
    return xgr.GrammarCompiler(info)


def test_compile_methods(compiler, info):
    for compiled, text in [
        (compiler.compile_grammar('root ::= "ab"'), "ab"),
        (compiler.compile_grammar('main ::= "ab"', root_rule_name="main"), "ab"),
        (compiler.compile_grammar(xgr.Grammar.from_regex("ab")), "ab"),
        (compiler.compile_regex("[a-c]+"), "abc"),
        (compiler.compile_builtin_json_grammar(), "[1]"),
    ]:
        matcher = xgr.GrammarMatcher(compiled)
        assert matcher.accept_string(text)
        assert matcher.is_completed()
        assert compiled.tokenizer_info is info
        assert compiled.memory_size_bytes > 0
        assert xgr.Grammar.from_ebnf(str(compiled.grammar)) is not None


def test_wrong_arguments(info, compiler):
    for wrong in (None, 3, "info", object()):
        with pytest.raises(ValueError, match="TokenizerInfo"):
            xgr.GrammarCompiler(wrong)
    with pytest.raises(RuntimeError):
        xgr.GrammarCompiler(info, cache_limit_bytes=-2)
    for wrong in (3, None, b"root"):
        with pytest.raises(ValueError, match="str or a Grammar"):
            compiler.compile_grammar(wrong)
    with pytest.raises(xgr.EBNFError):
        compiler.compile_grammar("root ::=")
    with pytest.raises(xgr.RegexError):
        compiler.compile_regex("(")
    with pytest.raises(ValueError, match="timeout"):
        compiler.compile_regex("a", timeout=-1.0)
    with pytest.raises(ValueError, match="timeout"):
        compiler.compile_regex("a", timeout=float("nan"))


def test_cache(compiler):
    first, second = (compiler.compile_grammar('root ::= "a"') for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert compiler.compile_grammar('root ::= "b"') != first
    stats = compiler.get_stats()
    assert (stats["requests"], stats["compilations"], stats["cache_entries"]) == (3, 2, 2)
    assert compiler.get_cache_size_bytes() == stats["cache_bytes"] > 0
    compiler.clear_cache()
    assert compiler.get_cache_size_bytes() == 0
    # Compiled anew, and equal all the same.
    assert compiler.compile_grammar('root ::= "a"') == first
    assert compiler.get_stats()["compilations"] == 3
    assert xgr.GrammarMatcher(first).accept_string("a")


def test_equal_grammars_are_cached_as_one(compiler):
    one = compiler.compile_grammar(xgr.Grammar.from_ebnf('root ::= "a"'))
    assert one == compiler.compile_grammar(xgr.Grammar.from_ebnf('root  ::=  "a"'))


def test_cache_disabled(info):
    compiler = xgr.GrammarCompiler(info, cache_enabled=False)
    assert compiler.compile_regex("a") == compiler.compile_regex("a")
    assert compiler.get_cache_size_bytes() == 0
    assert compiler.get_stats()["compilations"] == 2


def test_cache_limit(info):
    compiler = xgr.GrammarCompiler(info, cache_limit_bytes=0)
    assert compiler.cache_limit_bytes == 0
    compiler.compile_regex("a")
    assert compiler.get_cache_size_bytes() == 0

    roomy = xgr.GrammarCompiler(info, cache_limit_bytes=1 << 30)
    for number in range(50):
        roomy.compile_grammar(f'root ::= "{number}"')
    limit = roomy.get_cache_size_bytes() // 2
    tight = xgr.GrammarCompiler(info, cache_limit_bytes=limit)
    for number in range(50):
        tight.compile_grammar(f'root ::= "{number}"')
    assert 0 < tight.get_cache_size_bytes() <= limit
    last = tight.get_stats()["compilations"]
    tight.compile_grammar('root ::= "49"')
    assert tight.get_stats()["compilations"] == last
    tight.compile_grammar('root ::= "0"')
    assert tight.get_stats()["compilations"] == last + 1


def test_process_limit(info):
    before = xgr.get_cache_limit_bytes()
    assert 0 < before < 1 << 40
    compilers = [xgr.GrammarCompiler(info) for _ in range(2)]
    assert compilers[0].cache_limit_bytes == -1
    for compiler in compilers:
        compiler.compile_regex("a+")
        assert compiler.get_cache_size_bytes() > 0
    compilers[0].clear_cache()
    assert compilers[0].get_cache_size_bytes() == 0 < compilers[1].get_cache_size_bytes()
    try:
        xgr.set_cache_limit_bytes(0)
        assert compilers[1].get_cache_size_bytes() == 0
    finally:
        xgr.set_cache_limit_bytes(before)
    with pytest.raises(ValueError, match="negative"):
        xgr.set_cache_limit_bytes(-1)


def test_two_threads_compile_once(info):
    for _ in range(5):
        compiler = xgr.GrammarCompiler(info)
        barrier = threading.Barrier(8)
        results = []

        def work(compiler=compiler, barrier=barrier, results=results):
            barrier.wait()
            results.append(compiler.compile_grammar(SLOW[:20_000].rsplit(" |", 1)[0]))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 8
        assert len(set(results)) == 1
        assert compiler.get_stats()["compilations"] == 1


def test_timeout(compiler):
    with pytest.raises(xgr.LimitExceededError, match="time"):
        compiler.compile_grammar(SLOW, timeout=0.0)
    # The failure of one caller is not another's.
    assert compiler.get_stats()["failures"] == 1


def test_cancelled_before(compiler):
    token = xgr.CancelToken()
    assert not token.cancelled
    token.cancel()
    assert token.cancelled
    with pytest.raises(xgr.CancelledError):
        compiler.compile_grammar(SLOW, cancel=token)
    assert compiler.compile_grammar('root ::= "a"', cancel=xgr.CancelToken())


def test_cancelled_while_running(compiler):
    token = xgr.CancelToken()
    outcome = []

    def work():
        try:
            compiler.compile_grammar(
                SLOW + " | " + " | ".join(f'"y{n}" [b-z]*' for n in range(100_000)), cancel=token
            )
            outcome.append("compiled")
        except xgr.CancelledError:
            outcome.append("cancelled")

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.02)
    cancelled = time.perf_counter()
    token.cancel()
    thread.join()
    assert outcome == ["cancelled"]
    assert time.perf_counter() - cancelled < 120


def test_limits(info):
    strict = xgr.GrammarCompiler(info, limits=xgr.Limits(max_rules=3))
    strict.compile_grammar('root ::= a b\na ::= "a" root?\nb ::= "b"')
    with pytest.raises(xgr.LimitExceededError, match="rules"):
        strict.compile_grammar("root ::= a0\n" + "".join(f'a{n} ::= "x" a{(n + 1) % 9}?\n' for n in range(9)))
    for wrong in (
        {"max_depth": 0},
        {"max_depth": 10**6},
        {"max_compile_time": float("nan")},
        {"max_rules": -1},
    ):
        with pytest.raises(ValueError, match="must be"):
            xgr.Limits(**wrong)
    with pytest.raises(TypeError):
        xgr.Limits(max_rules="3")
    endless = xgr.GrammarCompiler(info, limits=xgr.Limits(max_compile_time=math.inf))
    assert endless.compile_grammar('root ::= "a"')


def test_small_caches_change_nothing(info, vocab):
    small = xgr.GrammarCompiler(info, limits=xgr.Limits(max_cache_bytes=1)).compile_builtin_json_grammar()
    large = xgr.GrammarCompiler(info).compile_builtin_json_grammar()
    matchers = [xgr.GrammarMatcher(compiled) for compiled in (small, large)]
    masks = np.zeros((2, (len(vocab) + 31) // 32), dtype=np.int32)
    for character in '{"a": [1, true, {"b": "é"}], "c": null}':
        for row, matcher in enumerate(matchers):
            matcher.fill_next_token_bitmask(masks, row)
            assert matcher.accept_string(character)
        assert (masks[0] == masks[1]).all()


def test_serialize(compiler, info, tiny):
    compiled = compiler.compile_regex("a+b")
    text = compiled.serialize_json()
    again = xgr.CompiledGrammar.deserialize_json(text, info)
    assert again.grammar == compiled.grammar
    assert again.tokenizer_info is info
    assert xgr.GrammarMatcher(again).accept_string("aab")
    with pytest.raises(xgr.DeserializeFormatError, match="tokenizer"):
        xgr.CompiledGrammar.deserialize_json(text, tiny)
    with pytest.raises(xgr.DeserializeVersionError):
        xgr.CompiledGrammar.deserialize_json(text.replace(xgr.get_serialization_version(), "v16"), info)
    with pytest.raises(xgr.InvalidJSONError):
        xgr.CompiledGrammar.deserialize_json(text[:-1], info)
    with pytest.raises(xgr.DeserializeFormatError):
        xgr.CompiledGrammar.deserialize_json(compiled.grammar.serialize_json(), info)
    with pytest.raises(ValueError, match="TokenizerInfo"):
        xgr.CompiledGrammar.deserialize_json(text, None)


def test_save_and_load(compiler, info, tmp_path):
    compiled = compiler.compile_regex("a+b")
    path = tmp_path / "grammar.json"
    compiled.save(path)
    compiled.save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["grammar.json"]
    assert xgr.CompiledGrammar.load(path, info).grammar == compiled.grammar
    with pytest.raises(FileNotFoundError):
        xgr.CompiledGrammar.load(tmp_path / "absent", info)
    with pytest.raises(OSError, match=r"(?i)directory"):
        compiled.save(tmp_path / "no" / "such" / "folder")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(xgr.InvalidJSONError):
        xgr.CompiledGrammar.load(path, info)


def test_pickle(compiler):
    compiled = compiler.compile_regex("a+b")
    again = pickle.loads(pickle.dumps(compiled))
    assert again.grammar == compiled.grammar
    assert again.tokenizer_info == compiled.tokenizer_info


def test_stats_of_a_compiled_grammar(compiler, vocab):
    compiled = compiler.compile_builtin_json_grammar()
    matcher = xgr.GrammarMatcher(compiled)
    matcher.fill_next_token_bitmask(np.zeros((1, (len(vocab) + 31) // 32), dtype=np.int32))
    stats = compiled.get_stats()
    assert stats
    assert all(isinstance(value, int) for value in stats.values())
