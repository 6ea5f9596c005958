"""Work off the event loop, on a few threads that clients take turns at.

The event loop itself does nothing whose length a request decides. What holds:

1. Work begins in turns between clients, and a client that leaves gives up its turn.
2. Work that has begun runs to its end, because a thread cannot be stopped; its thread is free only then. So whoever
   gives work here bounds it.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from tokenstile.structured_output.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["FairThreads"]

Result = TypeVar("Result")


class FairThreads:
    """Some threads. Used from one event loop."""

    def __init__(self, count: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=f"tokenstile-{name}")
        self._free = count
        self._turns: FairQueue[asyncio.Future[None]] = FairQueue()

    async def run(self, client: Hashable, work: Callable[[], Result]) -> Result:
        """Do work when it is the client's turn, and give its result."""
        await self._wait_for_turn(client)
        loop = asyncio.get_running_loop()
        try:
            future = loop.run_in_executor(self._executor, work)
        except BaseException:
            self._next()
            raise
        # Also when nobody waits for it any more.
        shielded = asyncio.shield(future)
        future.add_done_callback(self._end)
        return await shielded

    async def _wait_for_turn(self, client: Hashable) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.put(client, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It came in the same moment.
                self._next()
            raise

    def _end(self, done: asyncio.Future[Result]) -> None:
        if not done.cancelled():
            # Looked at, so that asyncio does not complain where nobody waits for it.
            done.exception()
        self._next()

    def _next(self) -> None:
        """Pass a free thread on."""
        while len(self._turns):
            turn = self._turns.pop()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def close(self) -> None:
        """Begin nothing more."""
        self._executor.shutdown(wait=False, cancel_futures=True)
