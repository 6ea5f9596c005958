"""A model behind a server with OpenAI's API: vLLM, SGLang, llama.cpp, Ollama, OpenAI, `tokenstile serve`.

The server is asked to enforce the structure, and its answer is checked against the grammar here, because not every
server does what it is asked. Standard library only.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tokenstile.exceptions import InvalidArgumentError, TokenstileError
from tokenstile.generation.outputs import Answer, OutputError
from tokenstile.generation.sources import messages_of
from tokenstile.generation.tools import ToolsOutput

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from http.client import HTTPResponse

    from tokenstile.generation.outputs import Output
    from tokenstile.generation.sources import Ask

__all__ = ["RemoteModel", "ServerError"]

_MOST_BYTES: Final = 64 << 20
"""The most bytes of an answer: a server may be anybody's."""
_MOST_SHOWN: Final = 500
_SCHEMES: Final = ("http", "https")


class ServerError(TokenstileError, RuntimeError):
    """A server that could not be asked, or that refused.

    What to do: look at the address, the name of the model and the key; the message has what the server said.
    """


@dataclass(frozen=True)
class RemoteModel:
    """A model of a server.

    ``url`` is the root of its API, such as ``http://localhost:8000/v1``. Without a ``name`` the server's only model is
    asked. ``api_key`` is sent where there is one; its default is the environment's ``OPENAI_API_KEY``.
    """

    url: str
    name: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    """Seconds to wait for the next piece of an answer."""

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in _SCHEMES:
            raise InvalidArgumentError(
                f"the address of a server begins with http:// or https://, not {self.url!r}"
            )

    @cached_property
    def _known_name(self) -> str:
        if self.name is not None:
            return self.name
        with self._open("models", None) as response:
            listed = _object(_read(response)).get("data")
        names = [one.get("id") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        if len(names) != 1:
            shown = ", ".join(str(name) for name in names[:20])
            raise InvalidArgumentError(
                f"the server has {len(names)} models ({shown}): name one with RemoteModel(url, name=...)"
            )
        return str(names[0])

    def ask(self, ask: Ask, *, stream: bool) -> RemoteAnswering:
        """Send a request; nothing is read yet."""
        params = ask.params
        body: dict[str, Any] = {
            "model": self._known_name,
            "messages": messages_of(ask),
            "max_tokens": params.max_tokens,
            "temperature": params.temperature,
            "stream": stream,
            **_constraint(ask.output),
        }
        if params.top_p < 1:
            body["top_p"] = params.top_p
        if params.seed is not None:
            body["seed"] = params.seed
        return RemoteAnswering(self._open("chat/completions", body), ask.output, stream=stream)

    def _open(self, path: str, body: dict[str, Any] | None) -> HTTPResponse:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        key = self.api_key or os.environ.get("OPENAI_API_KEY")
        if key:
            headers["Authorization"] = f"Bearer {key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url.rstrip('/')}/{path}", data, headers)  # noqa: S310 - http only
        try:
            response: HTTPResponse = urllib.request.urlopen(request, timeout=self.timeout)  # noqa: S310 - as above
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(_MOST_SHOWN).decode(errors="replace")
            raise ServerError(f"{request.full_url} answered {error.code}: {said}") from error
        except OSError as error:
            raise ServerError(f"{request.full_url} cannot be reached: {error}") from error
        return response


def _constraint(output: Output) -> dict[str, Any]:
    """Say in a request what the answer is held to."""
    if isinstance(output, ToolsOutput):
        return {
            "tools": output.tools,
            "tool_choice": "required",
            "parallel_tool_calls": output.is_parallel,
        }
    if output.structure is None:
        return {}
    if output.schema is not None:
        schema = {"name": "answer", "schema": output.schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    kind, text = output.structure.key
    value: object = json.loads(text) if kind.value == "choice" else text
    return {"structured_outputs": {kind.value: value}}


class RemoteAnswering:
    """An answer of a server."""

    def __init__(self, response: HTTPResponse, output: Output, *, stream: bool) -> None:
        self._response = response
        self._output = output
        self._stream = stream

    def result(self) -> Answer:
        if self._stream:
            *_, answer = self.parts()
            return answer
        with self._response:
            choice = _choice(_object(_read(self._response)))
        message = choice.get("message")
        answer = _answer(message if isinstance(message, dict) else {})
        return self._checked(answer, choice.get("finish_reason"))

    async def result_async(self) -> Answer:
        return await asyncio.to_thread(self.result)

    def parts(self) -> Iterator[Answer]:
        text, calls, reason = "", list[list[str]](), None
        with self._response:
            for event in _events(self._response):
                choice = _choice(event)
                reason = choice.get("finish_reason") or reason
                delta = choice.get("delta")
                if not isinstance(delta, dict):
                    continue
                text += delta.get("content") or ""
                _add_calls(calls, delta.get("tool_calls") or [])
                if delta.get("content") or delta.get("tool_calls"):
                    yield Answer(text, tuple((name, arguments) for name, arguments in calls))
        yield self._checked(Answer(text, tuple((name, arguments) for name, arguments in calls)), reason)

    async def parts_async(self) -> AsyncIterator[Answer]:
        parts = self.parts()
        try:
            while (answer := await asyncio.to_thread(next, parts, None)) is not None:
                yield answer
        finally:
            self.cancel()

    def cancel(self) -> None:
        self._response.close()

    def _checked(self, answer: Answer, reason: object) -> Answer:
        if self._output.structure is not None and reason == "length":
            raise OutputError("the server cut its answer off: max_tokens was reached", answer.text)
        self._output.check(answer)
        return answer


def _read(response: HTTPResponse) -> bytes:
    try:
        data = response.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ServerError(f"{response.url} broke off: {error}") from error
    if len(data) > _MOST_BYTES:
        raise ServerError(f"{response.url} answered with more than {_MOST_BYTES} bytes")
    return data


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        shown = data[:_MOST_SHOWN].decode(errors="replace")
        raise ServerError(f"the server's answer is no JSON: {shown!r}") from error
    if not isinstance(value, dict):
        raise ServerError("the server's answer is no JSON object")
    if value.get("error"):
        raise ServerError(f"the server says: {json.dumps(value['error'])[:_MOST_SHOWN]}")
    return value


def _events(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    """Read the events of a stream."""
    total = 0
    while True:
        try:
            line = response.readline(_MOST_BYTES)
        except OSError as error:
            raise ServerError(f"{response.url} broke off: {error}") from error
        total += len(line)
        if total > _MOST_BYTES:
            raise ServerError(f"{response.url} answered with more than {_MOST_BYTES} bytes")
        if not line:
            raise ServerError(f"{response.url} broke off before the end of its answer")
        name, _, data = line.partition(b":")
        if name != b"data":
            continue
        if data.strip() == b"[DONE]":
            return
        yield _object(data)


def _choice(event: dict[str, Any]) -> dict[str, Any]:
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, dict) else {}


def _answer(message: dict[str, Any]) -> Answer:
    calls: list[list[str]] = []
    _add_calls(calls, message.get("tool_calls") or [])
    content = message.get("content")
    return Answer(content if isinstance(content, str) else "", tuple((name, text) for name, text in calls))


def _add_calls(calls: list[list[str]], pieces: object) -> None:
    """Add what came of calls: a name begins one, arguments go to the call of their index, or to the last."""
    for at, piece in enumerate(pieces if isinstance(pieces, list) else []):
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(function, dict):
            continue
        index = piece.get("index", at if function.get("name") else len(calls) - 1)
        if not isinstance(index, int) or not 0 <= index <= len(calls):
            raise ServerError(f"the server numbers its calls wrongly: {index!r}")
        if index == len(calls):
            calls.append(["", ""])
        calls[index][0] += function.get("name") or ""
        calls[index][1] += function.get("arguments") or ""
