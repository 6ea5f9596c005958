"""What the answers of all dialects share: they are made of the pieces of a chat completion."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from tokenstile.server.answers.chat import ChatWriter
from tokenstile.server.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from tokenstile.server.preparing import Prepared
    from tokenstile.server.service import Generation

__all__ = ["DialectWriter"]


class DialectWriter(ChatWriter):
    """Writes an answer that is one message."""

    def __init__(self, generation: Generation, prepared: Prepared, model: str) -> None:
        super().__init__(generation, prepared, model)
        self.source: Any = prepared.source

    async def answer(self) -> dict[str, Any]:
        """Wait for the message, and give the whole answer."""
        chat = await super().answer()
        return {**self.whole_of(chat["choices"][0]), **self.remarks}

    async def stream(self) -> AsyncIterator[bytes]:
        """Give the answer as it comes. What goes wrong on the way is a part of it too."""
        try:
            async with contextlib.aclosing(self.all_pieces()) as pieces:
                for part in self.begin():
                    yield part
                async for piece in pieces:
                    for part in self.parts_of(piece):
                        yield part
            for part in self.end():
                yield part
        except ApiError as error:
            yield self.failure(error)

    @abstractmethod
    def whole_of(self, choice: dict[str, Any]) -> dict[str, Any]:
        """Give the answer of a choice of a chat completion."""

    @abstractmethod
    def begin(self) -> Iterable[bytes]:
        """Give what comes before anything is written."""

    @abstractmethod
    def parts_of(self, piece: dict[str, Any]) -> Iterable[bytes]:
        """Give what a piece of a chat completion adds."""

    @abstractmethod
    def end(self) -> Iterable[bytes]:
        """Give what comes when everything is written."""

    @abstractmethod
    def failure(self, error: ApiError) -> bytes:
        """Say in a stream what went wrong."""
