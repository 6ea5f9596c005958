"""Whole runs with ``TOKENSTILE_VLLM_COMPLETE_IN_TIME``: outputs end within their ``max_tokens``, thoughts included."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
from vllm import SamplingParams
from vllm.exceptions import VLLMClientError
from vllm.sampling_params import StructuredOutputsParams

from tests.vllm.conftest import start

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "likes": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "likes"],
    "additionalProperties": False,
}
PROMPT = "A person who likes a great many things, as JSON: "


@pytest.fixture(scope="module")
def llm(model):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKENSTILE_VLLM_COMPLETE_IN_TIME", "on")
        patch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        from tokenstile.integrations.vllm import patches

        # vLLM loads plug-ins once in a process, and other modules have done so without the switch.
        patches.remove()
        patches.apply()
        yield start(
            model,
            structured_outputs_config={
                "reasoning_parser": "stop_at_period",
                "reasoning_parser_plugin": str(Path(__file__).with_name("stop_at_period.py")),
            },
        )
        patches.remove()
    patches.apply()


def write(llm, prompt, max_tokens):
    params = SamplingParams(
        temperature=0.0, max_tokens=max_tokens, structured_outputs=StructuredOutputsParams(json=PERSON)
    )
    (output,) = llm.generate([prompt], params, use_tqdm=False)
    return output.outputs[0]


@pytest.mark.parametrize("max_tokens", [16, 24, 40])
def test_answers(llm, max_tokens):
    """The thought is over in the prompt; the model would go on listing things for ever."""
    tokenizer = llm.get_tokenizer()
    prompt = {"prompt_token_ids": [*tokenizer.encode(PROMPT), tokenizer.convert_tokens_to_ids(".")]}
    output = write(llm, prompt, max_tokens)
    assert output.finish_reason == "stop"
    assert len(output.token_ids) <= max_tokens
    jsonschema_rs.validate(PERSON, json.loads(output.text))


@pytest.mark.parametrize("max_tokens", [20, 32])
def test_thoughts(llm, max_tokens):
    """The full stop that ends the thought comes in time, whether or not the model would have written it."""
    tokenizer = llm.get_tokenizer()
    prompt = {"prompt_token_ids": tokenizer.encode("<repo_name> 1 2 3 4 5 6 7 8 9 10 11 12 13 14")}
    output = write(llm, prompt, max_tokens)
    assert output.finish_reason == "stop"
    assert len(output.token_ids) <= max_tokens
    thought, _, answer = output.text.partition(".")
    assert thought
    jsonschema_rs.validate(PERSON, json.loads(answer))


def test_no_text_is_so_short(llm):
    with pytest.raises(VLLMClientError, match="does not fit"):
        write(llm, PROMPT, 3)
