"""Telling thoughts from answers, for what a request is about to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenstile.engine.request import GenerationRequest

__all__ = ["Thoughts"]


class Thoughts:
    """Follows the next tokens of a request and tells thoughts from the answer; the request itself does not move."""

    def __init__(self, request: GenerationRequest) -> None:
        structured: Any = request.structured
        self._gate = structured.gate
        self._position = structured.position
        self._info = structured.tokenizer.info

    @property
    def thinking(self) -> bool:
        """Whether a thought is under way."""
        return self._position is not None and self._position.thinking

    def split(self, token: int) -> tuple[bytes, bytes]:
        """Go on by a token, and give its bytes: those of the answer, and those of a thought."""
        data: bytes = self._info.token_bytes(token)
        if self._gate is None:
            return data, b""
        self._position, answer = self._gate.step(self._position, token)
        if answer is None:
            return b"", data
        if isinstance(answer, bytes):
            return answer, data[: len(data) - len(answer)]
        return data, b""
