"""Everyday requests to the server with SmolLM2: every answer is complete, valid, and written as people write.

They are asked by OpenAI's client, and as the page of the playground asks them.
"""

from __future__ import annotations

import json

import httpx2
import pytest
from tests import everyday
from tests.server.conftest import connect, running

import tokenstile as xgr
from tokenstile.server import ServerConfig
from tokenstile.server.running import EngineOptions, load_app

REQUESTS = everyday.load()


@pytest.fixture(scope="module")
def address(gguf):
    app = load_app(gguf, ServerConfig(model_name="smol"), EngineOptions(num_slots=1, max_length=1024))
    with running(app) as address:
        yield address


@pytest.fixture(scope="module")
def client(address):
    with connect(address) as client:
        yield client


@pytest.fixture(scope="module")
def http(address):
    with httpx2.Client(base_url=address, timeout=120) as http:
        yield http


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


def check(request, text):
    """See that the text of a value is one that people can use."""
    verdict = everyday.judge(request, text)
    assert verdict.parsed, text
    assert verdict.valid, text
    assert not list(everyday.oddities(text)), text


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.name)
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
    check(request_, value_text(request_, choice.message))


def typed(request):
    """Give the kind and the grammar that somebody types into the page."""
    if request.schema is not None:
        return "json", json.dumps(request.schema, indent=2)
    if request.structural_tag is not None:
        return "structural_tag", json.dumps(request.structural_tag, indent=2)
    tag = xgr.get_model_structural_tag("hermes", request.tools, "required", parallel_tool_calls=False)
    return "structural_tag", tag.model_dump_json()


def generate(http, kind, grammar, prompt):
    """Press *Generate*: what ``generate`` of ``app.js`` sends, and what it keeps of the events."""
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0,
        "max_tokens": everyday.MAX_TOKENS,
        "stream": True,
        "return_token_ids": True,
        "structured_outputs": {kind: grammar, "disable_any_whitespace": False, "spelling": None},
    }
    answer = http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events.pop() == "[DONE]"
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    tokens = [token for choice in choices for token in choice.get("token_ids") or []]
    return tokens, "".join(choice["delta"].get("content") or "" for choice in choices)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.name)
def test_the_playground_shows_such_an_answer(http, request_):
    kind, grammar = typed(request_)
    tokens, text = generate(http, kind, grammar, request_.prompt)
    answer = http.post(
        "/playground/inspect",
        json={
            "kind": kind,
            "grammar": grammar,
            "compact": False,
            "spelling": None,
            "text": text,
            "cursor": len(text.encode()),
            "tokens": tokens,
        },
    )
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["is_complete"] or told["is_terminated"]
    assert told["accepted"] == len(tokens) <= everyday.MAX_TOKENS
    assert {token["kind"] for token in told["tokens"]} == {"free", "forced"}
    assert b"".join(bytes.fromhex(token["bytes"]) for token in told["tokens"]).decode() == text
    if request_.tools is None:
        check(request_, request_.value_text(text))
    else:
        # The family writes the name and the arguments in any order.
        call = text.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>")
        assert not list(everyday.oddities(call)), text
        assert json.loads(call)["name"] == request_.tools[0]["function"]["name"]
        check(request_, json.dumps(json.loads(call)["arguments"]))
