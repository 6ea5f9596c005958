"""Quantiles of times."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokenstile.structured_output.durations import Durations
from tokenstile.structured_output.metrics import Metrics


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=50), st.sampled_from([0.01, 0.5, 0.9, 0.99, 1]))
def test_quantiles_are_near(nanoseconds, share):
    durations = Durations()
    for one in nanoseconds:
        durations.observe(one * 1e-9)
    in_order = sorted(nanoseconds)
    wanted = next(one for at, one in enumerate(in_order) if at + 1 >= share * len(in_order))
    assert abs(durations.quantile(share) * 1e9 - wanted) <= wanted / 16 + 1
    assert durations.count == len(nanoseconds)


def test_no_times_and_times_of_any_size():
    durations = Durations()
    assert durations.quantile(0.5) == 0
    for seconds in (-1.0, 0.0, 1e-12, 1e300):
        durations.observe(seconds)
    assert durations.count == 4
    assert durations.quantile(1) > 1e8, "times are counted as at most thirty years"


def test_the_managers_histograms_tell_them():
    metrics = Metrics()
    for microseconds in range(1, 101):
        metrics.observe("fill_seconds", "tokenstile", microseconds * 1e-6)
    found = metrics.snapshot()["fill_seconds"]["tokenstile"]
    assert found["count"] == 100
    assert 47e-6 <= found["p50"] <= 54e-6
    assert 92e-6 <= found["p99"] <= found["max"] <= 101e-6
