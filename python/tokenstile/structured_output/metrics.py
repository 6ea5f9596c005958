"""What the serving layer counts and times, per backend.

Everything is plain data: `Metrics.snapshot` gives dictionaries of numbers, `Metrics.prometheus_text` the text that
Prometheus scrapes, `Metrics.profile` a table of what happened inside a ``with`` block. Nothing is sent anywhere, and no
library is needed. The list of all metrics is `DESCRIPTIONS`; a name that is not in it is a mistake, not a new metric.

What somebody else keeps (how many requests there are, the memory of a cache) is not stored here, where it would grow
stale: collectors are asked for it whenever something is read, and what several of them say is added up.
"""

from __future__ import annotations

import sys
import threading
from bisect import bisect_left
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from tokenstile.structured_output.durations import Durations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Collector = Callable[[], Mapping[tuple[str, str], float]]
    """Gives numbers by the name of the metric and the backend."""

__all__ = ["BUCKETS", "DESCRIPTIONS", "Histogram", "Metrics", "Profile"]

DESCRIPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "requests_total": ("counter", "Requests that were begun."),
    "compile_total": ("counter", "Compilations that ended well."),
    "compile_errors_total": ("counter", "Compilations that failed."),
    "compile_cancelled_total": ("counter", "Requests that were cancelled before their grammar was ready."),
    "compile_timeouts_total": ("counter", "Requests whose grammar was not ready in time."),
    "compile_shared_total": ("counter", "Requests that joined a compilation that was under way."),
    "compile_cache_hits_total": ("counter", "Compilations that the backend's cache answered."),
    "compile_seconds": ("histogram", "Time of a compilation."),
    "compile_wait_seconds": ("histogram", "Time from the request to its grammar."),
    "fill_seconds": ("histogram", "Time to fill the rows of a batch, of those of one backend."),
    "fill_rows_total": ("counter", "Rows that were filled."),
    "accept_seconds": ("histogram", "Time to accept the tokens of a call, of those of one backend."),
    "accepted_tokens_total": ("counter", "Tokens that were accepted; those after the end are not."),
    "rejected_total": ("counter", "Calls whose tokens did not fit."),
    "draft_tokens_total": ("counter", "Draft tokens that were looked at."),
    "draft_tokens_acceptable_total": ("counter", "Draft tokens that fit."),
    "jump_forward_tokens_total": ("counter", "Tokens that were forced without asking the model."),
    "request_errors_total": ("counter", "Requests that failed after their grammar was ready."),
    "active_requests": ("gauge", "Requests that are held."),
    "compiling_requests": ("gauge", "Requests whose grammar is not ready."),
    "cache_bytes": ("gauge", "Memory of the compiled grammars that are kept."),
}
"""Each metric with its kind and what it says."""

BUCKETS: Final = (
    1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3,
    1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
)  # fmt: skip
"""Upper ends of the buckets of histograms, in seconds; one more is unbounded."""

_PREFIX: Final = "tokenstile_structured_output_"


class Histogram:
    """Counts of times by bucket, with their sum, their highest, and two quantiles."""

    __slots__ = ("counts", "durations", "highest")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.durations = Durations()
        self.highest = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(BUCKETS, value)] += 1
        self.durations.observe(value)
        self.highest = max(self.highest, value)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "count": self.durations.count,
            "sum": self.durations.total,
            "p50": min(self.durations.quantile(0.5), self.highest),
            "p99": min(self.durations.quantile(0.99), self.highest),
            "max": self.highest,
            "buckets": dict(zip([*map(str, BUCKETS), "+Inf"], self.counts, strict=True)),
        }


class Metrics:
    """Counters, gauges and histograms of one manager. May be used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[tuple[str, str], float] = {}
        self._histograms: dict[tuple[str, str], Histogram] = {}
        self._collectors: list[Collector] = []

    def add_collector(self, collector: Collector) -> None:
        """Ask for numbers whenever something is read: gauges, and counters that somebody else keeps."""
        with self._lock:
            self._collectors.append(collector)

    def remove_collector(self, collector: Collector) -> None:
        """Ask no more. What the counters have come to stays; gauges go."""
        last = {
            place: number for place, number in collector().items() if DESCRIPTIONS[place[0]][0] == "counter"
        }
        with self._lock:
            if collector in self._collectors:
                self._collectors.remove(collector)
                _add(self._numbers, last)

    def _collect(self) -> dict[tuple[str, str], float]:
        """Return all numbers, those of the collectors too."""
        with self._lock:
            collectors = list(self._collectors)
        # Outside of the lock: they take locks of their own.
        collected = [collect() for collect in collectors]
        with self._lock:
            numbers = dict(self._numbers)
        for one in collected:
            _add(numbers, one)
        return numbers

    def count(self, name: str, backend: str, amount: float = 1) -> None:
        """Add to a counter."""
        self._check(name, "counter")
        with self._lock:
            self._numbers[name, backend] = self._numbers.get((name, backend), 0) + amount

    def observe(self, name: str, backend: str, seconds: float) -> None:
        """Count a value of a histogram."""
        self._check(name, "histogram")
        with self._lock:
            histogram = self._histograms.get((name, backend))
            if histogram is None:
                histogram = self._histograms[name, backend] = Histogram()
            histogram.observe(seconds)

    @staticmethod
    def _check(name: str, kind: str) -> None:
        if name not in DESCRIPTIONS or DESCRIPTIONS[name][0] != kind:
            raise KeyError(f"there is no {kind} {name!r}")

    def value(self, name: str, backend: str) -> float:
        """Return a counter or a gauge; zero before anything was counted."""
        return self._collect().get((name, backend), 0)

    def snapshot(self) -> dict[str, dict[str, object]]:
        """Return everything as plain data: by metric, then by backend."""
        result: dict[str, dict[str, object]] = {}
        for (name, backend), number in sorted(self._collect().items()):
            result.setdefault(name, {})[backend] = number
        with self._lock:
            for (name, backend), histogram in sorted(self._histograms.items()):
                result.setdefault(name, {})[backend] = histogram.as_dict()
        return result

    def prometheus_text(self) -> str:
        """Return everything in Prometheus' text format, version 0.0.4."""
        lines: list[str] = []
        snapshot = self.snapshot()
        for name, (kind, description) in DESCRIPTIONS.items():
            if name not in snapshot:
                continue
            full = _PREFIX + name
            lines += [f"# HELP {full} {description}", f"# TYPE {full} {kind}"]
            for backend, value in snapshot[name].items():
                label = f'backend="{_escape_label(backend)}"'
                if isinstance(value, dict):
                    lines += _histogram_lines(full, label, value)
                else:
                    lines.append(f"{full}{{{label}}} {_number(value)}")
        return "\n".join(lines) + "\n" if lines else ""

    @contextmanager
    def profile(self, file: TextIO | None = None) -> Iterator[Profile]:
        """Print a table of what happened inside the block, to standard output or to ``file``."""
        profile = Profile(self.snapshot())
        try:
            yield profile
        finally:
            profile.finish(self.snapshot())
            print(profile.table(), file=file or sys.stdout)


def _add(numbers: dict[tuple[str, str], float], others: Mapping[tuple[str, str], float]) -> None:
    for place, number in others.items():
        numbers[place] = numbers.get(place, 0) + number


def _number(value: object) -> str:
    """Write a number with all its digits: a counter that is rounded stands still."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _escape_label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _histogram_lines(name: str, label: str, value: dict[str, object]) -> Iterator[str]:
    buckets, below = value["buckets"], 0
    assert isinstance(buckets, dict)  # noqa: S101 - for the type checker
    for end, count in buckets.items():
        below += count
        yield f'{name}_bucket{{{label},le="{end}"}} {below}'
    yield f"{name}_sum{{{label}}} {value['sum']:.9g}"
    yield f"{name}_count{{{label}}} {value['count']}"


class Profile:
    """What happened between two snapshots."""

    def __init__(self, before: dict[str, dict[str, object]]) -> None:
        self._before = before
        self.rows: list[tuple[str, str, str, str]] = []

    def finish(self, after: dict[str, dict[str, object]]) -> None:
        """Take the second snapshot."""
        for name, by_backend in after.items():
            if DESCRIPTIONS[name][0] == "gauge":
                continue
            for backend, value in by_backend.items():
                row = _difference(name, backend, self._before.get(name, {}).get(backend), value)
                if row is not None:
                    self.rows.append(row)

    def table(self) -> str:
        """Return the rows as lines of text."""
        rows = [("metric", "backend", "count", "mean"), *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if column < 2 else cell.rjust(width)  # noqa: PLR2004 - the two names
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )


def _difference(name: str, backend: str, before: object, after: object) -> tuple[str, str, str, str] | None:
    """Return a row of the table, or nothing if nothing happened."""
    if isinstance(after, dict):
        old = before if isinstance(before, dict) else {"count": 0, "sum": 0.0}
        count = after["count"] - old["count"]
        mean = (after["sum"] - old["sum"]) / count if count else 0.0
        return (name, backend, str(count), f"{mean * 1e6:.1f} us") if count else None
    old_number = before if isinstance(before, int | float) else 0
    number = after - old_number if isinstance(after, int | float) else 0
    return (name, backend, f"{number:g}", "") if number else None
