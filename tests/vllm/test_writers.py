"""The writer of jobs over vLLM, with the real one: what a worker of a Ray job does."""

from __future__ import annotations

import json
import re

import pytest

from tokenstile.engine import SamplingParams
from tokenstile.integrations.writers import VllmWriter, load_writer, vllm_model
from tokenstile.structured_output import StructuredOutputsParams


@pytest.fixture(scope="module")
def writer(model):
    return load_writer(
        vllm_model(
            model,
            dtype="bfloat16",
            max_model_len=512,
            max_num_seqs=4,
            enforce_eager=True,
            structured_outputs_config={"backend": "xgrammar", "disable_any_whitespace": True},
        )
    )


def test_batches(writer):
    assert isinstance(writer, VllmWriter)
    schema = {
        "type": "object",
        "properties": {"city": {"enum": ["Rome", "Oslo"]}},
        "required": ["city"],
        "additionalProperties": False,
    }
    params = SamplingParams(max_tokens=60, temperature=0.5, seed=3)
    assert writer._extra(StructuredOutputsParams(json=schema, spelling="any")) == {
        "tokenstile_spelling": "any"
    }
    assert writer._extra(StructuredOutputsParams(json=schema)) is None
    prompts = {"first": "A city in JSON: ", "second": "Rome is "}
    for structure, fits in (
        (
            # The letters of each key and value have escapes too, and this model likes them.
            StructuredOutputsParams(json=schema, disable_any_whitespace=True, spelling="any"),
            lambda text: json.loads(text)["city"] in ("Rome", "Oslo"),
        ),
        (
            StructuredOutputsParams(json=schema, disable_any_whitespace=True),
            lambda text: json.loads(text)["city"] in ("Rome", "Oslo"),
        ),
        (StructuredOutputsParams(choice=["yes", "no"]), lambda text: text in ("yes", "no")),
        (StructuredOutputsParams(regex="[a-c]{4}"), lambda text: re.fullmatch("[a-c]{4}", text)),
        (StructuredOutputsParams(lark='start: "x" "y"~2'), lambda text: text == "xyy"),
    ):
        writer.warm(structure)
        done = dict(writer.write(prompts, structure, params))
        assert list(done) == list(prompts)
        for result in done.values():
            assert fits(result.text), result
            assert result.finish_reason == "stop"
