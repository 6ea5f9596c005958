"""The set-up's one line of progress: what stays on the screen, and how a failure is told."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "side_by_side.py"


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, TOOL, folder, *arguments], capture_output=True, text=True, check=False
    )


def test_what_they_print_goes_to_files(tmp_path):
    done = run(tmp_path, "one", "echo first; sleep 1.2", "the other", "echo second >&2")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "one: 1 s\n"
    assert (tmp_path / "one.log").read_text() == "first\n"
    assert (tmp_path / "the-other.log").read_text() == "second\n"


def test_they_run_at_the_same_time(tmp_path):
    meet = f"touch {tmp_path}/%s; while [ ! -e {tmp_path}/%s ]; do sleep 0.05; done"
    assert run(tmp_path, "one", meet % ("a", "b"), "other", meet % ("b", "a")).returncode == 0


def test_a_failure_ends_the_others(tmp_path):
    started = time.monotonic()
    done = run(tmp_path, "slow", "sleep 60", "broken", "echo reason; exit 3")
    assert done.returncode == 1
    assert "broken failed" in done.stderr
    assert done.stdout == "reason\n"
    assert time.monotonic() - started < 30


def test_the_others_go_on_where_all_is_shown(tmp_path):
    done = run(tmp_path, "--show", "broken", "exit 3", "other", "sleep 0.5; echo second")
    assert (done.returncode, done.stdout) == (1, "\nsecond\n")
    assert "broken failed" in done.stderr


def test_all_that_was_printed_is_shown(tmp_path):
    done = run(tmp_path, "--show", "one", "echo first", "other", "sleep 0.3; echo second")
    assert done.returncode == 0
    assert done.stdout == "first\nsecond\n"
    assert done.stderr == "one: 0 s\nother: 0 s\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_all_of_them(tmp_path, number):
    beats = tmp_path / "beats"
    process = subprocess.Popen(
        [sys.executable, TOOL, tmp_path, "one", f"while :; do echo >> {beats}; sleep 0.1; done"],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not beats.exists():
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "")
    count = beats.stat().st_size
    time.sleep(1)
    assert beats.stat().st_size == count


def test_without_pairs_it_says_how_it_is_used(tmp_path):
    done = run(tmp_path, "one")
    assert done.returncode == 1
    assert "LABEL COMMAND" in done.stderr
