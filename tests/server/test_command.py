"""The command that starts a server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest


def run(*arguments):
    command = [sys.executable, "-m", "tokenstile.server", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_help():
    done = run("--help")
    assert done.returncode == 0
    for option in (
        "--host",
        "--port",
        "--api-key",
        "--max-concurrent",
        "--timeout",
        "--tool-format",
        "--max-connections",
    ):
        assert option in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-model"], "neither a GGUF file nor a folder"),
        (["--tool-format", "nobody"], "nobody"),
        (["--tool-format", "qwen_3_coder"], "not JSON"),
        (["--api-key", " "], "blank"),
    ],
)
def test_what_is_wrong_is_said(arguments, said):
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    told = run(*arguments, "--json")
    assert told.returncode == 2
    assert said in json.loads(told.stdout)["error"]["message"]


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--port", str(taken.getsockname()[1]), "--json")
    assert done.returncode == 2
    assert "cannot listen" in json.loads(done.stdout)["error"]["message"]
    assert "Loading" not in done.stderr


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "jinja2"])
def test_what_is_missing_is_named(package):
    code = f"import sys; sys.modules[{package!r}] = None; from tokenstile.cli.serve import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "tokenstile[serve]" in done.stderr
    assert "Traceback" not in done.stderr
