"""The command that starts a server."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(*arguments):
    command = [sys.executable, "-m", "tokenstile.server", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_help():
    done = run("--help")
    assert done.returncode == 0
    for option in ("--host", "--port", "--api-key", "--max-concurrent", "--timeout", "--tool-format"):
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
