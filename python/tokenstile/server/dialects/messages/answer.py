"""Answers of ``/v1/messages``, whole and as a stream of events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic_core import from_json

from tokenstile.server.dialects.writer import DialectWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokenstile.server.errors import ApiError
    from tokenstile.server.preparing import Prepared
    from tokenstile.server.service import Generation

__all__ = ["MessagesWriter", "error_body"]

_REASONS: Final = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


def error_body(error: ApiError) -> dict[str, Any]:
    """Give an error as Anthropic's clients know it, with the fields that say more."""
    own = error.body()["error"]
    kind = _TYPES.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")  # noqa: PLR2004
    return {"type": "error", "error": {**own, "type": kind}}


class MessagesWriter(DialectWriter):
    """Writes a message in blocks."""

    prefix: ClassVar[str] = "msg"

    def __init__(self, generation: Generation, prepared: Prepared, model: str) -> None:
        super().__init__(generation, prepared, model)
        self._num_blocks = 0
        self._open: str | None = None
        """The kind of the block that is being written."""
        self._reason = "stop"

    def _message(
        self, content: list[dict[str, Any]], reason: str | None, output_tokens: int
    ) -> dict[str, Any]:
        return {
            "id": self._id.replace("-", "_"),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": self.generation.num_prompt_tokens, "output_tokens": output_tokens},
        }

    def whole_of(self, choice: dict[str, Any]) -> dict[str, Any]:
        """Give the message of a choice."""
        message, content = choice["message"], []
        if message.get("reasoning_content"):
            content.append({"type": "thinking", "thinking": message["reasoning_content"], "signature": ""})
        if message["content"]:
            content.append({"type": "text", "text": message["content"]})
        content += [_tool_use(call, _input(call)) for call in message.get("tool_calls", [])]
        reason = _REASONS[choice["finish_reason"]]
        return self._message(content, reason, self.generation.num_output_tokens)

    # As a stream.

    def begin(self) -> Iterable[bytes]:
        """Begin the message."""
        message = {**self._message([], None, 0), **self.remarks}
        return [_event({"type": "message_start", "message": message})]

    def parts_of(self, piece: dict[str, Any]) -> Iterator[bytes]:
        """Give the deltas of a piece."""
        delta = piece["delta"]
        if text := delta.get("reasoning_content"):
            yield from self._in_block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            yield self._delta({"type": "thinking_delta", "thinking": text})
        if text := delta.get("content"):
            yield from self._in_block("text", {"type": "text", "text": ""})
            yield self._delta({"type": "text_delta", "text": text})
        for call in delta.get("tool_calls", []):
            if "id" in call:
                yield from self._in_block("tool_use", _tool_use(call, {}), always=True)
            if arguments := call["function"].get("arguments"):
                yield self._delta({"type": "input_json_delta", "partial_json": arguments})
        self._reason = piece.get("finish_reason") or self._reason

    def _in_block(self, kind: str, block: dict[str, Any], *, always: bool = False) -> Iterator[bytes]:
        """See to it that a block of a kind is open."""
        if self._open == kind and not always:
            return
        yield from self._close()
        self._open = kind
        yield _event({"type": "content_block_start", "index": self._num_blocks, "content_block": block})

    def _close(self) -> Iterator[bytes]:
        if self._open is not None:
            yield _event({"type": "content_block_stop", "index": self._num_blocks})
            self._num_blocks += 1
            self._open = None

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event({"type": "content_block_delta", "index": self._num_blocks, "delta": delta})

    def end(self) -> Iterator[bytes]:
        """End the message."""
        yield from self._close()
        delta = {"stop_reason": _REASONS[self._reason], "stop_sequence": None}
        usage = {"output_tokens": self.generation.num_output_tokens}
        yield _event({"type": "message_delta", "delta": delta, "usage": usage})
        yield _event({"type": "message_stop"})

    def failure(self, error: ApiError) -> bytes:
        """Say what went wrong."""
        return _event(error_body(error))


def _tool_use(call: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    name = call["id"].replace("call_", "toolu_", 1)
    return {"type": "tool_use", "id": name, "name": call["function"]["name"], "input": arguments}


def _input(call: dict[str, Any]) -> dict[str, Any]:
    """Read the arguments of a call; one that was cut off has those that came."""
    arguments = call["function"]["arguments"] or "{}"
    found = from_json(arguments, allow_partial=True)
    return found if isinstance(found, dict) else {}


def _event(data: dict[str, Any]) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {data['type']}\ndata: {text}\n\n".encode()
