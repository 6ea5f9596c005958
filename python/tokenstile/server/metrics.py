"""What the server counts, for Prometheus; the counts of the grammars are those of the engine's manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from tokenstile.server.service import Service

__all__ = ["ServerMetrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class ServerMetrics:
    """The counts of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        named: Any = {"registry": self._registry, "namespace": "tokenstile_server"}
        self._requests = Counter("requests", "Requests that were answered.", ["path", "status"], **named)
        self._seconds = Histogram(
            "request_seconds",
            "Time from a request to the end of its answer.",
            ["path"],
            buckets=_SECONDS,
            **named,
        )
        self._prompt_tokens = Counter("prompt_tokens", "Tokens of prompts.", **named)
        self._output_tokens = Counter("output_tokens", "Tokens of outputs.", **named)
        self._under_way = Gauge("outputs_under_way", "Outputs that are written or wait.", **named)
        self._steps = Gauge("engine_steps", "Steps of the engine since it started.", **named)

    def note_request(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def note_prompt(self, count: int) -> None:
        """Count tokens of prompts."""
        self._prompt_tokens.inc(count)

    def note_output(self, count: int) -> None:
        """Count tokens of outputs."""
        self._output_tokens.inc(count)

    def text(self, service: Service) -> str:
        """Give everything in Prometheus' text format."""
        self._under_way.set(service.num_under_way)
        self._steps.set(service.engine.num_steps)
        grammars = service.engine.manager.prometheus_text()
        return generate_latest(self._registry).decode() + grammars
