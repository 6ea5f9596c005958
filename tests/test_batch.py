"""`BatchGrammarMatcher`: one call for many matchers gives what many calls give."""

from __future__ import annotations

import multiprocessing
import sys

import numpy as np
import pytest

import tokenstile as xgr

WORDS = 5


@pytest.fixture(scope="module")
def compiled(info):
    return xgr.GrammarCompiler(info).compile_builtin_json_grammar()


def make(compiled, count):
    """Matchers at different places."""
    text = '{"ab": [1, 2, {"c": "true"}], "d": null}'
    matchers = [xgr.GrammarMatcher(compiled) for _ in range(count)]
    for number, matcher in enumerate(matchers):
        assert matcher.accept_string(text[: number % len(text)])
    return matchers


@pytest.mark.parametrize("threads", [1, 2, 4, "auto"])
@pytest.mark.parametrize("count", [0, 1, 7, 32, 33, 200])
def test_fill(compiled, threads, count):
    matchers = make(compiled, count)
    expected = np.zeros((count, WORDS), dtype=np.int32)
    for row, matcher in enumerate(matchers):
        matcher.fill_next_token_bitmask(expected, row)
    batch = xgr.BatchGrammarMatcher(max_threads=threads)
    for found in (np.zeros((count, WORDS), dtype=np.int32), np.zeros((WORDS, count), dtype=np.int32).T):
        for _ in range(3):
            found[...] = 0
            assert batch.batch_fill_next_token_bitmask(matchers, found) is None
            assert (found == expected).all()


def test_fill_with_indices(compiled):
    matchers = make(compiled, 40)
    expected = np.zeros((40, WORDS), dtype=np.int32)
    xgr.BatchGrammarMatcher().batch_fill_next_token_bitmask(matchers, expected)
    rows = np.random.default_rng(1).permutation(50)[:40]
    found = np.full((50, WORDS), 7, dtype=np.int32)
    xgr.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, found, rows.tolist())
    assert (found[rows] == expected).all()
    assert (np.delete(found, rows, axis=0) == 7).all()
    again = np.zeros_like(found)
    xgr.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, again, rows)
    assert (again[rows] == expected).all()


def test_the_same_matcher_twice(compiled):
    matcher = make(compiled, 3)[2]
    mask = np.zeros((64, WORDS), dtype=np.int32)
    xgr.BatchGrammarMatcher(4).batch_fill_next_token_bitmask([matcher] * 64, mask)
    assert (mask == mask[0]).all()
    assert mask.any()


def test_fill_errors(compiled, tiny):
    batch = xgr.BatchGrammarMatcher(2)
    matchers = make(compiled, 2)
    mask = np.zeros((2, WORDS), dtype=np.int32)
    for indices in ([0], [0, 1, 1], [0, 2], [0, -1], [1, 1]):
        with pytest.raises(RuntimeError):
            batch.batch_fill_next_token_bitmask(matchers, mask, indices)
    with pytest.raises(RuntimeError):
        batch.batch_fill_next_token_bitmask(matchers, mask[:1])
    with pytest.raises(RuntimeError):
        batch.batch_fill_next_token_bitmask([*matchers, "matcher"], mask)
    other = xgr.GrammarMatcher(xgr.GrammarCompiler(tiny).compile_grammar('root ::= "a"'))
    with pytest.raises(RuntimeError, match="different sizes"):
        batch.batch_fill_next_token_bitmask([matchers[0], other], mask)
    assert not mask.any()
    for threads in (0, -1, "many", 1.5):
        with pytest.raises(ValueError, match="max_threads"):
            xgr.BatchGrammarMatcher(threads)


def test_a_terminated_matcher(compiled, stop):
    for count in (2, 64):
        matchers = make(compiled, count)
        matchers[0].reset()
        assert matchers[0].accept_string("[]")
        assert matchers[0].accept_token(stop)
        with pytest.raises(RuntimeError, match="terminated"):
            xgr.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(
                matchers, np.zeros((count, WORDS), np.int32)
            )


def test_accept(compiled, vocab):
    matchers = [xgr.GrammarMatcher(compiled) for _ in range(3)]
    tokens = [vocab.index("["), vocab.index("a"), -1]
    assert xgr.BatchGrammarMatcher.batch_accept_token(matchers, tokens) == [True, False, False]
    assert xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["1]", "{", b"["]) == [True, True, True]
    assert [matcher.is_completed() for matcher in matchers] == [True, False, False]
    with pytest.raises(RuntimeError):
        xgr.BatchGrammarMatcher.batch_accept_token(matchers, [1])
    with pytest.raises(RuntimeError):
        xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["1"] * 4)
    with pytest.raises(RuntimeError):
        xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["1", 2, "3"])
    for one in ("123", b"123"):
        with pytest.raises(RuntimeError, match="not one string"):
            xgr.BatchGrammarMatcher.batch_accept_string(matchers, one)


def test_debug_print(compiled, vocab, capfd):
    matchers = [xgr.GrammarMatcher(compiled) for _ in range(2)]
    tokens = [vocab.index("["), vocab.index("a")]
    xgr.BatchGrammarMatcher.batch_accept_token(matchers, tokens, debug_print=True)
    xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["1", "{"], debug_print=True)
    mask = np.zeros((2, WORDS), dtype=np.int32)
    xgr.BatchGrammarMatcher().batch_fill_next_token_bitmask(matchers, mask, debug_print=True)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 6
    assert "matcher 0: accepted; steps: 1" in lines[0]
    assert "matcher 1: refused; steps: 0" in lines[1]


@pytest.mark.parametrize("make_tokens", [np.array, tuple, iter], ids=["array", "tuple", "iterator"])
def test_tokens_in_any_container(compiled, vocab, make_tokens):
    matchers = [xgr.GrammarMatcher(compiled) for _ in range(3)]
    tokens = make_tokens([vocab.index("["), vocab.index("a"), -1])
    assert xgr.BatchGrammarMatcher.batch_accept_token(matchers, tokens) == [True, False, False]
    for wrong in (np.array([0.5] * 3), ["1", "2", "3"], 7, np.array(7)):
        with pytest.raises(TypeError):
            xgr.BatchGrammarMatcher.batch_accept_token(matchers, wrong)


def test_rollback(compiled):
    matchers = [xgr.GrammarMatcher(compiled) for _ in range(2)]
    for text in "[1,2":
        xgr.BatchGrammarMatcher.batch_accept_string(matchers, [text, text])
    xgr.BatchGrammarMatcher.batch_rollback(matchers)
    xgr.BatchGrammarMatcher.batch_rollback(matchers, [0, 2])
    assert matchers[0].accept_string("3]")
    assert matchers[1].accept_string("]")
    xgr.BatchGrammarMatcher.batch_rollback(matchers, 1)
    for wrong in ([0, 5], [1], -1, [0, -1], 2**62, 2**70, 1.5, "x"):
        with pytest.raises(RuntimeError):
            xgr.BatchGrammarMatcher.batch_rollback(matchers, wrong)
    # A refused rollback moved none of them.
    assert matchers[0].accept_string("3]")


def test_temperatures(info):
    compiler = xgr.GrammarCompiler(info)
    hot = compiler.compile_grammar("root[temperature=0.5] ::= [a-z]+")
    plain = compiler.compile_grammar("root ::= [a-z]+")
    matchers = [xgr.GrammarMatcher(hot), xgr.GrammarMatcher(plain)]
    found = np.zeros(6, dtype=np.float32)[::2]
    xgr.BatchGrammarMatcher.batch_fill_temperature(matchers, found)
    assert found.tolist() == [0.5, -1, 0]
    xgr.BatchGrammarMatcher.batch_fill_temperature(matchers, found, indices=[2, 0])
    assert found.tolist() == [-1, -1, 0.5]
    for wrong in (np.zeros(1, np.float32), np.zeros(2, np.float64), np.zeros((2, 1), np.float32)):
        with pytest.raises(RuntimeError):
            xgr.BatchGrammarMatcher.batch_fill_temperature(matchers, wrong)
    with pytest.raises(RuntimeError):
        xgr.BatchGrammarMatcher.batch_fill_temperature(matchers, found, indices=[0, 3])


def fill_in_child(batch, matchers, connection):
    mask = np.zeros((len(matchers), WORDS), dtype=np.int32)
    batch.batch_fill_next_token_bitmask(matchers, mask)
    connection.send(mask)


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_its_own_threads(compiled):
    batch = xgr.BatchGrammarMatcher(2)
    matchers = make(compiled, 64)
    expected = np.zeros((64, WORDS), dtype=np.int32)
    batch.batch_fill_next_token_bitmask(matchers, expected)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=fill_in_child, args=(batch, matchers, sender))
    child.start()
    assert receiver.poll(30), "the child hangs"
    assert (receiver.recv() == expected).all()
    child.join()
