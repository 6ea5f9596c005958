"""Compilations that cannot be stopped: nobody waits behind them."""

import threading
from concurrent.futures import Future

import pytest

from tokenstile.structured_output.compile_pool import CompilePool, CompileTimeoutError, Waiter

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
