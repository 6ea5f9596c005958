"""Calls at given times: what ends the patience of requests.

One thread sleeps until the next deadline. It is started by the first one and ends when it has had nothing to do for a
while, so that a manager without time limits has no thread for them.

Most deadlines are never met, because what they are for comes in time. Those are called off, and what is left of them
goes when it is half of all there is; so a patience of days does not pile them up.
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

__all__ = ["Deadline", "Deadlines"]

logger = logging.getLogger("tokenstile.structured_output")

_IDLE_SECONDS = 5.0
_FEW = 64
# A thread cannot wait for as long as a caller may ask for; it looks again in between.
_LONGEST_WAIT = 3600.0


class Deadline:
    """A time, and what is to be done then; nothing, once it was called off."""

    __slots__ = ("action", "number", "time")

    def __init__(self, moment: float, number: int, action: Callable[[], None]) -> None:
        self.time, self.number = moment, number
        self.action: Callable[[], None] | None = action

    def __lt__(self, other: Deadline) -> bool:
        return (self.time, self.number) < (other.time, other.number)


class Deadlines:
    """Calls functions when their time has come, in a thread of its own. May be used from many threads."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._heap: list[Deadline] = []
        self._called_off = 0
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, seconds: float, action: Callable[[], None]) -> Deadline:
        """Let ``action`` be called in so many seconds. It must be quick and must not raise."""
        deadline = Deadline(time.monotonic() + seconds, next(self._numbers), action)
        with self._condition:
            if self._closed:
                return deadline
            heapq.heappush(self._heap, deadline)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tokenstile-deadlines", daemon=True)
                self._thread.start()
            self._condition.notify()
        return deadline

    def call_off(self, deadline: Deadline) -> None:
        """Let nothing be done at a deadline; one that is over is fine."""
        with self._condition:
            if deadline.action is None:
                return
            deadline.action = None
            self._called_off += 1
            if self._called_off > max(_FEW, len(self._heap) // 2):
                self._heap = [one for one in self._heap if one.action is not None]
                heapq.heapify(self._heap)
                self._called_off = 0

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
                if self._heap and self._heap[0].time <= now:
                    deadline = heapq.heappop(self._heap)
                    action, deadline.action = deadline.action, None
                    if action is not None:
                        return action
                    self._called_off = max(self._called_off - 1, 0)
                    continue
                wait = self._heap[0].time - now if self._heap else _IDLE_SECONDS
                if not self._condition.wait(min(wait, _LONGEST_WAIT)) and not self._heap:
                    break
            self._thread = None
            return None
