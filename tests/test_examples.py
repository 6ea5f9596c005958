"""The programs of examples/ with a stub of the model's logits; with the real model they run in tests/models.

The stub wants to say one text. What the masks take away it cannot say, so a program that asks for the wrong structure
fails here as it would with a model.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date

import pytest

from tests.example_programs import answer_for_vllm, load_example
from tests.stub_model import loaded
from tests.test_docs import ROOT

pytest.importorskip("pydantic")

CALL = '<tool_call>\n{"name": "get_temperature", "arguments": {"city": "Oslo"}}\n</tool_call>'
BOOK = '{"title": "Moby Dick", "author": "Melville", "year": 1851, "genre": "novel"}'
INVOICE = {
    "number": "INV-2041",
    "due": "2026-04-30",
    "currency": "EUR",
    "lines": [{"item": "lamp", "quantity": 3, "price": 40}, {"item": "desk", "quantity": 1, "price": 250}],
    "total": 370,
}


def test_extract_invoice():
    assert load_example("extract_invoice").main(loaded(json.dumps(INVOICE))) == INVOICE


def test_classify():
    module = load_example("classify")
    assert module.main(loaded("delivery")) == dict.fromkeys(module.MESSAGES, "delivery")


def test_sql_query():
    query, rows = load_example("sql_query").main(loaded("SELECT name FROM employees WHERE salary > 4000"))
    assert (query, rows) == ("SELECT name FROM employees WHERE salary > 4000", [("Ann",), ("Ben",)])


def test_agent_loop():
    call, answer = load_example("agent_loop").main(loaded(CALL))
    assert call == {"name": "get_temperature", "arguments": {"city": "Oslo"}}
    assert answer


def test_function_signature():
    done = load_example("function_signature").main(loaded('{"room": "bedroom", "percent": 40}'))
    assert done == "the light in the bedroom is at 40 %"


def test_pydantic_model():
    assert load_example("pydantic_model").main(loaded(BOOK)).model_dump() == json.loads(BOOK)


def test_regex_date():
    assert load_example("regex_date").main(loaded("1969-07-20")) == date(1969, 7, 20)


def test_own_language():
    program = "go 3\nturn left\nrepeat 2 { go 1 }\nstop"
    assert load_example("own_language").main(loaded(program)) == (program, (-2, 3))


def test_batch_file(tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text("Great lamp!\nIt broke after a day.\n", encoding="utf-8")
    assert (
        load_example("batch_file").main(source, target, loaded('{"stars": 5, "would_buy_again": true}')) == 2
    )
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"review": review, "stars": 5, "would_buy_again": True} for review in source.read_text().splitlines()
    ]


def test_vllm_offline(monkeypatch):
    answer_for_vllm(loaded('{"city": "Paris", "country": "France"}'), monkeypatch)
    assert load_example("vllm_offline").main() == [{"city": "Paris", "country": "France"}] * 2


def test_random_json():
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "random_json.py"], capture_output=True, text=True, check=True
    )
    assert done.stdout


def test_no_program_is_left_out():
    here = (ROOT / "tests" / "test_examples.py").read_text(encoding="utf-8")
    programs = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"demo"}
    assert {name for name in programs if f"def test_{name}(" not in here} == set()
