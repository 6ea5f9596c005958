"""The table of the everyday requests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from tests import everyday

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def program(monkeypatch):
    """The benchmark, which is a script beside others."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("bench_everyday", BENCHMARKS / "everyday.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_everyday", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def answer(program):
    order = next(request for request in everyday.load() if request.name == "order")

    def make(text, *, writer="tokenstile", complete=True, **more):
        given = {"seed": 0, "num_tokens": 10, "finish_reason": "stop", **more}
        return program.make_answer(writer, order, text=text, complete=complete, **given)

    return make


ORDER = '{"name": "Ben", "city": "Oslo", "item": "lamp", "quantity": 2, "price": 39.9}'


def test_table(program, answer):
    answers = [
        answer(ORDER, num_single=1, num_forced=3, altered=False),
        answer(ORDER.replace("name", "n\\u0061me"), num_single=0, num_forced=2, altered=True),
        answer(ORDER[:-3], complete=False, num_tokens=300, seed=1),
        answer(ORDER, writer="llama.cpp", num_tokens=8),
    ]
    lines = program.table(answers).splitlines()
    assert lines[2] == "| tokenstile, temperature 0 | 2 | 2 | 2 | 1 | 1 | 20 | 1 | 5 | 1 |"
    assert lines[3] == "| tokenstile, temperature 1 | 1 | 0 | 0 | 1 | 0 | 300 | - | - | - |"
    assert lines[4] == "| llama.cpp, temperature 0 | 1 | 1 | 1 | 1 | 1 | 8 | - | - | - |"
    assert lines[-1] == "1 requests: 10 tokens beside llama.cpp's 8, 1.25 times."
    assert len(program.defects(answers)) == 2


def test_each_request_has_a_structure(program):
    for request in everyday.load():
        assert program.structure_of(request, None).key.grammar_spec
