"""The application: which path is answered by what."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from tokenstile import __version__
from tokenstile.server.answers.chat import ChatWriter
from tokenstile.server.answers.completion import CompletionWriter
from tokenstile.server.chat_template import ChatTemplate
from tokenstile.server.clients import client_of
from tokenstile.server.config import ServerConfig
from tokenstile.server.dialects.errors import error_response
from tokenstile.server.dialects.routes import PATHS, dialect_routes
from tokenstile.server.errors import ApiError
from tokenstile.server.gone import unless_gone
from tokenstile.server.guard import Guard
from tokenstile.server.playground import playground_routes
from tokenstile.server.preparing import prepare_chat, prepare_completion
from tokenstile.server.service import Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from tokenstile.engine import Engine
    from tokenstile.server.answers.writer import AnswerWriter
    from tokenstile.server.preparing import Prepared
    from tokenstile.server.service import Generation

__all__ = ["create_app"]

_LOG: Final = logging.getLogger(__name__)
_PATHS: Final = frozenset(
    {
        "/",
        "/health",
        "/metrics",
        "/playground/inspect",
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/models",
        *PATHS,
    }
)


def create_app(
    engine: Engine, template: ChatTemplate | None = None, config: ServerConfig | None = None
) -> Starlette:
    """Make the ASGI application that serves an engine; it starts the engine, and closes it at the end."""
    config = config or ServerConfig()
    service = Service(engine, template or ChatTemplate(), config)
    handlers = _Handlers(service)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        engine.start()
        yield
        await asyncio.to_thread(service.close)

    middleware = [
        Middleware(Guard, config=config, metrics=service.metrics, paths=_PATHS),
    ]
    if config.cors_origins:
        cors = {"allow_origins": config.cors_origins, "allow_methods": ["*"], "allow_headers": ["*"]}
        middleware.insert(0, Middleware(CORSMiddleware, **cors))  # type: ignore[arg-type] # options by name
    app = Starlette(
        routes=[
            Route("/health", handlers.health),
            Route("/metrics", handlers.metrics),
            Route("/v1/models", handlers.models),
            Route("/v1/models/{model:path}", handlers.model),
            Route("/v1/chat/completions", handlers.chat, methods=["POST"]),
            Route("/v1/completions", handlers.completion, methods=["POST"]),
            *dialect_routes(service, handlers.respond),
            *(playground_routes(service) if config.playground else ()),
        ],
        middleware=middleware,
        exception_handlers={ApiError: _on_api_error, HTTPException: _on_http_error, Exception: _on_any_error},
        lifespan=lifespan,
    )
    app.state.service = service
    return app


async def _on_api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)  # noqa: S101 - registered for it
    return error_response(request.url.path, error)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    text = f"{request.method} {request.url.path}: {error.detail}"
    response = error_response(request.url.path, ApiError(error.status_code, text))
    response.headers.update(error.headers or {})
    return response


async def _on_any_error(request: Request, error: Exception) -> Response:
    _LOG.error("a request failed", exc_info=error)
    failed = ApiError(500, "the server made a mistake; its log says more", code="internal_error")
    return error_response(request.url.path, failed)


class _Handlers:
    """What each path is answered by."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._config = service.config

    async def health(self, _: Request) -> Response:
        alive = self._service.engine.is_running
        status = {"status": "ok" if alive else "the engine has stopped"}
        return JSONResponse(
            {**status, "model": self._config.model_name, "version": __version__}, 200 if alive else 503
        )

    async def metrics(self, _: Request) -> Response:
        text = self._service.metrics.text(self._service)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        self._service.check_model(request.path_params["model"])
        return JSONResponse(self._model())

    def _model(self) -> dict[str, Any]:
        return {
            "id": self._config.model_name,
            "object": "model",
            "created": self._service.started_at,
            "owned_by": "tokenstile",
            "max_model_len": self._service.engine.model.max_length,
        }

    async def chat(self, request: Request) -> Response:
        return await self.respond(request, prepare_chat, ChatWriter)

    async def completion(self, request: Request) -> Response:
        return await self.respond(request, prepare_completion, CompletionWriter)

    async def respond(
        self,
        request: Request,
        prepare: Callable[[Service, bytes], Prepared],
        writer_class: Callable[[Generation, Prepared, str], AnswerWriter],
    ) -> Response:
        """Answer as a whole or as a stream; a client that goes away takes its outputs along."""
        read = partial(prepare, self._service, await request.body())
        prepared, generation = await unless_gone(request, self._begin(read, client_of(request.scope)))
        try:
            writer = writer_class(generation, prepared, self._config.model_name)
            if prepared.request.stream:
                return _EventStream(writer)
            return JSONResponse(await unless_gone(request, writer.answer()))
        except BaseException:
            generation.close()
            raise

    async def _begin(self, read: Callable[[], Prepared], client: Hashable) -> tuple[Prepared, Generation]:
        """Read a request and begin its outputs; there is time for that until their grammar is compiled."""
        prepared = await self._service.readers.run(client, read)
        generation = await self._service.begin(prepared, client)
        await generation.wait_for_grammar()
        return prepared, generation


class _EventStream(StreamingResponse):
    """An answer as a stream, whose outputs are given up even if nobody begins to read it."""

    def __init__(self, writer: AnswerWriter) -> None:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(writer.stream(), media_type=writer.media_type, headers=headers)
        self._generation = writer.generation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._generation.close()
