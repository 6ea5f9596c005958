"""SECURITY.md names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def promises():
    """Give the rows of the table of promises: what is promised, the tests, the figure."""
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    section = page.split("## Promises, and what holds them")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def test_each_promise_has_a_test_that_is_there():
    rows = promises()
    assert rows
    for promise, tests, figure in rows:
        assert figure, promise
        folder = Path()
        named = [Path(name) for name in re.findall(r"`([^`]+\.(?:rs|py))`", tests)]
        assert named, promise
        for path in named:
            # Behind a path, names alone are files of the same folder.
            folder = path.parent if path.parent != Path() else folder
            assert (ROOT / folder / path.name).is_file(), path


def test_each_target_of_fuzzing_is_named():
    named = {Path(name).name for _, tests, _ in promises() for name in re.findall(r"`([^`]+)`", tests)}
    targets = {path.name for path in (ROOT / "fuzz" / "targets").iterdir()}
    assert targets <= named
    manifest = (ROOT / "fuzz" / "Cargo.toml").read_text(encoding="utf-8")
    listed = set(re.findall(r'^path = "targets/(\w+\.rs)"', manifest, re.MULTILINE))
    driver = (ROOT / "fuzz" / "coverage_guided.py").read_text(encoding="utf-8")
    run = {
        f"{name}.rs" for name in re.findall(r'^    (?:    )?(?:Target\()?"(\w+)",? ?', driver, re.MULTILINE)
    }
    assert listed == targets
    assert targets <= run
