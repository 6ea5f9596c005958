"""Bodies of requests as they come: each bounded by itself, and the large ones together.

A body counts from its first piece until its request is answered, and a client may take its time. Small ones are always
taken, so that clients who send large ones slowly keep nobody out but each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tokenstile.server.errors import ApiError

if TYPE_CHECKING:
    from starlette.types import Message, Receive

__all__ = ["Bodies"]

_SMALL: Final = 64 << 10


class Bodies:
    """Reads bodies, and knows how many bytes of large ones are held."""

    def __init__(self, max_bytes: int, max_held: int) -> None:
        self._max_bytes = max_bytes
        self._max_held = max_held
        self._held = 0

    async def read(self, headers: dict[bytes, bytes], receive: Receive) -> tuple[Receive, int]:
        """Read a body: give what gives it to the application in one piece, and what is to be released at the end."""
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._max_bytes:
            raise self._too_large()
        body, counted = await self._collect(receive)
        rest: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_whole() -> Message:
            return rest.pop() if rest else await receive()

        return receive_whole, counted

    def release(self, counted: int) -> None:
        """Take note that a body is not held any more."""
        self._held -= counted

    async def _collect(self, receive: Receive) -> tuple[bytes, int]:
        body, counted, more = bytearray(), 0, True
        try:
            while more:
                more = self._add(body, await receive())
                counted += self._count(max(len(body) - _SMALL, 0) - counted)
        except BaseException:
            self.release(counted)
            raise
        return bytes(body), counted

    def _add(self, body: bytearray, message: Message) -> bool:
        """Add a piece to a body, and tell whether there is more."""
        if message["type"] != "http.request":
            raise ApiError(499, "the client went away", code="cancelled")
        body += message.get("body", b"")
        if len(body) > self._max_bytes:
            raise self._too_large()
        more: bool = message.get("more_body", False)
        return more

    def _count(self, grown: int) -> int:
        """Take note of so many bytes more, if there is room for them."""
        if grown and self._held + grown > self._max_held:
            raise ApiError(503, "too many large requests are under way; try again", code="overloaded")
        self._held += grown
        return grown

    def _too_large(self) -> ApiError:
        text = f"the body has more than {self._max_bytes} bytes"
        return ApiError(413, text, code="limit_exceeded")
