"""A few seconds of what `tests.server.chaos` does for minutes: enough to know that it still runs."""

from __future__ import annotations

import sys

import pytest

from tests.server.chaos import chaos


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
def test_a_little_chaos(tmp_path):
    report = chaos(tmp_path, clients=24, seconds=5)
    assert report.failures() == []
    assert report.waits
    assert report.memory
