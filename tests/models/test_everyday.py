"""Everyday requests to the server with SmolLM2: every answer is complete, valid, and written as people write."""

from __future__ import annotations

import pytest
from tests import everyday
from tests.server.conftest import connect, running

from tokenstile.server import ServerConfig
from tokenstile.server.running import EngineOptions, load_app


@pytest.fixture(scope="module")
def client(gguf):
    app = load_app(gguf, ServerConfig(model_name="smol"), EngineOptions(num_slots=1, max_length=1024))
    with running(app) as address, connect(address) as client:
        yield client


def asked(request):
    """Give the fields of a request that say what its answer is to be."""
    if request.tools is not None:
        return {"tools": request.tools, "tool_choice": "required", "parallel_tool_calls": False}
    if request.structural_tag is not None:
        return {"response_format": request.structural_tag}
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": request.name, "schema": request.schema},
        }
    }


def value_text(request, message):
    if request.tools is None:
        return request.value_text(message.content)
    (call,) = message.tool_calls
    return call.function.arguments


@pytest.mark.parametrize("request_", everyday.load(), ids=lambda request: request.name)
def test_the_answer_is_one_that_people_can_use(client, request_):
    answer = client.chat.completions.create(
        model="smol",
        messages=[{"role": "user", "content": request_.prompt}],
        temperature=0,
        max_tokens=everyday.MAX_TOKENS,
        **asked(request_),
    )
    (choice,) = answer.choices
    assert choice.finish_reason == ("stop" if request_.tools is None else "tool_calls"), choice.message
    text = value_text(request_, choice.message)
    verdict = everyday.judge(request_, text)
    assert verdict.parsed, text
    assert verdict.valid, text
    assert not list(everyday.oddities(text)), text
