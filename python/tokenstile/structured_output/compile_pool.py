"""Compilations on a bounded pool of threads.

Each request waits on a future of its own. Requests with the same key for the same backend share one compilation, so
that a thousand requests with a new schema take one thread and not all of them. The rules:

1. A waiter is bound by its own patience only. One that is cancelled or out of time leaves; the compilation goes on for
   the others, and is stopped when nobody is left.
2. An error reaches exactly the requests that wait for that compilation.
3. The number of compilations that are waiting or running is bounded. Beyond it a request fails at once, with words.
4. A compilation that nobody waits for any more, and that goes on because its backend cannot be stopped, takes nobody's
   place: another thread begins in its stead, up to a number of them.
5. Clients take turns, and grammars that take long stand in the way of none that do not: see
   `tokenstile.structured_output.compile_lanes`.
"""

from __future__ import annotations

import os
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tokenstile._core import CancelToken
from tokenstile.exceptions import LimitExceededError, TokenstileError
from tokenstile.structured_output.compile_lanes import KnownKeys, Lane, Lanes
from tokenstile.structured_output.contract import StructuredOutputGrammar
from tokenstile.structured_output.deadlines import Deadlines

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["CompilePool", "CompileTimeoutError", "NotQuickError", "Waiter"]

GrammarFuture = Future[StructuredOutputGrammar]


class CompileTimeoutError(LimitExceededError):
    """A grammar was not ready in the time that its request has.

    What to do: raise the request's timeout.
    """


class NotQuickError(Exception):
    """A compilation did not end in the time that it has in a quick lane; it is to begin again in the long one."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Waiter:
    """A request that waits for its grammar."""

    future: GrammarFuture
    begin: Callable[[StructuredOutputGrammar], StructuredOutputGrammar]
    """Makes the request's own grammar of the one that was compiled."""
    on_timeout: Callable[[], None]
    """Called before the future hears that the time is over."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class _Compilation:
    key: Hashable
    work: Callable[[CancelToken], StructuredOutputGrammar]
    quick_work: Callable[[CancelToken], StructuredOutputGrammar] | None
    client: Hashable
    cancel: CancelToken = field(default_factory=CancelToken)
    waiters: dict[Waiter, None] = field(default_factory=dict)
    place: Lane | None = None
    """The lane in which it runs and holds a place."""


_FEWEST_WORKERS = 2
_ABANDONED_PER_WORKER = 3
"""How many compilations that nobody waits for may go on beside each that somebody does."""


class CompilePool:
    """Compiles grammars on a bounded number of threads, ``max_workers`` for each lane.

    May be used from many threads.
    """

    def __init__(self, max_workers: int | None = None, max_pending: int = 4096) -> None:
        workers = max_workers or max(_FEWEST_WORKERS, ((os.cpu_count() or 1) + 1) // 2)
        self.threads = workers * (len(Lane) + _ABANDONED_PER_WORKER)
        """How many compilations may be under way at once, those among them that nobody waits for any more."""
        self._executor = ThreadPoolExecutor(self.threads, thread_name_prefix="tokenstile-compile")
        self._lanes: Lanes[_Compilation] = Lanes(workers)
        self._known = KnownKeys()
        self._max_pending = max_pending
        self._lock = threading.Lock()
        self._compilations: dict[Hashable, _Compilation] = {}
        self._pending = 0
        self._deadlines = Deadlines()
        self._closed = False

    def submit(
        self,
        key: Hashable,
        work: Callable[[CancelToken], StructuredOutputGrammar],
        waiter: Waiter,
        timeout: float | None = None,
        *,
        quick_work: Callable[[CancelToken], StructuredOutputGrammar] | None = None,
        client: Hashable = None,
    ) -> bool:
        """Let ``waiter`` have its grammar in time. Returns whether it joined a compilation that was under way.

        ``quick_work`` is the same work with little time: it raises `NotQuickError` when that is over. Work that comes
        without it begins in the long lane. Clients take turns.
        """
        with self._lock:
            compilation = self._compilations.get(key)
            joined = compilation is not None
            if self._closed:
                refusal: Exception | None = TokenstileError("the manager was shut down")
            elif not joined and self._pending >= self._max_pending:
                message = f"{self._pending} grammars are waiting to be compiled, and no more are taken"
                refusal = LimitExceededError(message, help="try again later, or raise max_pending")
            else:
                refusal = None
                if compilation is None:
                    compilation = self._compilations[key] = _Compilation(key, work, quick_work, client)
                    self._pending += 1
                compilation.waiters[waiter] = None
        if refusal is not None or compilation is None:
            waiter.future.set_exception(refusal or TokenstileError("nothing to wait for"))
            return False
        if not joined:
            with self._lock:
                self._lanes.put(self._first_lane(compilation), client, compilation)
            self._start_some()
        self._watch(compilation, waiter, timeout)
        return joined

    def _first_lane(self, compilation: _Compilation) -> Lane:
        if compilation.quick_work is None:
            return Lane.LONG
        return Lane.KNOWN if compilation.key in self._known else Lane.NEW

    def _start_some(self) -> None:
        """Start what waits, as far as there is a place for it."""
        with self._lock:
            if self._closed:
                return
            for lane, compilation in self._lanes.take():
                compilation.place = lane
                work = compilation.work if lane is Lane.LONG else compilation.quick_work
                self._executor.submit(self._run, compilation, work or compilation.work)

    def _give_back_place(self, compilation: _Compilation) -> None:
        """Note that a compilation has ended, or that nobody waits for it; the caller holds the lock."""
        if compilation.place is not None:
            self._lanes.give_back(compilation.place)
            compilation.place = None

    def _watch(self, compilation: _Compilation, waiter: Waiter, timeout: float | None) -> None:
        """See to it that a waiter can leave: by cancelling its future, or when its time is over."""
        # Weak: a request that is long done must not be kept until its deadline, nor wait for the garbage collector.
        places = weakref.ref(compilation), weakref.ref(waiter)

        def on_done(future: GrammarFuture) -> None:
            work, gone = places[0](), places[1]()
            if future.cancelled() and work is not None and gone is not None:
                self._leave(work, gone)

        waiter.future.add_done_callback(on_done)
        if timeout is not None:
            deadline = self._deadlines.add(timeout, partial(self._expire, *places, timeout))
            waiter.future.add_done_callback(lambda _: self._deadlines.call_off(deadline))

    def _expire(
        self,
        compilation: weakref.ref[_Compilation],
        waiter: weakref.ref[Waiter],
        timeout: float,
    ) -> None:
        """End the patience of a waiter that still waits."""
        work, late = compilation(), waiter()
        if work is None or late is None or not self._leave(work, late):
            return
        if late.future.set_running_or_notify_cancel():
            late.on_timeout()
            message = f"the grammar was not compiled within {timeout:g} seconds"
            late.future.set_exception(CompileTimeoutError(message, help="raise the request's timeout"))

    def _leave(self, compilation: _Compilation, waiter: Waiter) -> bool:
        """Let a waiter go; returns whether it was still waiting. The last one stops the compilation."""
        with self._lock:
            was_waiting = waiter in compilation.waiters
            compilation.waiters.pop(waiter, None)
            if was_waiting and not compilation.waiters:
                compilation.cancel.cancel()
                if self._compilations.get(compilation.key) is compilation:
                    del self._compilations[compilation.key]
                self._give_back_place(compilation)
        self._start_some()
        return was_waiting

    def _run(self, compilation: _Compilation, work: Callable[[CancelToken], StructuredOutputGrammar]) -> None:
        grammar, error = None, None
        try:
            if not compilation.cancel.cancelled:
                grammar = work(compilation.cancel)
        except NotQuickError:
            if self._begin_again(compilation):
                return
        except BaseException as caught:  # noqa: BLE001 - it belongs to those who wait
            error = caught
        with self._lock:
            self._pending -= 1
            self._give_back_place(compilation)
            if grammar is not None and compilation.quick_work is not None:
                self._known.add(compilation.key)
            if self._compilations.get(compilation.key) is compilation:
                del self._compilations[compilation.key]
            waiters, compilation.waiters = list(compilation.waiters), {}
        self._start_some()
        for waiter in waiters:
            _settle(waiter, grammar, error)

    def _begin_again(self, compilation: _Compilation) -> bool:
        """Let a compilation wait in the long lane; returns whether there is anybody whom it is for."""
        with self._lock:
            is_wanted = bool(compilation.waiters) and not self._closed
            if is_wanted:
                self._give_back_place(compilation)
                self._lanes.put(Lane.LONG, compilation.client, compilation)
        if is_wanted:
            self._start_some()
        return is_wanted

    def pending(self) -> int:
        """Return how many compilations are waiting or running."""
        with self._lock:
            return self._pending

    def shutdown(self) -> None:
        """Stop all compilations; those who wait for one get an error. Returns when the threads have ended."""
        with self._lock:
            self._closed = True
            left = list(self._compilations.values())
            self._compilations.clear()
            self._pending -= self._lanes.clear()
        self._deadlines.close()
        for compilation in left:
            compilation.cancel.cancel()
            with self._lock:
                waiters, compilation.waiters = list(compilation.waiters), {}
            for waiter in waiters:
                _settle(waiter, None, TokenstileError("the manager was shut down"))
        self._executor.shutdown(wait=True)


def _settle(waiter: Waiter, grammar: StructuredOutputGrammar | None, error: BaseException | None) -> None:
    """Give a waiter what it waits for."""
    if not waiter.future.set_running_or_notify_cancel():
        return
    try:
        if error is not None or grammar is None:
            raise error or TokenstileError("the compilation was stopped")  # noqa: TRY301 - one way out
        own = waiter.begin(grammar)
    except BaseException as caught:  # noqa: BLE001 - it belongs to the request
        waiter.future.set_exception(caught)
    else:
        waiter.future.set_result(own)
