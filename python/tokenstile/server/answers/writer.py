"""What both kinds of answers share: their frame, their usage, and how they are put together or streamed.

A writer turns the chunks of the engine into pieces of choices, and says how pieces make a whole choice. So a stream and
a whole answer come from the same pieces, and cannot differ.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from tokenstile.engine import FinishReason
from tokenstile.server.errors import ApiError
from tokenstile.server.structure import not_enforced

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable

    from tokenstile.engine import Chunk
    from tokenstile.server.api.common import GenerationFields
    from tokenstile.server.preparing import Prepared
    from tokenstile.server.service import Generation

__all__ = ["AnswerWriter", "end_of", "event", "finish_reason"]


def finish_reason(chunk: Chunk) -> str | None:
    """Give the word for why an output ended."""
    if chunk.finish_reason is None:
        return None
    return "length" if chunk.finish_reason is FinishReason.LENGTH else "stop"


def end_of(chunk: Chunk) -> dict[str, Any]:
    """Give the fields of a choice that say why its output ended: OpenAI's, and in words why it is not complete."""
    reason = finish_reason(chunk)
    return {"finish_reason": reason, **({"length_reason": chunk.length_reason} if reason == "length" else {})}


class AnswerWriter(ABC):
    """Writes the answer to one request."""

    prefix: ClassVar[str]
    """What the ids of answers begin with."""
    whole: ClassVar[str]
    """What a whole answer is called."""
    media_type: ClassVar[str] = "text/event-stream"
    """The kind of a stream."""
    part: ClassVar[str]
    """What an event of a stream is called."""

    def __init__(self, generation: Generation, prepared: Prepared, model: str) -> None:
        self.generation = generation
        self.request: GenerationFields = prepared.request
        self.model = model
        self._id = f"{self.prefix}-{uuid.uuid4().hex}"
        self._created = int(time.time())
        unenforced = not_enforced(prepared.structure)
        self.remarks: dict[str, Any] = {
            **({"warnings": prepared.warnings} if prepared.warnings else {}),
            **({"not_enforced": unenforced} if unenforced else {}),
        }
        """What of the request was not done; fields of the answer, where there is any."""

    # What kinds of answers differ in.

    @abstractmethod
    def opening(self) -> Iterable[dict[str, Any]]:
        """Give the pieces that come before anything is written."""

    @abstractmethod
    def pieces(self, at: int, chunk: Chunk) -> Iterable[dict[str, Any]]:
        """Give the pieces of choices that a chunk of an output means."""

    @abstractmethod
    def choice(self, at: int, pieces: list[dict[str, Any]]) -> dict[str, Any]:
        """Put the pieces of a choice together."""

    # What they share.

    def usage(self) -> dict[str, Any]:
        """Count the tokens."""
        prompt, output = self.generation.num_prompt_tokens, self.generation.num_output_tokens
        return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}

    def _frame(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self.model}

    async def answer(self) -> dict[str, Any]:
        """Wait for all outputs, and give the whole answer."""
        pieces: dict[int, list[dict[str, Any]]] = {at: [] for at in range(len(self.generation.requests))}
        async with contextlib.aclosing(self.all_pieces()) as found:
            async for piece in found:
                pieces[piece["index"]].append(piece)
        choices = [self.choice(at, own) for at, own in pieces.items()]
        return {**self._frame(self.whole), "choices": choices, "usage": self.usage(), **self.remarks}

    async def all_pieces(self) -> AsyncGenerator[dict[str, Any]]:
        """Give the pieces of all choices, in the order in which the engine makes them."""
        async with contextlib.aclosing(self.generation.events()) as events:
            async for at, chunk in events:
                for piece in self.pieces(at, chunk):
                    yield piece

    async def stream(self) -> AsyncIterator[bytes]:
        """Give the answer as server-sent events. What goes wrong on the way is an event too."""
        options = self.request.stream_options
        with_usage = options is not None and options.include_usage
        frame = {**self._frame(self.part), **({"usage": None} if with_usage else {})}
        remarks = self.remarks
        try:
            async with contextlib.aclosing(self.all_pieces()) as pieces:
                for piece in self.opening():
                    yield event({**frame, "choices": [piece], **remarks})
                    remarks = {}
                async for piece in pieces:
                    yield event({**frame, "choices": [piece], **remarks})
                    remarks = {}
        except ApiError as error:
            yield event(error.body())
        else:
            if with_usage:
                yield event({**frame, "choices": [], "usage": self.usage()})
        yield b"data: [DONE]\n\n"


def event(data: dict[str, Any]) -> bytes:
    """Write an event of a stream."""
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
