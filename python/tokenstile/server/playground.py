"""The playground: a page, and the one thing that it asks the server for beside OpenAI's API."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tokenstile.exceptions import TokenstileError
from tokenstile.server.api.common import Strict
from tokenstile.server.errors import ApiError, grammar_error
from tokenstile.server.inspecting import Inspector
from tokenstile.server.reading import read_body
from tokenstile.structured_output import StructuredOutputsParams

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from tokenstile._core import CompiledGrammar
    from tokenstile.server.service import Service
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["playground_routes"]

_STATIC: Final = Path(__file__).with_name("static")


class InspectRequest(Strict):
    """A text under a grammar."""

    kind: Literal["json", "regex", "grammar", "lark", "choice", "structural_tag"]
    grammar: str
    compact: bool = False
    """Whether JSON has no white space between its parts."""
    spelling: Literal["canonical", "any"] | None = None
    """How values of JSON are written; as the server has it without it."""
    text: str = ""
    tokens: list[int] | None = None
    """The tokens of the text, where they are known; otherwise it is cut into tokens as a prompt is."""
    cursor: int = Field(0, ge=0)
    """Where the cursor is, in bytes of the text."""


def playground_routes(service: Service) -> list[BaseRoute]:
    """Give the routes of the page."""

    async def page(_: Request) -> Response:
        return FileResponse(_STATIC / "index.html")

    async def inspect(request: Request) -> Response:
        asked = read_body(InspectRequest, await request.body())
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(service.side_threads, _inspect, service, asked)
        return JSONResponse(answer)

    return [
        Route("/", page),
        Route("/playground/inspect", inspect, methods=["POST"]),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]


def _inspect(service: Service, asked: InspectRequest) -> dict[str, Any]:
    info = service.engine.model.tokenizer_info
    tokens = _tokens(service, asked)
    if len(tokens) > service.config.max_inspected_tokens:
        text = (
            f"the text has {len(tokens)} tokens, and {service.config.max_inspected_tokens} can be looked at"
        )
        raise ApiError(400, text, code="limit_exceeded", param="text")
    params = _params(service, asked)
    beside_escapes = asked.kind == "json" and params.chosen_spelling == "any"
    inspector = Inspector(_compile(service, params), info, beside_escapes=beside_escapes)
    return inspector.inspect(tokens, _place(info, tokens, asked.cursor))


def _tokens(service: Service, asked: InspectRequest) -> list[int]:
    model = service.engine.model
    if asked.tokens is not None:
        size = model.tokenizer_info.vocab_size
        if not all(0 <= token < size for token in asked.tokens):
            raise ApiError(400, f"tokens are from 0 to {size - 1}", code="invalid_value", param="tokens")
        return asked.tokens
    return model.encode(asked.text) if asked.text else []


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


def _compile(service: Service, params: StructuredOutputsParams) -> CompiledGrammar:
    try:
        request = service.engine.manager.grammar_init(
            f"inspect-{id(params)}", params, backend=service.closed_backend, reasoning=False
        )
        try:
            grammar = request.result()
        finally:
            service.engine.manager.release(request.request_id)
    except (TokenstileError, TypeError) as error:
        raise grammar_error(error, "grammar") from error
    compiled: CompiledGrammar = grammar.matcher.compiled_grammar  # type: ignore[union-attr] # tokenstile's own
    return compiled
