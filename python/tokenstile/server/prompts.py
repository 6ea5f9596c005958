"""From prompts to tokens: measured in bytes first, then cut into tokens on threads of their own.

To cut a text into tokens takes time in proportion to its bytes, and cannot be stopped. So what is certainly too long
for the model is refused before: no text has tokens of so many bytes on average.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from tokenstile.exceptions import TokenstileError
from tokenstile.server.errors import ApiError, grammar_error
from tokenstile.server.fair_threads import FairThreads

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tokenstile.engine.models import Model

__all__ = ["Prompts"]

_BYTES_PER_TOKEN: Final = 32
_THREADS: Final = 2


class Prompts:
    """Cuts texts into tokens."""

    def __init__(self, model: Model, max_bytes: int | None = None) -> None:
        self._model = model
        self._max_bytes = max_bytes
        self._threads = FairThreads(_THREADS, "encode")

    async def encode(self, text: str, client: Hashable, param: str, room: int | None = None) -> list[int]:
        """Give the tokens of a text; raises `ApiError` where it is none, or too long for so many tokens.

        Without ``room`` there is what the model has.
        """
        self._check(text, param, room or self._model.max_length)
        try:
            return await self._threads.run(client, partial(self._model.encode, text))
        except TokenstileError as error:
            raise grammar_error(error, param) from error

    def _check(self, text: str, param: str, room: int) -> None:
        most = self._max_bytes or _BYTES_PER_TOKEN * room
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            message = (
                f"Invalid {param}: it has half a surrogate pair at {error.start}, which no text can hold"
            )
            raise ApiError(400, message, code="invalid_value", param=param) from error
        if size > most:
            message = (
                f"Invalid {param}: it has {size} bytes, and may have {most}; there is room for {room} tokens"
            )
            raise ApiError(400, message, code="limit_exceeded", param=param)

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.close()
