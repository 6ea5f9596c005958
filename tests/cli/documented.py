"""The commands of docs/cli.md: a ``console`` block has commands after ``$`` and what they write."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
FILE = re.compile(r"`([\w.]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
TIME = re.compile(r"[\d.,]+ (µs|ms)")
AGE = re.compile(r" +\d+ s ago$")
FOLDER = re.compile(r"(in|from) /\S+$")


def write_files(folder: Path) -> None:
    """Write the files that the page shows."""
    for found in FILE.finditer(PAGE.read_text(encoding="utf-8")):
        (folder / found[1]).write_text(found[2], encoding="utf-8")


def commands() -> list[tuple[str, str]]:
    """Give the commands of the page, and what each writes."""
    found = []
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, said = part.partition("\n")
            found.append((command, plain(said)))
    return found


def needs_model(command: str) -> bool:
    """Tell whether a command of the page is one of those that need the embedded model."""
    return command.startswith(("tokenstile generate", "tokenstile cache"))


def run_documented(command: str, folder: Path) -> str:
    """Run a command of the page, and give what it writes."""
    arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "tokenstile", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
    )
    return plain(done.stdout if done.stdout.strip() else done.stderr)


def plain(text: str) -> str:
    """Take off what differs from run to run: times, the user's folders, and white space at the ends of lines."""
    return "\n".join(_plain_line(line.rstrip()) for line in text.strip("\n").splitlines())


def _plain_line(line: str) -> str:
    return FOLDER.sub(r"\1 FOLDER", AGE.sub(" N s ago", TIME.sub(r"N \1", line)))
