"""Whole runs with drafts from n-grams and a reasoning parser, in one process, so that the manager can be looked at."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from vllm import SamplingParams
from vllm.sampling_params import StructuredOutputsParams

from tests.vllm.conftest import start
from tokenstile.integrations.vllm import rows
from tokenstile.integrations.vllm.backend import VllmBackend

ROW = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "London"]}, "country": {"enum": ["France", "England"]}},
    "required": ["city", "country"],
    "additionalProperties": False,
}
ROWS = {"type": "array", "items": ROW, "minItems": 3, "maxItems": 3}
# What comes next was there before, so that n-grams are found.
EXAMPLE = '[{"city": "Paris", "country": "France"}, {"city": "London", "country": "England"}]'


@pytest.fixture(scope="module")
def llm(model):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        yield start(
            model,
            speculative_config={
                "method": "ngram",
                "num_speculative_tokens": 3,
                "prompt_lookup_max": 4,
                "prompt_lookup_min": 1,
            },
            structured_outputs_config={
                "reasoning_parser": "stop_at_period",
                "reasoning_parser_plugin": str(Path(__file__).with_name("stop_at_period.py")),
            },
            disable_log_stats=False,
        )


@pytest.fixture
def filled(monkeypatch):
    """Note which drafts each call for rows came with."""
    calls = []
    original = rows.fill

    def fill(manager, layout, requests, request_ids, drafts_of):
        calls.append({request_id: list(drafts_of.get(request_id, [])) for request_id in request_ids})
        return original(manager, layout, requests, request_ids, drafts_of)

    monkeypatch.setattr(rows, "fill", fill)
    return calls


def generate(llm, prompts, max_tokens=120, **constraint):
    params = SamplingParams(
        temperature=0.0, max_tokens=max_tokens, structured_outputs=StructuredOutputsParams(**constraint)
    )
    outputs = llm.generate(prompts, params, use_tqdm=False)
    return [output.outputs[0] for output in outputs]


@pytest.fixture(scope="module")
def prompt(llm):
    """Prompts in which the model is still thinking, or has come to the token that ends it."""
    tokenizer = llm.get_tokenizer()

    def make(*, thinking):
        text = f"{EXAMPLE} <repo_name> I think that the cities are Paris and" if thinking else EXAMPLE
        end = [] if thinking else [tokenizer.convert_tokens_to_ids(".")]
        return {"prompt_token_ids": tokenizer.encode(text) + end}

    return make


def drafts_in_metrics(llm):
    return {
        metric.name: metric.value
        for metric in llm.get_metrics()
        if metric.name.startswith("vllm:spec_decode_num_") and hasattr(metric, "value")
    }


def test_drafts(llm, prompt, filled):
    """Reasoning ended in the prompt, so the grammar holds from the first token, through drafts that are taken."""
    (output,) = generate(llm, [prompt(thinking=False)], json=ROWS)
    jsonschema_rs.validate(ROWS, json.loads(output.text))
    assert any(drafts for call in filled for drafts in call.values())
    accepted = drafts_in_metrics(llm)["vllm:spec_decode_num_accepted_tokens"]
    assert accepted > 0


def test_backend(llm):
    manager = llm.llm_engine.engine_core.engine_core.structured_output_manager
    assert isinstance(manager.backend, VllmBackend)


def test_reasoning(llm, prompt):
    """Free text up to the full stop, and then the grammar, with drafts on both sides."""
    (output,) = generate(llm, [prompt(thinking=True)], json=ROWS)
    thought, _, content = output.text.partition(".")
    assert thought.strip()
    jsonschema_rs.validate(ROWS, json.loads(content))


def test_many_at_once(llm, prompt, filled):
    pattern = r"(Paris|London)(, (Paris|London)){2}"
    thinks = [True, False] * 4
    outputs = generate(llm, [prompt(thinking=thinking) for thinking in thinks], regex=pattern)
    for thinking, output in zip(thinks, outputs, strict=True):
        text = output.text.partition(".")[2] if thinking else output.text
        assert re.fullmatch(pattern, text), output
    assert max(len(call) for call in filled) == len(thinks)
