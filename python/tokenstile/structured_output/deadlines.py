"""Calls at given times: what ends the patience of requests.

One thread sleeps until the next deadline. It is started by the first one and ends when it has had nothing to do for a
while, so that a manager without time limits has no thread for them.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Deadlines"]

logger = logging.getLogger("tokenstile.structured_output")

_IDLE_SECONDS = 5.0
# A thread cannot wait for as long as a caller may ask for; it looks again in between.
_LONGEST_WAIT = 3600.0


class Deadlines:
    """Calls functions when their time has come, in a thread of its own. May be used from many threads."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, seconds: float, action: Callable[[], None]) -> None:
        """Let ``action`` be called in so many seconds. It must be quick and must not raise."""
        with self._condition:
            if self._closed:
                return
            heapq.heappush(self._heap, (time.monotonic() + seconds, next(self._numbers), action))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tokenstile-deadlines", daemon=True)
                self._thread.start()
            self._condition.notify()

    def close(self) -> None:
        """Forget all deadlines and end the thread."""
        with self._condition:
            self._closed = True
            self._heap.clear()
            self._condition.notify()

    def _run(self) -> None:
        while True:
            action = self._next()
            if action is None:
                return
            try:
                action()
            except Exception:
                logger.exception("a deadline could not be kept")

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next deadline; nothing if the thread is to end."""
        with self._condition:
            while not self._closed:
                now = time.monotonic()
                if self._heap and self._heap[0][0] <= now:
                    return heapq.heappop(self._heap)[2]
                wait = self._heap[0][0] - now if self._heap else _IDLE_SECONDS
                if not self._condition.wait(min(wait, _LONGEST_WAIT)) and not self._heap:
                    break
            self._thread = None
            return None
