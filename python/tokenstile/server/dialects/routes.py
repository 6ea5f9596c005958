"""The paths of the dialects, and how their requests become those for chat completions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.responses import JSONResponse
from starlette.routing import Route

from tokenstile import __version__
from tokenstile.server.api.chat import ChatRequest
from tokenstile.server.api.tokens import prepare_detokenize, prepare_tokenize
from tokenstile.server.api.unknown import note_unknown
from tokenstile.server.clients import client_of
from tokenstile.server.dialects.messages import request as messages
from tokenstile.server.dialects.messages.answer import MessagesWriter
from tokenstile.server.dialects.ollama import request as ollama
from tokenstile.server.dialects.ollama.answer import OllamaWriter, now
from tokenstile.server.dialects.responses import request as responses
from tokenstile.server.dialects.responses.answer import ResponsesWriter
from tokenstile.server.errors import ApiError
from tokenstile.server.preparing import Prepared, prepared_chat
from tokenstile.server.reading import explain_invalid, read_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from tokenstile.server.answers.writer import AnswerWriter
    from tokenstile.server.service import Generation, Service

    Respond = Callable[
        [
            Request,
            Callable[[Service, bytes], Prepared],
            Callable[[Generation, Prepared, str], AnswerWriter],
        ],
        Awaitable[Response],
    ]

__all__ = ["PATHS", "dialect_routes"]

PATHS = frozenset(
    {
        "/api/chat",
        "/api/generate",
        "/api/show",
        "/api/tags",
        "/api/version",
        "/detokenize",
        "/tokenize",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/responses",
    }
)
_Asked = TypeVar("_Asked", bound=BaseModel)


def dialect_routes(service: Service, respond: Respond) -> list[Route]:
    """Give the routes; ``respond`` answers a request, given how to prepare it and how to write the answer."""
    handlers = _Handlers(service, respond)
    return [
        Route("/v1/responses", handlers.responses, methods=["POST"]),
        Route("/v1/messages", handlers.messages, methods=["POST"]),
        Route("/v1/messages/count_tokens", handlers.count_tokens, methods=["POST"]),
        Route("/api/chat", handlers.ollama_chat, methods=["POST"]),
        Route("/api/generate", handlers.ollama_generate, methods=["POST"]),
        Route("/api/show", handlers.ollama_show, methods=["POST"]),
        Route("/api/tags", handlers.ollama_tags),
        Route("/api/version", handlers.ollama_version),
        Route("/tokenize", handlers.tokenize, methods=["POST"]),
        Route("/detokenize", handlers.detokenize, methods=["POST"]),
    ]


def _chat(fields: dict[str, Any], names: Mapping[str, str]) -> ChatRequest:
    """Check the request for a chat completion; what is wrong is told by the dialect's names of fields."""
    try:
        return ChatRequest.model_validate(
            {name: value for name, value in fields.items() if value is not None}
        )
    except ValidationError as error:
        raise renamed(explain_invalid(error), names) from error


def renamed(error: ApiError, names: Mapping[str, str]) -> ApiError:
    """Tell of the field that a dialect calls by another name."""
    if error.param is None:
        return error
    param = _own_name(error.param, names)
    message = error.message.replace(error.param, param)
    return ApiError(error.status, message, code=error.code, param=param, details=error.details)


def _own_name(param: str, names: Mapping[str, str]) -> str:
    for name, own in names.items():
        rest = param.removeprefix(name)
        if param.startswith(name) and rest[:1] in {"", ".", "["}:
            return own + rest.replace(".json_schema.schema", ".schema", 1)
    return param


def _prepared(
    service: Service,
    asked: _Asked,
    fields: Callable[[_Asked], dict[str, Any]],
    names: Mapping[str, str],
    more_warnings: list[str],
) -> Prepared:
    extra = (asked.model_extra or {}).keys()
    warnings = note_unknown(extra, type(asked).model_fields, strict=service.config.strict_fields)
    try:
        prepared = prepared_chat(service, _chat(fields(asked), names), asked, [*warnings, *more_warnings])
    except ApiError as error:
        raise renamed(error, names) from error
    structure = prepared.structure
    if structure.param is None:
        return prepared
    # What is wrong with a grammar is found out later.
    return replace(prepared, structure=replace(structure, param=_own_name(structure.param, names)))


def _prepare_responses(service: Service, body: bytes) -> Prepared:
    asked = read_body(responses.ResponsesRequest, body, service.config.max_body_values)
    return _prepared(service, asked, responses.ResponsesRequest.chat, responses.FIELDS, [])


def _prepare_messages(service: Service, body: bytes) -> Prepared:
    asked = read_body(messages.MessagesRequest, body, service.config.max_body_values)
    remarks = [] if asked.thinking is None or asked.thinking.get("type") == "disabled" else [_NO_THINKING]
    return _prepared(service, asked, messages.MessagesRequest.chat, messages.FIELDS, remarks)


_NO_THINKING = "thinking was ignored: the server is told how the model thinks, with --thinking"


def _prepare_ollama(kind: type[ollama.OllamaRequest], service: Service, body: bytes) -> Prepared:
    asked = read_body(kind, body, service.config.max_body_values)
    remarks = [f"options.{name[:64]} is not known, and was ignored" for name in asked.unknown_options()]
    if asked.think:
        remarks.append(_NO_THINKING.replace("thinking", "think", 1))
    return _prepared(service, asked, ollama.OllamaRequest.chat, ollama.FIELDS, remarks)


class _Handlers:
    """What each path is answered by."""

    def __init__(self, service: Service, respond: Respond) -> None:
        self._service = service
        self._respond = respond

    async def responses(self, request: Request) -> Response:
        return await self._respond(request, _prepare_responses, ResponsesWriter)

    async def messages(self, request: Request) -> Response:
        return await self._respond(request, _prepare_messages, MessagesWriter)

    async def ollama_chat(self, request: Request) -> Response:
        return await self._respond(request, partial(_prepare_ollama, ollama.OllamaChatRequest), OllamaWriter)

    async def ollama_generate(self, request: Request) -> Response:
        return await self._respond(request, partial(_prepare_ollama, ollama.GenerateRequest), OllamaWriter)

    async def ollama_tags(self, _: Request) -> Response:
        return JSONResponse({"models": [self._ollama_model()]})

    async def ollama_show(self, request: Request) -> Response:
        asked = read_body(_Named, await request.body())
        self._service.check_model(asked.model)
        shown = self._ollama_model()
        return JSONResponse(
            {"details": shown["details"], "model_info": {}, "capabilities": ["completion", "tools"]}
        )

    def _ollama_model(self) -> dict[str, Any]:
        name = self._service.config.model_name
        details = {"format": "", "family": "", "families": [], "parameter_size": "", "quantization_level": ""}
        return {
            "name": name,
            "model": name,
            "modified_at": now(),
            "size": 0,
            "digest": "",
            "details": details,
        }

    async def ollama_version(self, _: Request) -> Response:
        return JSONResponse({"version": __version__})

    async def count_tokens(self, request: Request) -> Response:
        client, body = client_of(request.scope), await request.body()
        prompt = await self._service.readers.run(client, partial(_prepare_count, self._service, body))
        tokens = await self._service.prompts.encode(prompt, client, "messages")
        return JSONResponse({"input_tokens": len(tokens)})

    async def tokenize(self, request: Request) -> Response:
        client, body = client_of(request.scope), await request.body()
        prompt, with_texts = await self._service.readers.run(
            client, partial(prepare_tokenize, self._service, body)
        )
        tokens = await self._service.prompts.encode(prompt, client, "prompt")
        model = self._service.engine.model
        found: dict[str, Any] = {"count": len(tokens), "max_model_len": model.max_length, "tokens": tokens}
        if with_texts:
            info = model.tokenizer_info
            found["token_strs"] = [info.token_bytes(token).decode("utf-8", "replace") for token in tokens]
        return JSONResponse(found)

    async def detokenize(self, request: Request) -> Response:
        client, body = client_of(request.scope), await request.body()
        text = await self._service.readers.run(client, partial(prepare_detokenize, self._service, body))
        return JSONResponse({"prompt": text})


class _Named(BaseModel):
    model: str


def _prepare_count(service: Service, body: bytes) -> str:
    """Read what is to be counted, and give the prompt."""
    asked = read_body(messages.CountRequest, body, service.config.max_body_values)
    fields = {"model": asked.model, "messages": asked.chat_messages(), "tools": asked.chat_tools() or None}
    prompt = prepared_chat(service, _chat(fields, messages.FIELDS)).prompts[0]
    assert isinstance(prompt, str)  # noqa: S101 - a template writes text
    return prompt
