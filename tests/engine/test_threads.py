"""How many threads a model gets where nobody says."""

from __future__ import annotations

import os

import pytest

from tokenstile.engine.models import threads


@pytest.mark.parametrize(
    ("processors", "limit", "expected"),
    [
        (1, "max 100000", 1),
        (2, "max 100000", 1),
        (8, "max 100000", 7),
        (64, "max 100000", 16),
        (8, "200000 100000", 1),
        (8, "350000 100000", 3),
        (8, "50000 100000", 1),
        (8, "nonsense", 7),
        (8, None, 7),
    ],
)
def test_default_threads(monkeypatch, tmp_path, processors, limit, expected):
    path = tmp_path / "cpu.max"
    if limit is not None:
        path.write_text(limit, encoding="ascii")
    monkeypatch.setattr(threads, "_CPU_LIMIT", path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(processors)), raising=False)
    assert threads.default_threads() == expected


def test_threads_sleep_unless_the_environment_says_otherwise(monkeypatch):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    threads.let_threads_sleep()
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    threads.let_threads_sleep()
    assert os.environ["OMP_WAIT_POLICY"] == "active"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    threads.let_threads_sleep()
    assert "OMP_WAIT_POLICY" not in os.environ
