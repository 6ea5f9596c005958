"""Errors in the shape that the clients of a path know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from tokenstile.server.dialects.messages.answer import error_body as messages_body
from tokenstile.server.dialects.ollama.answer import error_body as ollama_body

if TYPE_CHECKING:
    from tokenstile.server.errors import ApiError

__all__ = ["error_response"]


def error_response(path: str, error: ApiError) -> JSONResponse:
    """Give the answer that is an error."""
    body = error.body()
    if path.startswith("/v1/messages"):
        body = messages_body(error)
    elif path.startswith("/api/"):
        body = ollama_body(error)
    return JSONResponse(body, error.status, error.headers)
