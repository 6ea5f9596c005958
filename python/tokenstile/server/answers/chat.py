"""Answers of ``/v1/chat/completions``."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, ClassVar, cast

from tokenstile.server.answers.tokens import TokenView
from tokenstile.server.answers.writer import AnswerWriter, end_of
from tokenstile.tool_calling.reading import CallBegin, CallPiece, canonical_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokenstile.engine import Chunk
    from tokenstile.server.api.chat import ChatRequest
    from tokenstile.server.preparing import Prepared
    from tokenstile.server.service import Generation
    from tokenstile.tool_calling.reading import Piece

__all__ = ["ChatWriter", "whole_calls"]


class ChatWriter(AnswerWriter):
    """Writes messages."""

    prefix: ClassVar[str] = "chatcmpl"
    whole: ClassVar[str] = "chat.completion"
    part: ClassVar[str] = "chat.completion.chunk"

    def __init__(self, generation: Generation, prepared: Prepared, model: str) -> None:
        super().__init__(generation, prepared, model)
        request = cast("ChatRequest", prepared.request)
        info = generation.service.engine.model.tokenizer_info
        self._outputs = [_Output(request, TokenView(each, info), generation) for each in generation.requests]

    def opening(self) -> Iterable[dict[str, Any]]:
        """Say whose message it is."""
        for at in range(len(self._outputs)):
            yield _choice(at, {"role": "assistant", "content": ""})

    def pieces(self, at: int, chunk: Chunk) -> Iterable[dict[str, Any]]:
        """Give what a chunk adds to a message."""
        return self._outputs[at].pieces(at, chunk)

    def choice(self, at: int, pieces: list[dict[str, Any]]) -> dict[str, Any]:
        """Put a message together."""
        deltas = [piece["delta"] for piece in pieces]
        content = "".join(delta.get("content", "") for delta in deltas)
        calls = whole_calls([call for delta in deltas for call in delta.get("tool_calls", [])])
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        if calls:
            message.update(content=content or None, tool_calls=calls)
        reasoning = "".join(delta.get("reasoning_content", "") for delta in deltas)
        if reasoning:
            message["reasoning_content"] = reasoning
        whole = {"index": at, "message": message, "logprobs": _whole_logprobs(pieces)}
        if any("token_ids" in piece for piece in pieces):
            whole["token_ids"] = [token for piece in pieces for token in piece.get("token_ids", [])]
        ends = ("finish_reason", "length_reason")
        return {**whole, **{name: pieces[-1][name] for name in ends if name in pieces[-1]}}


def _choice(at: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": at, "delta": delta, "logprobs": None, "finish_reason": None}


def whole_calls(pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the pieces of calls together."""
    calls: list[dict[str, Any]] = []
    for piece in pieces:
        if "id" in piece:
            calls.append({"id": piece["id"], "type": "function", "function": {**piece["function"]}})
        else:
            calls[-1]["function"]["arguments"] += piece["function"]["arguments"]
    for call in calls:
        call["function"]["arguments"] = call["function"]["arguments"].strip()
    return calls


def _whole_logprobs(pieces: list[dict[str, Any]]) -> dict[str, Any] | None:
    noted = [piece["logprobs"] for piece in pieces if piece["logprobs"] is not None]
    if not noted:
        return None
    return {"content": [entry for each in noted for entry in each["content"]], "refusal": None}


class _Output:
    """One message on its way."""

    def __init__(self, request: ChatRequest, tokens: TokenView, generation: Generation) -> None:
        self._request = request
        self._tokens = tokens
        structured = generation.structure.request
        self._reader = None
        if structured is not None:
            self._reader = generation.service.tool_format.reader(structured.tools or [])
        self._num_calls = 0
        self._calls: set[tuple[str, str]] = set()
        """What has been called, to know it again."""
        self._name: str | None = None
        """The name of the call that is under way."""
        self._arguments = ""
        self._is_sent = False
        """Whether that call goes to the client as it comes."""
        self._blank = ""
        """White space that is text only if text comes after it: between calls it is none."""

    def pieces(self, at: int, chunk: Chunk) -> Iterator[dict[str, Any]]:
        deltas: list[dict[str, Any]] = []
        if chunk.reasoning:
            deltas.append({"reasoning_content": chunk.reasoning})
        deltas += self._text_deltas(chunk)
        end = end_of(chunk)
        reason = end["finish_reason"]
        if reason == "stop" and self._num_calls:
            end["finish_reason"] = "tool_calls"
        # What is said of the tokens goes with the first of the pieces.
        extra = self._of_tokens(chunk) if deltas or reason else {}
        for delta in deltas:
            yield {**_choice(at, delta), **extra}
            extra = {}
        if reason is not None:
            yield {**_choice(at, {}), **end, **extra}

    def _text_deltas(self, chunk: Chunk) -> list[dict[str, Any]]:
        if self._reader is None:
            return [{"content": chunk.text}] if chunk.text else []
        final = chunk.finish_reason is not None
        deltas = [
            delta for piece in self._reader.push(chunk.text, final=final) for delta in self._deltas(piece)
        ]
        if final:
            deltas += self._end_call()
        if final and self._blank and not self._num_calls:
            deltas.append({"content": self._blank})
        return deltas

    def _deltas(self, piece: Piece) -> list[dict[str, Any]]:
        if isinstance(piece, CallPiece):
            self._arguments += piece.arguments
            return [self._call_delta({"function": {"arguments": piece.arguments}})] if self._is_sent else []
        deltas = self._end_call()
        if isinstance(piece, CallBegin):
            self._blank = ""
            self._name, self._arguments = piece.name, ""
            # The first call goes out as it comes. A later one may be equal to one before, as small models repeat them.
            self._is_sent = not self._calls
            return [*deltas, self._begin_call()] if self._is_sent else deltas
        text = self._blank + piece.text
        self._blank = text[len(text.rstrip()) :]
        text = text.rstrip()
        return [*deltas, {"content": text}] if text else deltas

    def _begin_call(self) -> dict[str, Any]:
        self._num_calls += 1
        call = {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function"}
        return self._call_delta({**call, "function": {"name": self._name, "arguments": ""}})

    def _end_call(self) -> list[dict[str, Any]]:
        """End the call that is under way; one that is equal to another is left out."""
        if self._name is None:
            return []
        call, deltas = (self._name, canonical_arguments(self._arguments)), []
        if not self._is_sent and call not in self._calls:
            deltas = [self._begin_call(), self._call_delta({"function": {"arguments": self._arguments}})]
        self._calls.add(call)
        self._name = None
        return deltas

    def _call_delta(self, call: dict[str, Any]) -> dict[str, Any]:
        return {"tool_calls": [{"index": self._num_calls - 1, **call}]}

    def _of_tokens(self, chunk: Chunk) -> dict[str, Any]:
        """Give the ids and probabilities of the tokens that have come."""
        if not self._request.logprobs and not self._request.return_token_ids:
            return {}
        places = self._tokens.take(chunk.num_tokens)
        extra: dict[str, Any] = {}
        if self._request.logprobs:
            extra["logprobs"] = self._tokens.chat_logprobs(places)
        if self._request.return_token_ids:
            extra["token_ids"] = self._tokens.ids(places)
        return extra
