"""Connections: how many there may be, and how long each may say nothing.

uvicorn waits for headers as long as a client likes, and a process has only so many connections. What holds here:

1. There are never more than `ConnectionLimits.most`. A new one beyond them takes the place of the one that has owed a
   whole request for the longest time, or has been kept for the next one: clients that open connections and say nothing
   push out each other. If all others have requests under way, it is the new one that goes.
2. Headers come in time, from when the connection is open or their first byte has come, and so does what is left of a
   body that nobody wants any more. Bodies have a time of their own, in `tokenstile.server.guard`.
3. A client takes what is sent to it in time, or its connection is cut, also while it is being closed.
4. A body may come in chunks, but not in very many small ones: each takes time of the event loop.
5. Nothing of that is logged.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["BoundedProtocol", "ConnectionLimits", "Connections"]

_SECONDS_TO_CLOSE: Final = 5.0
_TIME_TO_BEGIN: Final = 1.0
"""Seconds in which a new connection is not the first to be cut."""
_MOST_CHUNKS: Final = 16_384
"""Pieces of one body beyond one for each time that something was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What a server allows."""

    most: int
    """Connections at a time."""
    header_timeout: float
    """Seconds for the headers of a request."""
    write_timeout: float
    """Seconds in which a client takes nothing."""


class Connections:
    """The connections of a server: those that owe a request, those that are kept for the next, and those at work."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._all: set[BoundedProtocol] = set()
        # Both with the time since when, the longest first.
        self._owing: OrderedDict[BoundedProtocol, float] = OrderedDict()
        self._kept: OrderedDict[BoundedProtocol, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, connection: BoundedProtocol) -> None:
        """Take note of a new connection, and cut another one, or this, if there are too many."""
        self._all.add(connection)
        self.note_owing(connection)
        if len(self._all) > self.limits.most:
            chosen = self._choose(time.monotonic())
            # It is lost later, but counts no more.
            self.leave(chosen)
            chosen.transport.abort()

    def _choose(self, now: float) -> BoundedProtocol:
        """Choose which connection to cut; the one that came last only where all others are at work."""
        oldest, since = next(iter(self._owing.items()))
        if now - since < _TIME_TO_BEGIN and self._kept:
            return next(iter(self._kept))
        return oldest

    def leave(self, connection: BoundedProtocol) -> None:
        """Forget a connection."""
        self._all.discard(connection)
        self.note_busy(connection)

    def cut_owing(self) -> None:
        """Cut all connections without a whole request."""
        for connection in list(self._owing):
            connection.transport.abort()

    def note_owing(self, connection: BoundedProtocol) -> None:
        """Take note that a request has begun to come, or should."""
        self._kept.pop(connection, None)
        if connection in self._all:
            self._owing.setdefault(connection, time.monotonic())

    def note_kept(self, connection: BoundedProtocol) -> None:
        """Take note that a connection has been answered."""
        self._owing.pop(connection, None)
        if connection in self._all:
            self._kept.setdefault(connection, time.monotonic())

    def note_busy(self, connection: BoundedProtocol) -> None:
        """Take note that a connection has a whole request, or is none any more."""
        self._owing.pop(connection, None)
        self._kept.pop(connection, None)


class _CountingParser(h11.Connection):
    """Reads HTTP, and counts the pieces of a body."""

    chunks = 0

    def next_event(self) -> Any:  # noqa: ANN401 - h11's own type says it in many words
        """Give the next event; a body in too many pieces is no HTTP."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.chunks = 0
        elif isinstance(event, h11.Data):
            self.chunks += 1
            if self.chunks > _MOST_CHUNKS:
                raise h11.RemoteProtocolError("the body comes in too many small pieces")
        return event


class BoundedProtocol(H11Protocol):
    """A connection."""

    def __init__(self, *args: Any, connections: Connections, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(*args, **kwargs)
        self.conn: _CountingParser = _CountingParser(h11.SERVER)
        self._counted = connections
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    # What uvicorn calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin."""
        super().connection_made(transport)
        self._counted.enter(self)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._counted.leave(self)
        self._stop_header_timer()
        if self._write_timer is not None:
            self._write_timer.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read."""
        # One piece of a body for each time is what any body comes in.
        self.conn.chunks -= 1
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Go on to the next request."""
        super().on_response_complete()
        # What comes next may have come already.
        if self.cycle.response_complete and not self.transport.is_closing():
            self._counted.note_kept(self)

    def pause_writing(self) -> None:
        """Wait until the client has taken what was sent, for a while."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self._counted.limits.write_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection whose next request does not come."""
        super().timeout_keep_alive_handler()
        self._close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, where there is no answer yet."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
            self._close()
        else:
            self.transport.abort()

    # What is added.

    def _look(self) -> None:
        """See what the client owes, and give it time for that."""
        has_request = self.cycle is not None and not self.cycle.response_complete
        if has_request and self.conn.their_state is not h11.SEND_BODY:
            self._counted.note_busy(self)
        else:
            self._counted.note_owing(self)
        if has_request:
            self._stop_header_timer()
        elif self._header_timer is None and not self.transport.is_closing():
            self._header_timer = self.loop.call_later(self._counted.limits.header_timeout, self._close)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _close(self) -> None:
        """Close the connection, whether the client takes what is still to be sent or not."""
        self.transport.close()
        self.loop.call_later(_SECONDS_TO_CLOSE, self.transport.abort)
