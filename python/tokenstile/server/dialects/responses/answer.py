"""Answers of ``/v1/responses``, whole and as a stream of events."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, ClassVar

from tokenstile.server.dialects.writer import DialectWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokenstile.server.dialects.responses.request import ResponsesRequest
    from tokenstile.server.errors import ApiError
    from tokenstile.server.preparing import Prepared
    from tokenstile.server.service import Generation

__all__ = ["ResponsesWriter"]


class ResponsesWriter(DialectWriter):
    """Writes a response: a list of items, each a thought, a message or a call."""

    prefix: ClassVar[str] = "resp"

    def __init__(self, generation: Generation, prepared: Prepared, model: str) -> None:
        super().__init__(generation, prepared, model)
        self._items: list[dict[str, Any]] = []
        """What was written; the last one may be under way."""
        self._is_open = False
        self._number = 0
        self._reason = "stop"

    def whole_of(self, choice: dict[str, Any]) -> dict[str, Any]:
        """Give the response of a choice."""
        message, items = choice["message"], []
        if message.get("reasoning_content"):
            items.append(_thought(message["reasoning_content"]))
        if message["content"]:
            items.append(_message(message["content"]))
        items += [
            _call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", [])
        ]
        return self._response(items, choice["finish_reason"])

    def _response(self, items: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
        asked: ResponsesRequest = self.source
        chat: Any = self.request
        is_cut = reason == "length"
        prompt, output = self.generation.num_prompt_tokens, self.generation.num_output_tokens
        usage = {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + output,
        }
        format_ = asked.text.format if asked.text else None
        return {
            "id": self._id.replace("-", "_"),
            "object": "response",
            "created_at": self._created,
            "status": "in_progress" if reason is None else "incomplete" if is_cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "instructions": asked.instructions,
            "max_output_tokens": asked.max_output_tokens,
            "metadata": asked.metadata or {},
            "model": self.model,
            "output": items,
            "parallel_tool_calls": chat.parallel_tool_calls,
            "previous_response_id": None,
            "reasoning": {"effort": asked.reasoning.effort if asked.reasoning else None, "summary": None},
            "store": False,
            "temperature": chat.temperature,
            "text": {"format": format_.model_dump(by_alias=True) if format_ else {"type": "text"}},
            "tool_choice": asked.tool_choice or "auto",
            "tools": [tool.model_dump() for tool in asked.tools or []],
            "top_p": chat.top_p,
            "truncation": "disabled",
            "usage": None if reason is None else usage,
        }

    # As a stream.

    def begin(self) -> Iterable[bytes]:
        """Begin the response."""
        begun = {**self._response([], None), **self.remarks}
        return [self._event(f"response.{kind}", response=begun) for kind in ("created", "in_progress")]

    def parts_of(self, piece: dict[str, Any]) -> Iterator[bytes]:
        """Give the deltas of a piece."""
        delta = piece["delta"]
        if text := delta.get("reasoning_content"):
            if not self._writes("reasoning"):
                yield from self._begin_item(_thought(""))
            self._items[-1]["content"][0]["text"] += text
            yield self._part_event("response.reasoning_text.delta", delta=text)
        if text := delta.get("content"):
            if not self._writes("message"):
                yield from self._begin_item(_message(""))
            self._items[-1]["content"][0]["text"] += text
            yield self._part_event("response.output_text.delta", delta=text, logprobs=[])
        for call in delta.get("tool_calls", []):
            if "id" in call:
                yield from self._begin_item(_call(call["id"], call["function"]["name"], ""))
            if arguments := call["function"].get("arguments"):
                self._items[-1]["arguments"] += arguments
                yield self._item_event("response.function_call_arguments.delta", delta=arguments)
        self._reason = piece.get("finish_reason") or self._reason

    def _writes(self, kind: str) -> bool:
        return self._is_open and self._items[-1]["type"] == kind

    def _begin_item(self, item: dict[str, Any]) -> Iterator[bytes]:
        yield from self._end_item()
        self._items.append(item)
        self._is_open = True
        begun = {**item, "status": "in_progress", **({"content": []} if "content" in item else {})}
        yield self._event("response.output_item.added", output_index=len(self._items) - 1, item=begun)
        if "content" in item:
            yield self._part_event("response.content_part.added", part=item["content"][0])

    def _end_item(self) -> Iterator[bytes]:
        if not self._is_open:
            return
        item = self._items[-1]
        self._is_open = False
        if item["type"] == "function_call":
            item["arguments"] = item["arguments"].strip()
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield self._item_event("response.function_call_arguments.done", **done)
        else:
            part = item["content"][0]
            kind = "reasoning_text" if item["type"] == "reasoning" else "output_text"
            more: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
            yield self._part_event(f"response.{kind}.done", text=part["text"], **more)
            yield self._part_event("response.content_part.done", part=part)
        yield self._event("response.output_item.done", output_index=len(self._items) - 1, item=item)

    def end(self) -> Iterator[bytes]:
        """End the response."""
        yield from self._end_item()
        kind = "incomplete" if self._reason == "length" else "completed"
        whole = {**self._response(self._items, self._reason), **self.remarks}
        yield self._event(f"response.{kind}", response=whole)

    def failure(self, error: ApiError) -> bytes:
        """Say what went wrong."""
        own = error.body()["error"]
        return self._event("error", **{**own, "code": own["code"] or own["type"]})

    def _item_event(self, kind: str, **more: Any) -> bytes:  # noqa: ANN401 - fields
        at = len(self._items) - 1
        return self._event(kind, item_id=self._items[at]["id"], output_index=at, **more)

    def _part_event(self, kind: str, **more: Any) -> bytes:  # noqa: ANN401 - fields
        return self._item_event(kind, content_index=0, **more)

    def _event(self, kind: str, **fields: Any) -> bytes:  # noqa: ANN401 - fields
        data = {**fields, "type": kind, "sequence_number": self._number}
        self._number += 1
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return f"event: {kind}\ndata: {text}\n\n".encode()


def _message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    own = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "status": "completed"}
    return {**own, "content": [part]}


def _thought(text: str) -> dict[str, Any]:
    part = {"type": "reasoning_text", "text": text}
    own = {"id": f"rs_{uuid.uuid4().hex}", "type": "reasoning", "status": "completed", "summary": []}
    return {**own, "content": [part]}


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    own = {"id": f"fc_{uuid.uuid4().hex}", "type": "function_call", "status": "completed"}
    return {**own, "call_id": call_id, "name": name, "arguments": arguments}
