"""LiteLLM, through OpenAI's, Anthropic's and Ollama's APIs."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.clients.shared import CITY, MODEL, QUESTION, Person

litellm = pytest.importorskip("litellm")
USER = [{"role": "user", "content": QUESTION}]
TOOL = {
    "type": "function",
    "function": {"name": "get_temperature", "description": "In a city.", "parameters": CITY},
}


@pytest.fixture(scope="module", params=["openai", "hosted_vllm", "ollama_chat", "anthropic"])
def ask(root, request):
    """Give the arguments of a call."""
    base = {"openai": f"{root}/v1", "hosted_vllm": f"{root}/v1"}.get(request.param, root)
    return {
        "model": f"{request.param}/{MODEL}",
        "api_base": base,
        "api_key": "none",
        "temperature": 0,
        "max_tokens": 200,
        "messages": USER,
    }


def test_completion(ask):
    assert litellm.completion(**ask).choices[0].message.content


def test_stream(ask):
    chunks = list(litellm.completion(**ask, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def test_schema(ask):
    if ask["model"].startswith("anthropic"):
        pytest.skip("litellm asks Anthropic's API for a tool here, by the names of its models")
    answer = litellm.completion(**ask, response_format=Person)
    assert Person.model_validate_json(answer.choices[0].message.content)


def test_tool(ask):
    if ask["model"].startswith("ollama"):
        pytest.skip("Ollama's API has no way to say that a tool must be called")
    answer = litellm.completion(**ask, tools=[TOOL], tool_choice="required")
    (call, *_) = answer.choices[0].message.tool_calls
    assert json.loads(call.function.arguments)["city"] in CITY["properties"]["city"]["enum"]


def test_async(ask):
    assert asyncio.run(litellm.acompletion(**ask)).choices[0].message.content
