"""The programs of examples/ with the real model; in place of vLLM, which is not installed here, an engine."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest
from tests.test_docs import ROOT

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import load_model
from tokenstile.structured_output import StructuredOutputsParams


@pytest.fixture(scope="module")
def model(gguf):
    return load_model(gguf, num_slots=3, max_length=1024, num_threads=1)


@pytest.fixture
def example():
    """Import a program of examples/."""

    def load(name):
        spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return load


def test_extract_invoice(example, model):
    invoice = example("extract_invoice").main(model)
    assert re.fullmatch("INV-[0-9]{4}", invoice["number"])
    assert 1 <= len(invoice["lines"]) <= 3


def test_classify(example, model):
    module = example("classify")
    answers = module.main(model)
    assert list(answers) == list(module.MESSAGES)
    assert set(answers.values()) <= set(module.CLASSES)


def test_sql_query(example, model):
    query, rows = example("sql_query").main(model)
    assert query.upper().startswith("SELECT")
    assert isinstance(rows, list)


def test_agent_loop(example, model):
    call, answer = example("agent_loop").main(model)
    assert call["name"] == "get_temperature"
    assert answer


def test_function_signature(example, model):
    assert re.fullmatch(
        r"the light in the (kitchen|bedroom) is at \d+ %", example("function_signature").main(model)
    )


def test_pydantic_model(example, model):
    assert example("pydantic_model").main(model).title


def test_regex_date(example, model):
    assert 1900 <= example("regex_date").main(model).year < 2100


def test_own_language(example, model):
    program, _ = example("own_language").main(model)
    assert program.endswith("\nstop")


def test_batch_file(example, model, tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text("Great lamp!\nIt broke after a day.\n", encoding="utf-8")
    assert example("batch_file").main(source, target, model) == 2
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [line["review"] for line in lines] == ["Great lamp!", "It broke after a day."]
    assert all(line["stars"] in range(1, 6) for line in lines)


def test_vllm_offline(example, model, monkeypatch):
    """The program's calls, answered by an engine: vLLM itself is tested where it is installed."""

    class LLM:
        def __init__(self, name):
            assert "SmolLM2" in name

        def generate(self, prompts, params):
            engine = Engine(model.model)
            sampling = SamplingParams(max_tokens=params["max_tokens"], temperature=params["temperature"])
            texts = [
                engine.generate(prompt, sampling, structure=params["structured_outputs"])
                for prompt in prompts
            ]
            return [SimpleNamespace(outputs=[SimpleNamespace(text=text)]) for text in texts]

    vllm, parameters = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    vllm.LLM, vllm.SamplingParams = LLM, dict
    parameters.StructuredOutputsParams = StructuredOutputsParams
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", parameters)
    answers = example("vllm_offline").main()
    assert [sorted(answer) for answer in answers] == [["city", "country"]] * 2
