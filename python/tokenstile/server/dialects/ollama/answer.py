"""Answers of ``/api/chat`` and ``/api/generate``: JSON, a line for each piece of a stream."""

from __future__ import annotations

import datetime as dt
import json
import time
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic_core import from_json

from tokenstile.server.answers.chat import whole_calls
from tokenstile.server.dialects.ollama.request import GenerateRequest
from tokenstile.server.dialects.writer import DialectWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokenstile.server.errors import ApiError
    from tokenstile.server.preparing import Prepared
    from tokenstile.server.service import Generation

__all__ = ["OllamaWriter", "error_body", "now"]


def now() -> str:
    """Give the time as Ollama writes it."""
    return dt.datetime.now(tz=dt.UTC).isoformat().replace("+00:00", "Z")


def error_body(error: ApiError) -> dict[str, Any]:
    """Give an error as Ollama's clients know it, with the fields that say more."""
    own = error.body()["error"]
    return {"error": own.pop("message"), "details": own}


class OllamaWriter(DialectWriter):
    """Writes a message, or a text."""

    media_type: ClassVar[str] = "application/x-ndjson"

    def __init__(self, generation: Generation, prepared: Prepared, model: str) -> None:
        super().__init__(generation, prepared, model)
        self._is_text = isinstance(self.source, GenerateRequest)
        self._calls: list[dict[str, Any]] = []
        self._reason = "stop"

    def _line(self, content: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields
        written: dict[str, Any] = {"model": self.model, "created_at": now()}
        if self._is_text:
            own = {"response": content, **({"thinking": more["thinking"]} if "thinking" in more else {})}
            return {**written, **own, "done": False}
        return {**written, "message": {"role": "assistant", "content": content, **more}, "done": False}

    def _totals(self, reason: str) -> dict[str, Any]:
        """Give what the last line has: why it ended, and counts; times are in nanoseconds."""
        begun = self.generation.requests[0].begun_at or self.generation.asked_at
        waited = round((begun - self.generation.asked_at) * 1e9)
        written = round((time.monotonic() - begun) * 1e9)
        return {
            "done": True,
            "done_reason": "length" if reason == "length" else "stop",
            "total_duration": waited + written,
            "load_duration": waited,
            "prompt_eval_count": self.generation.num_prompt_tokens,
            "prompt_eval_duration": 0,
            "eval_count": self.generation.num_output_tokens,
            "eval_duration": written,
        }

    def whole_of(self, choice: dict[str, Any]) -> dict[str, Any]:
        """Give the answer of a choice."""
        message = choice["message"]
        more: dict[str, Any] = {}
        if message.get("reasoning_content"):
            more["thinking"] = message["reasoning_content"]
        if message.get("tool_calls"):
            more["tool_calls"] = [_call(call) for call in message["tool_calls"]]
        return {**self._line(message["content"] or "", **more), **self._totals(choice["finish_reason"])}

    # As a stream.

    def begin(self) -> Iterable[bytes]:
        """Nothing: an answer begins with its first piece."""
        return ()

    def parts_of(self, piece: dict[str, Any]) -> Iterator[bytes]:
        """Give the line of a piece. Calls are given whole, as Ollama gives them."""
        delta = piece["delta"]
        if delta.get("reasoning_content"):
            yield _encoded(self._line("", thinking=delta["reasoning_content"]))
        if delta.get("content"):
            yield _encoded(self._line(delta["content"]))
        self._calls += delta.get("tool_calls", [])
        self._reason = piece.get("finish_reason") or self._reason

    def end(self) -> Iterator[bytes]:
        """Give the calls, and the line that says that this is the end."""
        if self._calls:
            yield _encoded(self._line("", tool_calls=[_call(call) for call in whole_calls(self._calls)]))
        yield _encoded({**self._line(""), **self._totals(self._reason), **self.remarks})

    def failure(self, error: ApiError) -> bytes:
        """Say what went wrong."""
        return _encoded(error_body(error))


def _call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = from_json(call["function"]["arguments"] or "{}", allow_partial=True)
    return {"function": {"name": call["function"]["name"], "arguments": arguments}}


def _encoded(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
