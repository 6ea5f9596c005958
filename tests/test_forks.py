"""A process that is forked while threads work has a child that can use the library."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import tokenstile as xgr

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this platform"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]

SCHEMA = '{"type": "object", "properties": {"a%d": {"type": "array", "items": {"enum": [%s]}}}}'


def fork_and(work, seconds=30):
    """What a child that does `work` ends with; None if it hangs."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - whatever it is, the child ends here
            os._exit(1)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.fixture
def busy(info):
    """Threads that compile and make masks as long as the test takes."""
    compiler = xgr.GrammarCompiler(info)
    stop = threading.Event()
    failures = []

    def work(number):
        mask = np.zeros(xgr.get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
        round_ = 0
        try:
            while not stop.is_set():
                round_ += 1
                values = ", ".join(f'"{number}-{round_}-{value}"' for value in range(400))
                compiled = compiler.compile_json_schema(SCHEMA % (round_, values))
                matcher = xgr.GrammarMatcher(compiled)
                matcher.fill_next_token_bitmask(mask)
                matcher.accept_string("{")
                matcher.fill_next_token_bitmask(mask)
        except Exception as failure:  # noqa: BLE001 - looked at below
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    yield compiler
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_children_use_the_library_while_threads_of_the_parent_work(busy, info):
    shared = busy.compile_builtin_json_grammar()

    def work():
        mask = np.zeros(xgr.get_bitmask_shape(40, info.vocab_size), dtype=np.int32)
        compiled = busy.compile_json_schema(SCHEMA % (0, '"child"'))
        for grammar in (compiled, shared):
            matchers = [xgr.GrammarMatcher(grammar) for _ in range(40)]
            xgr.BatchGrammarMatcher(4).batch_fill_next_token_bitmask(matchers, mask)
            assert mask.any()
            assert matchers[0].accept_string("{")

    assert [fork_and(work) for _ in range(12)] == [0] * 12


def test_work_in_the_parent_goes_on_after_a_fork(busy):
    assert fork_and(lambda: None) == 0
    compiled = busy.compile_json_schema(SCHEMA % (1, '"parent"'))
    assert xgr.GrammarMatcher(compiled).accept_string('{"a1"')


def test_a_call_of_a_matcher_is_done_again(info):
    """It has not moved when it is stopped for the fork, and then does what it was asked for."""
    compiled = xgr.GrammarCompiler(info, cache_enabled=False).compile_grammar(
        'root ::= a*\na ::= [a-z]+ a? [a-z]* a? "x"?'
    )
    text = "ab" * 5_000
    matchers = [xgr.GrammarMatcher(compiled) for _ in range(2)]
    results = []
    threads = [
        threading.Thread(target=lambda matcher=matcher: results.append(matcher.accept_string(text)))
        for matcher in matchers
    ]
    for thread in threads:
        thread.start()
    assert [fork_and(lambda: xgr.GrammarMatcher(compiled).accept_string("abc")) for _ in range(3)] == [0] * 3
    for thread in threads:
        thread.join()
    assert results == [True, True]
    assert all("steps: 1," in repr(matcher) for matcher in matchers)


def test_a_handler_of_a_signal_may_fork(info):
    """In the middle of a call, which goes on in both processes."""
    compiled = xgr.GrammarCompiler(info, cache_enabled=False).compile_grammar(
        'root ::= a*\na ::= [a-z]+ a? [a-z]* a? "x"?'
    )
    matcher = xgr.GrammarMatcher(compiled)
    ended = []

    def ring(_number, _frame):
        ended.append(fork_and(lambda: xgr.GrammarMatcher(compiled).accept_string("abc")))

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        assert matcher.accept_string("ab" * 5_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(ended) <= {0}
