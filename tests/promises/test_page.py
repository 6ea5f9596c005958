"""The page of promises names tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.test_docs import ROOT

PAGE = ROOT / "docs" / "promises.md"
ROW = re.compile(r"^\| (?P<promise>.+?) \| `(?P<file>[\w/.]+)::(?P<test>\w+)` \|$", re.MULTILINE)
ROWS = [
    (found["promise"], found["file"], found["test"])
    for found in ROW.finditer(PAGE.read_text(encoding="utf-8"))
]


def has_test(text, name, is_rust):
    """Tell whether a file has a test of that name: not any function, and not in a comment."""
    if is_rust:
        return re.search(rf"#\[test\](?:\s*#\[[^\]]*\])*\s*fn {name}\(", text) is not None
    return (
        name.startswith("test_") and re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE) is not None
    )


@pytest.mark.parametrize(("promise", "file", "test"), ROWS, ids=[row[0] for row in ROWS])
def test_each_promise_has_its_test(promise, file, test):
    path = ROOT / file
    assert path.is_file(), f"{promise}: there is no {file}"
    assert has_test(path.read_text(encoding="utf-8"), test, path.suffix == ".rs"), (
        f"{promise}: no {test} in {file}"
    )


def test_every_row_is_read():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    headings = PAGE.read_text(encoding="utf-8").count("| what is promised | test |")
    assert headings >= 5
    assert len(rows) == len(ROWS) + headings
    assert len(ROWS) >= 90


def test_every_program_is_in_the_page():
    """A test that nothing names shows nothing: the programs of this folder are all there."""
    named = {(file, test) for _, file, test in ROWS}
    folder = ROOT / "tests" / "promises"
    for path in sorted(folder.glob("test_*.py")):
        if path.name == "test_page.py":
            continue
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert (f"tests/promises/{path.name}", name) in named, f"{name} of {path.name}"
