"""What a server may be told, and what it allows.

The defaults are for one person on one machine: requests from this machine only, no other web page, and bounds on
everything that a request can make large. Each bound is answered by an error that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.server.reading import DEFAULT_MAX_VALUES

if TYPE_CHECKING:
    from tokenstile.json_schema import Spelling
    from tokenstile.structured_output import ReasoningMarkers

__all__ = ["ServerConfig"]

_POSITIVE: Final = (
    *(
        "max_body_bytes",
        "max_body_values",
        "max_held_bytes",
        "max_prompt_bytes",
        "max_concurrent",
        "max_choices",
    ),
    *("max_tokens", "max_tools", "max_compile_time", "max_connections", "timeout", "queue_timeout"),
    *("body_timeout", "header_timeout", "idle_timeout", "write_timeout", "shutdown_grace", "inspect_timeout"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """The settings of a server."""

    model_name: str = "default"
    """What clients call the model."""
    api_key: str | None = None
    """What clients must send as ``Authorization: Bearer``; without it everybody is served."""
    tool_format: str = "qwen_3"
    """The family of models whose way of calling tools is used; see `tokenstile.tool_calling.model_names`."""
    reasoning: ReasoningMarkers | None = None
    """How the model marks its thoughts."""
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    """The names that requests may give the server; ``*`` for any. Other web pages cannot pass theirs off as ours."""
    cors_origins: tuple[str, ...] = ()
    """The web pages that may use the server from a browser, beside its own."""
    playground: bool = True
    """Whether there is a page at ``/``."""
    strict_fields: bool = False
    """Whether a field that the server does not know is an error; without it the answer has a warning."""
    max_body_bytes: int = 4 << 20
    """Bytes of a request."""
    max_body_values: int = DEFAULT_MAX_VALUES
    """Values of a request, counted before any of them is made: numbers, texts, lists and objects, and keys."""
    max_held_bytes: int = 128 << 20
    """Bytes of all large requests together, until they are answered; those of up to 64 KiB are always taken."""
    max_prompt_bytes: int | None = None
    """Bytes of a prompt, which is refused before it is cut into tokens; by default 32 for each token that the model has
    room for."""
    max_compile_time: float = 2.0
    """Seconds for the compilation of one grammar, from when it begins."""
    max_concurrent: int = 256
    """Outputs that are under way or wait; a request with ``n`` counts as so many."""
    max_choices: int = 16
    """Outputs of one request: ``n``, times the number of prompts."""
    max_tokens: int = 16_384
    """Tokens of one output; the model's context bounds them too."""
    max_tools: int = 128
    """Tools of one request."""
    max_stops: int = 16
    """Stop texts of one request, and stop tokens."""
    max_whitespace: int | None = None
    """White space in one place between the parts of JSON; without it there is what the spelling has."""
    spelling: Spelling | None = None
    """How values of JSON are written where a request does not say; the default of the process without it."""
    max_inspected_tokens: int = 4_096
    """Tokens of a text that the playground looks at."""
    inspect_timeout: float = 10.0
    """Seconds for the playground to look at a text, and as many to compile its grammar."""
    timeout: float = 300.0
    """Seconds for one request, from when the model begins with it."""
    queue_timeout: float = 600.0
    """Seconds that a request waits for the model to begin; its grammar is compiled meanwhile."""
    body_timeout: float = 30.0
    """Seconds for the body of a request to come."""
    max_connections: int = 512
    """Connections at a time. Beyond them a new one takes the place of one without a whole request."""
    header_timeout: float = 10.0
    """Seconds for the headers of a request to come, from when the connection is open or their first byte has come."""
    idle_timeout: float = 10.0
    """Seconds that a connection may wait for its next request. Clients should give up before: many do after five."""
    write_timeout: float = 30.0
    """Seconds that a client may take nothing of what is sent to it."""
    shutdown_grace: float = 8.0
    """Seconds for outputs to end when the server is told to stop; those that have not ended then end with an error."""

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidArgumentError(f"{name} must be positive, not {value}")
        if self.max_whitespace is not None and self.max_whitespace <= 0:
            raise InvalidArgumentError(f"max_whitespace must be positive, not {self.max_whitespace}")
        if self.spelling not in {None, "canonical", "any"}:
            raise InvalidArgumentError(f'spelling must be "canonical" or "any", not {self.spelling!r}')
        if self.api_key is not None and not self.api_key.strip():
            raise InvalidArgumentError("the API key must not be blank")
