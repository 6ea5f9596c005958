"""Times, kept so that quantiles can be told, in memory that does not grow.

A time in nanoseconds is counted by its four highest bits and their place, so buckets are at most an eighth of their
time wide, and a quantile is at most a sixteenth away from the true one.

>>> durations = Durations()
>>> for microseconds in range(1, 1001):
...     durations.observe(microseconds * 1e-6)
>>> round(durations.quantile(0.5) * 1e6), round(durations.quantile(0.99) * 1e6)
(508, 1016)
"""

from __future__ import annotations

from typing import Final

__all__ = ["Durations"]

_KEPT_BITS: Final = 4
_STEPS: Final = 1 << (_KEPT_BITS - 1)
_BUCKETS: Final = 64 * _STEPS
_MOST_SECONDS: Final = 1e9


class Durations:
    """Counts of times. Observing is for one thread at a time."""

    __slots__ = ("_counts", "count", "total")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.count = 0
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count a time."""
        nanoseconds = int(min(max(seconds, 0.0), _MOST_SECONDS) * 1e9)
        shift = max(nanoseconds.bit_length() - _KEPT_BITS, 0)
        self._counts[shift * _STEPS + (nanoseconds >> shift)] += 1
        self.count += 1
        self.total += seconds

    def quantile(self, share: float) -> float:
        """Return the time, in seconds, that a share of all times is not above; zero if there are none."""
        wanted = share * self.count
        below = 0
        for bucket, count in enumerate(self._counts):
            below += count
            if count and below >= wanted:
                return _middle(bucket) * 1e-9
        return 0.0


def _middle(bucket: int) -> float:
    """Return the nanoseconds in the middle of a bucket."""
    shift = max(bucket // _STEPS - 1, 0)
    lowest = (bucket - shift * _STEPS) << shift
    return lowest + ((1 << shift) - 1) / 2
