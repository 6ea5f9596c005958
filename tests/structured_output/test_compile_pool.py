"""Compilations that cannot be stopped: nobody waits behind them."""

import threading
from concurrent.futures import Future

import pytest

from tokenstile.structured_output.compile_pool import CompilePool, CompileTimeoutError, NotQuickError, Waiter

PATIENCE = 600.0


def waiter():
    return Waiter(Future(), begin=lambda grammar: grammar, on_timeout=lambda: None)


def test_an_abandoned_compilation_takes_nobodys_place():
    released = threading.Event()
    pool = CompilePool(max_workers=1)
    try:
        stuck = [waiter() for _ in range(2)]
        for at, late in enumerate(stuck):
            pool.submit(f"stuck {at}", lambda _: released.wait(PATIENCE), late, timeout=0.05)
        for late in stuck:
            with pytest.raises(CompileTimeoutError):
                late.future.result(PATIENCE)
        quick = waiter()
        pool.submit("quick", lambda _: "grammar", quick)
        assert quick.future.result(PATIENCE) == "grammar"
        assert not released.is_set()
    finally:
        released.set()
        pool.shutdown()
    assert pool.pending() == 0


def test_no_more_run_than_there_are_workers():
    running, most, lock = 0, 0, threading.Lock()
    gate = threading.Event()

    def work(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(0.05)
        with lock:
            running -= 1
        return "grammar"

    pool = CompilePool(max_workers=2)
    waiters = [waiter() for _ in range(12)]
    for at, one in enumerate(waiters):
        pool.submit(at, work, one)
    assert [one.future.result(PATIENCE) for one in waiters] == ["grammar"] * 12
    pool.shutdown()
    assert most <= 2


def test_who_asks_for_much_waits_for_itself():
    """Thirty that take their time are before one of somebody else, who is served after those that run."""
    pool, order, gate = CompilePool(max_workers=1), [], threading.Event()

    def work(name):
        def compile_it(_):
            gate.wait(PATIENCE)
            order.append(name)
            return name

        return compile_it

    waiters = [waiter() for _ in range(31)]
    for at, one in enumerate(waiters[:30]):
        pool.submit(at, work(at), one, client="greedy")
    pool.submit("other", work("other"), waiters[30], client="modest")
    gate.set()
    assert waiters[30].future.result(PATIENCE) == "other"
    for one in waiters:
        one.future.result(PATIENCE)
    pool.shutdown()
    # One ran already, and it was the turn of another by then.
    assert order.index("other") <= 2


def test_what_is_known_or_quick_passes_what_takes_long():
    """Long ones hold all their places, more of them wait, and others are compiled all the same."""
    pool, released = CompilePool(max_workers=1), threading.Event()

    def too_slow(_):
        raise NotQuickError

    def slow(_):
        released.wait(PATIENCE)
        return "slow"

    try:
        known = waiter()
        pool.submit("known", lambda _: "known", known, quick_work=lambda _: "known")
        known.future.result(PATIENCE)
        stuck = [waiter() for _ in range(5)]
        for at, one in enumerate(stuck):
            pool.submit(f"stuck {at}", slow, one, quick_work=too_slow)
        for name in ("known", "new"):
            quick = waiter()
            pool.submit(name, slow, quick, quick_work=lambda _: "quick")
            assert quick.future.result(PATIENCE) == "quick"
        assert not any(one.future.done() for one in stuck)
        assert pool.pending() == 5
        released.set()
        assert {one.future.result(PATIENCE) for one in stuck} == {"slow"}
    finally:
        released.set()
        pool.shutdown()
    assert pool.pending() == 0


def test_what_nobody_wants_any_more_does_not_begin_again():
    pool, begun, go_on = CompilePool(max_workers=1), threading.Event(), threading.Event()

    def too_slow(_):
        begun.set()
        go_on.wait(PATIENCE)
        raise NotQuickError

    gone = waiter()
    pool.submit("gone", lambda _: pytest.fail("it was given up"), gone, quick_work=too_slow)
    assert begun.wait(PATIENCE)
    gone.future.cancel()
    go_on.set()
    pool.shutdown()
    assert pool.pending() == 0
