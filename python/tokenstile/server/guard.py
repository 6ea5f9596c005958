"""Who may ask, and how much.

Plain ASGI around the application, so that streams pass through as they are:

- the name that a request gives the server must be one of ours. A page elsewhere can have its own name point to this
  machine, but its browser then sends that name;
- a body must say that it is JSON. Pages elsewhere may send other kinds without asking first, which JSON needs;
- the API key, where there is one, is compared in constant time;
- bodies are read up to a limit, whatever they say of their length;
- every answer is counted, and none is kept by caches or shown inside of other pages.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from typing import TYPE_CHECKING, Final

from tokenstile.server.bodies import Bodies
from tokenstile.server.dialects.errors import error_response
from tokenstile.server.errors import ApiError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from tokenstile.server.config import ServerConfig
    from tokenstile.server.metrics import ServerMetrics

__all__ = ["Guard"]

_LOG: Final = logging.getLogger(__name__)
_OPEN_PATHS: Final = ("/", "/health")
_OPEN_FOLDER: Final = "/static/"
_ANY_KIND: Final = "/api/"
_HEADERS: Final = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}


class Guard:
    """Lets requests through to the application, or answers them itself."""

    def __init__(
        self, app: ASGIApp, *, config: ServerConfig, metrics: ServerMetrics, paths: frozenset[str]
    ) -> None:
        self._app = app
        self._config = config
        self._metrics = metrics
        self._paths = paths
        self._bodies = Bodies(config.max_body_bytes, config.max_held_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name.lower() for name, _ in message["headers"]}
                added = [(name, value) for name, value in _HEADERS.items() if name not in present]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        try:
            await self._serve(scope, receive, send_safely)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.note_request(path, status, time.perf_counter() - started)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        counted = 0
        try:
            self._check(scope, headers)
            if scope["method"] == "POST":
                async with asyncio.timeout(self._config.body_timeout):
                    receive, counted = await self._bodies.read(headers, receive)
        except TimeoutError:
            error = ApiError(
                408, f"the body did not come in {self._config.body_timeout:g} seconds", code="timeout"
            )
            await error_response(scope["path"], error)(scope, receive, send)
            return
        except ApiError as error:
            await error_response(scope["path"], error)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._bodies.release(counted)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if "*" not in self._config.allowed_hosts and name not in self._config.allowed_hosts:
            text = f"the server is not called {name!r}; it can be told so with --allowed-host"
            raise ApiError(421, text, code="unknown_host")
        path = scope["path"]
        open_to_all = path in _OPEN_PATHS or path.startswith(_OPEN_FOLDER) or scope["method"] == "OPTIONS"
        if self._config.api_key is not None and not open_to_all:
            self._check_key(headers)
        if scope["method"] == "POST":
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            # Ollama's server takes any kind, and some of its clients name none. No page can be behind those that a
            # browser did not send: it says where a request comes from.
            is_page = any(name in headers for name in (b"origin", b"sec-fetch-site"))
            if kind != b"application/json" and (is_page or not path.startswith(_ANY_KIND)):
                raise ApiError(
                    415, "the body must have the content type application/json", code="invalid_type"
                )

    def _check_key(self, headers: dict[bytes, bytes]) -> None:
        kind, _, key = headers.get(b"authorization", b"").partition(b" ")
        if not kind and b"x-api-key" in headers:
            # As Anthropic's clients send it.
            kind, key = b"bearer", headers[b"x-api-key"]
        expected = (self._config.api_key or "").encode()
        if kind.lower() != b"bearer" or not hmac.compare_digest(key.strip(), expected):
            text = "the API key is missing or wrong; send it as 'Authorization: Bearer KEY'"
            raise ApiError(401, text, code="invalid_api_key")
