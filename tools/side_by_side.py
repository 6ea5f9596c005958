"""Run commands side by side with one line of progress; what they print goes to files.

    python3 tools/side_by_side.py LOG_FOLDER [--show] LABEL COMMAND [LABEL COMMAND ...]

A command that has nothing to do leaves nothing on the screen. Where one fails, the others are ended, and the end of
what it printed is shown. With ``--show`` all that a command printed is shown when it is done, and the others go on
where one fails. Needs nothing but Python, because it runs before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

PATIENCE = 1.0
"""Seconds without a word: what is done by then had nothing to do."""
SHOWN_LINES = 40
INTERRUPTED = 130
"""The exit status after Ctrl-C, or where the terminal was closed."""
_interrupted = threading.Event()
_STEPS = (
    (re.compile(r"^\s*Download(?:ing|ed) (?:crates|(\S+)).*$"), "fetching"),
    (re.compile(r"^\s*Compiling (\S+) v.*$"), "compiling"),
    (re.compile(r"^\s*Collecting ([\w.-]+).*$"), "fetching"),
    (re.compile(r"^Installing collected packages.*$"), "installing"),
)


@dataclass
class Job:
    """A command that runs."""

    label: str
    log: Path
    process: subprocess.Popen[bytes]
    started: float
    seconds: float = 0.0
    """How long it took, once it is done."""

    def poll(self) -> int | None:
        """Give how it ended, or nothing while it runs."""
        code = self.process.poll()
        if code is not None and not self.seconds:
            self.seconds = time.monotonic() - self.started
        return code

    def step(self) -> str:
        """Say what it is at, as far as it said so."""
        if self.seconds:
            return "done"
        for line in reversed(_tail(self.log, 4096).splitlines()):
            for pattern, verb in _STEPS:
                if found := pattern.match(line):
                    return " ".join(filter(None, (verb, *found.groups())))
        return "preparing"


class Line:
    """One line of a terminal that is written over, or nothing where there is no terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self._out.write(f"\r\x1b[2K{text[:width]}")
            self._out.flush()

    def print(self, text: str) -> None:
        """Write what a command printed to the standard output."""
        self.show("")
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()

    def keep(self, text: str) -> None:
        """Write a line that stays, and begin another."""
        self.show("")
        self._out.write(text + "\n")
        self._out.flush()


def main(arguments: list[str]) -> int:
    """Run what the command line says."""
    shows = arguments[1:2] == ["--show"]
    pairs = arguments[2 if shows else 1 :]
    if not pairs or len(pairs) % 2:
        sys.exit(__doc__)
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    line = Line(sys.stderr)
    jobs: list[Job] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        for label, command in zip(pairs[::2], pairs[1::2], strict=True):
            jobs.append(_start(label, command, folder))
        return _watch(jobs, line, shows=shows)
    finally:
        line.show("")
        for job in jobs:
            _end(job)


def _interrupt(_number: int, _frame: object) -> None:
    # Not an exception: one that came while a command was being started would leave it running.
    _interrupted.set()


def _start(label: str, command: str, folder: Path) -> Job:
    log = folder / f"{re.sub(r'[^a-z0-9]+', '-', label.lower())}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S602 - the commands are the Makefile's
            command,
            shell=True,
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    return Job(label, log, process, time.monotonic())


def _watch(jobs: list[Job], line: Line, *, shows: bool) -> int:
    started = time.monotonic()
    running = list(jobs)
    has_failed = False
    while running:
        if _interrupted.is_set():
            return INTERRUPTED
        for job in [job for job in running if job.poll() is not None]:
            running.remove(job)
            has_failed |= _tell(job, line, shows=shows)
            if has_failed and not shows:
                return 1
        elapsed = time.monotonic() - started
        if elapsed > PATIENCE:
            line.show(f"{elapsed:4.0f} s   " + "   ".join(f"{job.label}: {job.step()}" for job in jobs))
        time.sleep(0.1)
    return int(has_failed)


def _tell(job: Job, line: Line, *, shows: bool) -> bool:
    """Say how a command ended; gives whether it failed."""
    has_failed = bool(job.poll())
    if shows:
        line.print(job.log.read_text(encoding="utf-8", errors="replace"))
    elif has_failed:
        line.print(_end_of(job.log))
    if has_failed:
        line.keep(f"{job.label} failed; {job.log} has all of this")
    elif shows or job.seconds > PATIENCE:
        line.keep(f"{job.label}: {job.seconds:.0f} s")
    return has_failed


def _end(job: Job) -> None:
    """End a command and all that it started, if it still runs."""
    if job.process.poll() is None:
        os.killpg(job.process.pid, signal.SIGTERM)
        job.process.wait()


def _tail(path: Path, size: int) -> str:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - size, 0))
        return file.read().decode("utf-8", "replace")


def _end_of(path: Path) -> str:
    return "\n".join(_tail(path, 1 << 16).splitlines()[-SHOWN_LINES:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
