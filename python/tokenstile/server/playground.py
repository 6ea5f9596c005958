"""The playground: a page, and the one thing that it asks the server for beside OpenAI's API."""

from __future__ import annotations

import json
import time
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tokenstile.exceptions import TokenstileError
from tokenstile.server.api.bounds import Many, TokenId  # noqa: TC001 - pydantic reads them
from tokenstile.server.api.common import Strict
from tokenstile.server.clients import client_of
from tokenstile.server.errors import ApiError, grammar_error
from tokenstile.server.gone import unless_gone
from tokenstile.server.inspecting import Inspector
from tokenstile.server.reading import read_body
from tokenstile.structured_output import StructuredOutputsParams

if TYPE_CHECKING:
    from collections.abc import Hashable

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from tokenstile._core import CompiledGrammar
    from tokenstile.server.service import Service
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["playground_routes"]

_STATIC: Final = Path(__file__).with_name("static")


class InspectRequest(Strict):
    """A text under a grammar."""

    kind: Literal["json", "regex", "grammar", "lark", "choice", "structural_tag", "all_of", "any_of", "then"]
    grammar: str
    compact: bool = False
    """Whether JSON has no white space between its parts."""
    spelling: Literal["canonical", "any"] | None = None
    """How values of JSON are written; as the server has it without it."""
    text: str = ""
    tokens: Many[TokenId] | None = None
    """The tokens of the text, where they are known; otherwise it is cut into tokens as a prompt is."""
    cursor: int = Field(0, ge=0, lt=1 << 31)
    """Where the cursor is, in bytes of the text."""


def playground_routes(service: Service) -> list[BaseRoute]:
    """Give the routes of the page."""

    async def page(_: Request) -> Response:
        return FileResponse(_STATIC / "index.html")

    async def inspect(request: Request) -> Response:
        body, client = await request.body(), client_of(request.scope)
        return await unless_gone(request, _inspect(service, body, client))

    return [
        Route("/", page),
        Route("/playground/inspect", inspect, methods=["POST"]),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]


async def _inspect(service: Service, body: bytes, client: Hashable) -> Response:
    """Answer a request: read it, cut its text into tokens, compile its grammar and look at them, each in its place."""
    read = partial(read_body, InspectRequest, body, service.config.max_body_values)
    asked = await service.readers.run(client, read)
    tokens = await _tokens(service, asked, client)
    params = await service.readers.run(client, partial(_params, service, asked))
    compiled = await _compile(service, params, client)
    look = partial(_look, service, asked, params, compiled, tokens)
    return Response(await service.side_threads.run(client, look), media_type="application/json")


def _look(
    service: Service,
    asked: InspectRequest,
    params: StructuredOutputsParams,
    compiled: CompiledGrammar,
    tokens: list[int],
) -> bytes:
    info, seconds = service.engine.model.tokenizer_info, service.config.inspect_timeout
    beside_escapes = asked.kind == "json" and params.chosen_spelling == "any"
    inspector = Inspector(compiled, info, beside_escapes=beside_escapes)
    try:
        told = inspector.inspect(tokens, _place(info, tokens, asked.cursor), time.monotonic() + seconds)
    except TimeoutError:
        text = f"the text was not looked at within {seconds:g} seconds; make it shorter"
        raise ApiError(504, text, code="timeout", param="text") from None
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


async def _tokens(service: Service, asked: InspectRequest, client: Hashable) -> list[int]:
    size, most = service.engine.model.tokenizer_info.vocab_size, service.config.max_inspected_tokens
    tokens = asked.tokens
    if tokens is None:
        tokens = await service.prompts.encode(asked.text, client, "text", most) if asked.text else []
    elif not all(0 <= token < size for token in tokens):
        raise ApiError(400, f"tokens are from 0 to {size - 1}", code="invalid_value", param="tokens")
    if len(tokens) > most:
        text = f"the text has {len(tokens)} tokens, and {most} can be looked at"
        raise ApiError(400, text, code="limit_exceeded", param="text")
    return tokens


def _place(info: TokenizerInfo, tokens: list[int], cursor: int) -> int:
    """Count the tokens before the cursor; inside of a token it is before it."""
    end = 0
    for at, token in enumerate(tokens):
        end += len(info.token_bytes(token) or b"")
        if end > cursor:
            return at
    return len(tokens)


def _params(service: Service, asked: InspectRequest) -> StructuredOutputsParams:
    given: dict[str, Any] = {asked.kind: asked.grammar}
    if asked.kind == "choice":
        given = {"choice": [line for line in asked.grammar.splitlines() if line]}
    try:
        return StructuredOutputsParams(
            **given,
            disable_any_whitespace=asked.compact,
            spelling=asked.spelling or service.config.spelling,
        )
    except (TokenstileError, TypeError) as error:
        raise grammar_error(error, "grammar") from error


async def _compile(service: Service, params: StructuredOutputsParams, client: Hashable) -> CompiledGrammar:
    manager = service.engine.manager
    begin = partial(
        manager.grammar_init,
        f"inspect-{uuid.uuid4().hex}",
        params,
        backend=service.closed_backend,
        reasoning=False,
        timeout=service.config.inspect_timeout,
        client=client,
    )
    try:
        request = await service.readers.run(client, begin)
        try:
            grammar = await request
        finally:
            manager.release(request.request_id)
    except (TokenstileError, TypeError) as error:
        service.check_open()
        raise grammar_error(error, "grammar") from error
    compiled: CompiledGrammar = grammar.matcher.compiled_grammar  # type: ignore[union-attr] # tokenstile's own
    return compiled
