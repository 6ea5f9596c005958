"""The programs of examples/ with the real model; in place of vLLM, which is not installed here, an engine."""

from __future__ import annotations

import json
import re

import pytest
from tests.example_programs import answer_for_vllm, load_example

from tokenstile.engine.models.loading import load_model


@pytest.fixture(scope="module")
def model(gguf):
    return load_model(gguf, num_slots=3, max_length=1024, num_threads=1)


def test_extract_invoice(model):
    invoice = load_example("extract_invoice").main(model)
    assert re.fullmatch("INV-[0-9]{4}", invoice["number"])
    assert 1 <= len(invoice["lines"]) <= 3


def test_classify(model):
    module = load_example("classify")
    answers = module.main(model)
    assert list(answers) == list(module.MESSAGES)
    assert set(answers.values()) <= set(module.CLASSES)


def test_sql_query(model):
    query, rows = load_example("sql_query").main(model)
    assert query.upper().startswith("SELECT")
    assert isinstance(rows, list)


def test_agent_loop(model):
    call, answer = load_example("agent_loop").main(model)
    assert call["name"] == "get_temperature"
    assert answer


def test_function_signature(model):
    assert re.fullmatch(
        r"the light in the (kitchen|bedroom) is at \d+ %", load_example("function_signature").main(model)
    )


def test_pydantic_model(model):
    assert load_example("pydantic_model").main(model).title


def test_regex_date(model):
    assert 1900 <= load_example("regex_date").main(model).year < 2100


def test_own_language(model):
    program, _ = load_example("own_language").main(model)
    assert program.endswith("\nstop")


def test_batch_file(model, tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text("Great lamp!\nIt broke after a day.\n", encoding="utf-8")
    assert load_example("batch_file").main(source, target, model) == 2
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [line["review"] for line in lines] == ["Great lamp!", "It broke after a day."]
    assert all(line["stars"] in range(1, 6) for line in lines)


def test_vllm_offline(model, monkeypatch):
    """vLLM itself is tested where it is installed."""
    answer_for_vllm(model, monkeypatch)
    answers = load_example("vllm_offline").main()
    assert [sorted(answer) for answer in answers] == [["city", "country"]] * 2
