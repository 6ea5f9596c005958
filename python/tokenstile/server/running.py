"""A server from settings: load the model, make the engine, listen."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokenstile.engine import Engine
from tokenstile.engine.models.loading import load_model
from tokenstile.server.app import create_app
from tokenstile.server.chat_template import ChatTemplate
from tokenstile.server.config import ServerConfig
from tokenstile.server.listening import make_server
from tokenstile.server.tools import ToolFormat
from tokenstile.structured_output import StructuredOutputManager

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.applications import Starlette

    from tokenstile.engine.models import Model

__all__ = ["EngineOptions", "is_loopback", "load_app", "serve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How the model is loaded, and the engine run."""

    num_slots: int = 8
    """Outputs that are written at once; others wait."""
    max_length: int = 2048
    """Tokens of a prompt and its output."""
    num_speculative_tokens: int = 0
    """Tokens that are guessed ahead."""
    num_threads: int | None = None
    """Threads of the model; by default one less than there are processors."""
    complete_in_time: bool = True
    """Whether structured outputs are complete within their ``max_tokens``; without it they are cut off there."""


def load_app(
    model: str | Path | None = None, config: ServerConfig | None = None, options: EngineOptions | None = None
) -> Starlette:
    """Load a model, and make the application that serves it."""
    config, options = config or ServerConfig(), options or EngineOptions()
    # Looked at first, because loading takes long.
    ToolFormat(config.tool_format)
    loaded = load_model(
        model,
        num_slots=options.num_slots,
        max_length=options.max_length,
        num_threads=options.num_threads,
    )
    engine = Engine(
        loaded.model,
        num_speculative_tokens=options.num_speculative_tokens,
        manager=_manager(loaded.model, config, options),
        complete_in_time=options.complete_in_time,
    )
    if config.model_name == ServerConfig.__dataclass_fields__["model_name"].default:
        config = replace(config, model_name=loaded.name)
    return create_app(engine, ChatTemplate.of_model(loaded.model), config)


def _manager(model: Model, config: ServerConfig, options: EngineOptions) -> StructuredOutputManager:
    """Make the engine's manager: a grammar waits its turn as long as a request does.

    Compiling it has a limit of its own, `ServerConfig.max_compile_time`, which counts from when it begins.
    """
    return StructuredOutputManager(
        model.tokenizer_info,
        max_num_seqs=model.num_slots,
        num_speculative_tokens=options.num_speculative_tokens,
        reasoning=config.reasoning,
        compile_timeout=config.queue_timeout,
    )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a server that listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(app: Starlette, *, host: str = "127.0.0.1", port: int = 8000, log_level: str = "info") -> None:
    """Listen, until interrupted. What is logged goes to the standard error stream."""
    make_server(app, host=host, port=port, log_level=log_level).run()
