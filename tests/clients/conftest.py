"""A server with a real model, in the environment that has it, and what clients are asked for."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from typing import Literal

import pydantic
import pytest

PATIENCE = 120.0
MODEL = "SmolLM2-135M-Instruct"


class Person(pydantic.BaseModel):
    """A person."""

    name: str = pydantic.Field(max_length=30)
    age: int = pydantic.Field(ge=0, le=150)
    city: Literal["Oslo", "Rome", "Paris"]


QUESTION = "Ann Miller, 34 years old, lives in the city of Oslo. Extract the person as JSON."
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome", "Cairo"]}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.fixture(scope="session")
def root():
    """The address of a server."""
    address = os.environ.get("TOKENSTILE_TEST_SERVER")
    if address:
        yield address
        return
    python = os.environ.get("TOKENSTILE_SERVER_PYTHON")
    if not python:
        pytest.skip("no server: make test-clients says which Python has one")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [python, "-m", "tokenstile.server", "--port", str(port), "--log-level", "warning"]
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def _wait(address, server):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:  # noqa: S310 - ours
                assert json.load(answer)["model"] == MODEL
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server did not start")
