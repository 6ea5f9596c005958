"""Many streaming clients at once, for a short while; `tests.server.load` is the long one."""

from __future__ import annotations

import asyncio

from tests.server.load import load


def test_many_clients_at_once(serve):
    with serve(num_slots=16) as address:
        report = asyncio.run(load(address, clients=24, seconds=1))
    assert report.errors == []
    assert report.answers >= 24


def test_with_speculation(serve):
    with serve(num_slots=4, speculate=2) as address:
        report = asyncio.run(load(address, clients=6, seconds=0.5))
    assert report.errors == []
    assert report.answers >= 6
