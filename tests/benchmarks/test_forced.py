"""What is counted as forced."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def program():
    """The benchmark, which is a script beside others."""
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("forced", FOLDER / "forced.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(FOLDER))


def test_counts(program):
    forced = [True, True, False, True, True]
    assert program.counts(forced, [2, 1, 2]) == [5, 4, 3, 2]
    assert program.counts(forced, [1, 2, 1, 1]) == [5, 4, 4, 3]
    assert program.counts(None, [5]) is None


def test_forced_bytes(program):
    engine = program.Forcing("tokenstile")
    compiled = engine.compile({"const": 12}, any_whitespace=False)
    assert engine.forced(compiled, b"12") is not None
    assert engine.forced(compiled, b"13") is None
    # Not the whole of it.
    assert engine.forced(engine.compile({"const": [1, 2]}, any_whitespace=False), b"[1") is None
    booleans = engine.compile({"type": "array", "items": {"type": "boolean"}}, any_whitespace=False)
    assert engine.forced(booleans, b"[true]") == [True, False, True, True, True, False]


def test_a_schema_that_is_not_taken(program):
    assert program.Forcing("tokenstile").compile({"type": "nothing"}, any_whitespace=False) is None


def test_collections(program):
    assert program.collection({"id": "BFCL_java_0.json"}) == "BFCL"
    assert program.collection({"id": "Github_easy---o1.json"}) == "Github_easy"
    assert program.collection({"id": "x"}) == "other"
