"""uvicorn as this server wants it: bounded connections, a quiet log, and an end that nobody is cut off by."""

from __future__ import annotations

import asyncio
import logging
import time
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

try:
    import uvicorn
    import uvicorn.config
except ImportError as error:
    raise ImportError("the server needs uvicorn: pip install 'tokenstile[serve]'") from error

from tokenstile.server.connections import BoundedProtocol, ConnectionLimits, Connections

if TYPE_CHECKING:
    import socket

    from starlette.applications import Starlette

    from tokenstile.server.config import ServerConfig
    from tokenstile.server.service import Service

__all__ = ["Server", "make_server"]

_BACKLOG: Final = 128
"""Connections that the system keeps before they are accepted; asyncio accepts as many at a time."""
_OTHER_FILES: Final = 128
_FEWEST_CONNECTIONS: Final = 16
_TO_ARRIVE: Final = 1.0
"""Seconds for requests that are on their way when the server is told to stop."""
_AFTER_GRACE: Final = 5
"""Seconds that uvicorn waits for answers to be over once all outputs have ended."""


def make_server(
    app: Starlette, *, host: str = "127.0.0.1", port: int = 8000, log_level: str = "info"
) -> Server:
    """Make the server of an application that `tokenstile.server.create_app` made."""
    service: Service = app.state.service
    config = service.config
    logging_config = deepcopy(uvicorn.config.LOGGING_CONFIG)
    logging_config["handlers"]["access"]["stream"] = "ext://sys.stderr"
    connections = Connections(_limits(config))
    protocol: Any = partial(BoundedProtocol, connections=connections)
    options = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=protocol,
        ws="none",
        log_config=logging_config,
        log_level=log_level,
        backlog=_BACKLOG,
        timeout_keep_alive=config.idle_timeout,  # type: ignore[arg-type] # it is a delay of asyncio
        timeout_graceful_shutdown=round(config.shutdown_grace) + _AFTER_GRACE,
        server_header=False,
    )
    for name in ("asyncio", "uvicorn.error"):
        logging.getLogger(name).addFilter(_SELDOM)
    return Server(options, service, connections)


def _limits(config: ServerConfig) -> ConnectionLimits:
    return ConnectionLimits(
        most=min(config.max_connections, _most_connections()),
        header_timeout=config.header_timeout,
        write_timeout=config.write_timeout,
    )


def _most_connections() -> int:
    """Say how many connections the process can have: each is a file, and more are accepted before some are cut."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return _BACKLOG
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        files = 1 << 20
    return max(files - _BACKLOG - _OTHER_FILES, _FEWEST_CONNECTIONS)


class Server(uvicorn.Server):
    """A server whose outputs have time to end when it is told to stop."""

    def __init__(self, config: uvicorn.Config, service: Service, connections: Connections) -> None:
        super().__init__(config)
        self._service = service
        self._connections = connections

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, let outputs end, and end those that do not."""
        ending = asyncio.create_task(self._end_in_time())
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()

    async def _end_in_time(self) -> None:
        grace = self._service.config.shutdown_grace
        to_arrive = min(_TO_ARRIVE, grace)
        await asyncio.sleep(to_arrive)
        self._connections.cut_owing()
        await asyncio.sleep(grace - to_arrive)
        self._service.end()


class _Seldom(logging.Filter):
    """Lets what strangers can cause be said once a minute only."""

    _TEXTS: Final = (
        "Invalid HTTP request",
        "Unsupported upgrade",
        "No supported WebSocket",
        "socket.accept() out of",
    )
    _SECONDS: Final = 60.0

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        text = next((text for text in self._TEXTS if str(record.msg).startswith(text)), None)
        if text is None:
            return True
        now = time.monotonic()
        is_due = now - self._said.get(text, -self._SECONDS) >= self._SECONDS
        if is_due:
            self._said[text] = now
        return is_due


_SELDOM: Final = _Seldom()
"""The one of this process, however many servers it has."""
