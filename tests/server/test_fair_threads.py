"""Threads that clients take turns at."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tokenstile.server.fair_threads import FairThreads


def run(main):
    async def guarded():
        async with asyncio.timeout(60):
            await main()

    asyncio.run(guarded())


def test_clients_take_turns():
    order, gate = [], threading.Event()

    async def main():
        threads = FairThreads(1, "test")
        first = asyncio.create_task(threads.run("greedy", gate.wait))
        rest = [asyncio.create_task(threads.run("greedy", lambda at=at: order.append(at))) for at in range(5)]
        await asyncio.sleep(0)
        other = asyncio.create_task(threads.run("modest", lambda: order.append("other")))
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, other, *rest)
        threads.close()

    run(main)
    assert order == [0, "other", 1, 2, 3, 4]


def test_who_leaves_gives_up_a_turn_and_not_a_thread():
    done, gate = [], threading.Event()

    async def main():
        threads = FairThreads(1, "test")
        running = asyncio.create_task(threads.run("a", gate.wait))
        waiting = asyncio.create_task(threads.run("a", lambda: done.append("never")))
        last = asyncio.create_task(threads.run("b", lambda: done.append("last")))
        await asyncio.sleep(0)
        running.cancel()
        waiting.cancel()
        await asyncio.sleep(0.05)
        # The thread is not free before its work has ended.
        assert done == []
        gate.set()
        await last
        # And then it is free for whoever comes.
        await threads.run("c", lambda: done.append("more"))
        threads.close()

    run(main)
    assert done == ["last", "more"]


def test_a_turn_that_comes_while_its_client_leaves_goes_on():
    async def main():
        threads, gate = FairThreads(1, "test"), threading.Event()
        running = asyncio.create_task(threads.run("a", gate.wait))
        waiting = asyncio.create_task(threads.run("b", lambda: pytest.fail("it was cancelled")))
        await asyncio.sleep(0)
        gate.set()
        await running
        waiting.cancel()
        assert await threads.run("c", lambda: "free") == "free"
        threads.close()

    run(main)


def test_what_goes_wrong_comes_out():
    async def main():
        threads = FairThreads(1, "test")
        with pytest.raises(ZeroDivisionError):
            await threads.run("a", lambda: 1 // 0)
        assert await threads.run("a", lambda: 1) == 1
        threads.close()

    run(main)
