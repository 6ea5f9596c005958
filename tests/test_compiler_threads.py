"""How many threads compile at once."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

import tokenstile as xgr

# Automata with very many states: it takes many seconds, unless it is cancelled.
LONG = r"(?=.{1,255}$)((.{1,63}\.){1,127}(?![0-9]*$)[a-z0-9-]+\.?)"
LIMITS = xgr.Limits(max_states=2_000_000)


@contextlib.contextmanager
def compiling(compiler):
    """Keep a thread compiling inside of the block."""
    token, ended = xgr.CancelToken(), []

    def work():
        try:
            compiler.compile_regex(LONG, cancel=token)
        except xgr.CancelledError:
            ended.append("cancelled")

    thread = threading.Thread(target=work)
    thread.start()
    while not compiler.get_stats()["compilations"]:
        time.sleep(0.001)
    try:
        yield
    finally:
        token.cancel()
        thread.join()
    assert ended == ["cancelled"]


def test_no_more_compile_at_once_than_were_asked_for(tiny):
    compiler = xgr.GrammarCompiler(tiny, max_threads=1, limits=LIMITS)
    with compiling(compiler):
        with pytest.raises(xgr.LimitExceededError, match="compile time"):
            compiler.compile_regex("a", timeout=0.05)
        stopped = xgr.CancelToken()
        stopped.cancel()
        with pytest.raises(xgr.CancelledError):
            compiler.compile_regex("a", cancel=stopped)
        assert compiler.get_stats()["compilations"] == 1
    assert compiler.compile_regex("a", timeout=30), "the place is free again"


@pytest.mark.parametrize("max_threads", [2, 8])
def test_as_many_compile_at_once_as_were_asked_for(tiny, max_threads):
    compiler = xgr.GrammarCompiler(tiny, max_threads=max_threads, limits=LIMITS)
    with compiling(compiler):
        assert compiler.compile_regex("a", timeout=30)


def test_what_is_known_waits_for_nobody(tiny):
    compiler = xgr.GrammarCompiler(tiny, max_threads=1, limits=LIMITS)
    known = compiler.compile_regex("a")
    other = xgr.GrammarCompiler(tiny, max_threads=1, limits=LIMITS)
    with compiling(other):
        assert compiler.compile_regex("a") == known
        assert compiler.compile_regex("b", timeout=30), "another compiler has places of its own"


@pytest.mark.parametrize("max_threads", [0, -1])
def test_there_is_a_place_at_least(tiny, max_threads):
    assert xgr.GrammarCompiler(tiny, max_threads=max_threads).compile_regex("a", timeout=30)
