"""Grammars that count and time what is done with them, for backends that are used without a manager.

The manager counts whole batches (`tokenstile.structured_output.accounting`). Who drives grammars one by one has a
`MeasuredGrammar` instead: an `XGrammarGrammar` that puts down each call in the `Measurements` of its backend. A backend
that does not measure makes plain grammars, so to have it off costs nothing.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

from tokenstile.structured_output.durations import Durations
from tokenstile.structured_output.xgrammar_grammar import XGrammarGrammar

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tokenstile import _core

__all__ = ["MeasuredGrammar", "Measurements"]

_TIMED: Final = ("mask", "accept", "compile_call")
_COUNTED: Final = (
    "masks",
    "accepts",
    "rejects",
    "rollbacks",
    "rolled_back_tokens",
    "jump_forward_texts",
    "jump_forward_characters",
    "validated_tokens",
    "decided_tokens",
    "open_tokens",
)


class Measurements:
    """What was done with the grammars of a backend, and how long it took. May be used from many threads."""

    def __init__(self, *, counts_decided: bool = False) -> None:
        self.counts_decided = counts_decided
        """Whether each mask is asked how many of its tokens are decided without the context."""
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(_COUNTED, 0)
        self._times = {name: Durations() for name in _TIMED}

    def count(self, name: str, amount: int = 1) -> None:
        """Add to a number."""
        with self._lock:
            self._counts[name] += amount

    def observe(self, name: str, seconds: float, counted: str | None = None, amount: int = 1) -> None:
        """Put down a time, and add to a number."""
        with self._lock:
            self._times[name].observe(seconds)
            if counted is not None:
                self._counts[counted] += amount

    def get_stats(self) -> dict[str, float]:
        """Return everything as numbers; times are in seconds."""
        with self._lock:
            stats: dict[str, float] = dict(self._counts)
            for name, durations in self._times.items():
                stats[f"{name}_seconds"] = durations.total
                stats[f"{name}_seconds_p50"] = durations.quantile(0.5)
                stats[f"{name}_seconds_p99"] = durations.quantile(0.99)
        seen = stats["decided_tokens"] + stats["open_tokens"]
        stats["decided_share"] = stats["decided_tokens"] / seen if seen else 0.0
        return stats


class MeasuredGrammar(XGrammarGrammar):
    """One request's place in a grammar, whose calls are counted and timed."""

    __slots__ = ("measurements",)

    def __init__(
        self,
        matcher: _core.GrammarMatcher,
        vocab_size: int | None,
        ctx: _core.CompiledGrammar | None,
        measurements: Measurements,
    ) -> None:
        super().__init__(matcher, vocab_size, ctx)
        self.measurements = measurements

    def accept_token(self, token_id: int) -> bool:
        """Take a token; returns whether it fits."""
        started = time.perf_counter()
        fits = super().accept_token(token_id)
        self._note_accept(started, int(fits), fits=fits)
        return fits

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:
        """Take tokens: all of them or none."""
        started = time.perf_counter()
        fits = super().accept_tokens(request_id, tokens)
        self._note_accept(started, len(tokens) if fits else 0, fits=fits)
        return fits

    def _note_accept(self, started: float, amount: int, *, fits: bool) -> None:
        self.measurements.observe("accept", time.perf_counter() - started, "accepts", amount)
        if not fits:
            self.measurements.count("rejects")

    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix that would be accepted; nothing moves."""
        valid = super().validate_tokens(tokens)
        self.measurements.count("validated_tokens", len(valid))
        return valid

    def rollback(self, num_tokens: int) -> None:
        """Take back the last ``num_tokens`` accepted tokens."""
        super().rollback(num_tokens)
        if num_tokens > 0:
            self.measurements.count("rollbacks")
            self.measurements.count("rolled_back_tokens", num_tokens)

    def fill_bitmask(self, bitmask: Any, index: int) -> None:  # noqa: ANN401 - any array
        """Write the mask of the tokens that can come next over row ``index``."""
        self.fill_next_token_bitmask(bitmask, index)

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> bool:  # noqa: ANN401 - any array
        """Write the mask of the tokens that can come next; returns whether it forbids any."""
        started = time.perf_counter()
        forbids = super().fill_next_token_bitmask(bitmask, index)
        self.measurements.observe("mask", time.perf_counter() - started, "masks")
        if self.measurements.counts_decided:
            decided = self.matcher.count_decided_tokens()
            self.measurements.count("decided_tokens", decided["taken"] + decided["refused"])
            self.measurements.count("open_tokens", decided["open"])
        return forbids

    def jump_forward_string(self) -> str:
        """Return the text that must come next whatever the model says."""
        text = super().jump_forward_string()
        if text:
            self.measurements.count("jump_forward_texts")
            self.measurements.count("jump_forward_characters", len(text))
        return text

    def fresh(
        self, stop_token_ids: Collection[int] | None = None, max_tokens: int | None = None
    ) -> MeasuredGrammar:
        """Make a second grammar at the start."""
        matcher = super().fresh(stop_token_ids, max_tokens).matcher
        return MeasuredGrammar(matcher, self.vocab_size, self.ctx, self.measurements)
