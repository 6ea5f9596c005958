"""Completions, through OpenAI's own client."""

from __future__ import annotations

import json
import re

import pytest

DIGITS = {"structured_outputs": {"regex": "[0-9]{5}"}}


def test_several_prompts_and_outputs(client):
    answer = client.completions.create(
        model="stub", prompt=["one", "two"], n=2, seed=1, max_tokens=20, extra_body=DIGITS
    )
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert all(re.fullmatch("[0-9]{5}", choice.text) for choice in answer.choices)
    single = client.completions.create(model="stub", prompt="one", seed=1, max_tokens=20, extra_body=DIGITS)
    assert single.choices[0].text == answer.choices[0].text
    assert answer.usage.prompt_tokens == 2 * single.usage.prompt_tokens


def test_tokens_as_prompt(client):
    asked = {"model": "stub", "max_tokens": 8, "temperature": 0, "extra_body": DIGITS}
    one = client.completions.create(prompt=[100, 200, 300], **asked)
    two = client.completions.create(prompt=[[100, 200, 300], [100]], **asked)
    assert one.choices[0].text == two.choices[0].text
    assert two.usage.prompt_tokens == 4


@pytest.mark.parametrize("stream", [False, True])
def test_logprobs(client, stream):
    answer = client.completions.create(
        model="stub", prompt="x", logprobs=2, max_tokens=20, extra_body=DIGITS, seed=2, stream=stream
    )
    choices = [event.choices[0] for event in answer] if stream else answer.choices
    tokens = [token for choice in choices for token in choice.logprobs.tokens]
    offsets = [offset for choice in choices for offset in choice.logprobs.text_offset]
    text = "".join(choice.text for choice in choices)
    assert "".join(tokens) == text
    assert [text[at:].startswith(token) for at, token in zip(offsets, tokens, strict=True)]
    assert choices[-1].finish_reason == "stop"


def test_response_format(client):
    schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
    format_ = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    answer = client.completions.create(
        model="stub", prompt="x", max_tokens=40, extra_body={"response_format": format_}
    )
    assert json.loads(answer.choices[0].text)["a"] in {1, 2}
