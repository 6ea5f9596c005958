"""Anthropic's own client."""

from __future__ import annotations

import asyncio

import pytest

from tests.clients.shared import CITY, MODEL, QUESTION, Person

anthropic = pytest.importorskip("anthropic")
USER = [{"role": "user", "content": QUESTION}]
# Newer clients have no parameter for it.
COLD = {"temperature": 0}
ASK = {"model": MODEL, "max_tokens": 200, "extra_body": COLD}
TOOL = {"name": "get_temperature", "description": "In a city.", "input_schema": CITY}


@pytest.fixture(scope="module")
def client(root):
    return anthropic.Anthropic(base_url=root, api_key="none", max_retries=0)


def test_messages(client):
    message = client.messages.create(messages=USER, system="Be brief.", **ASK)
    assert message.content[0].text
    assert message.stop_reason in {"end_turn", "max_tokens"}


def test_stream(client):
    with client.messages.stream(messages=USER, **ASK) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert final.content[0].text == text
    assert final.usage.output_tokens > 0


def test_tool(client):
    message = client.messages.create(messages=USER, tools=[TOOL], tool_choice={"type": "any"}, **ASK)
    assert message.stop_reason == "tool_use"
    block = next(block for block in message.content if block.type == "tool_use")
    assert block.input["city"] in CITY["properties"]["city"]["enum"]
    result = {"type": "tool_result", "tool_use_id": block.id, "content": "12 degrees"}
    conversation = [
        *USER,
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": [result]},
    ]
    again = client.messages.create(
        messages=conversation, tools=[TOOL], tool_choice={"type": "none"}, **{**ASK, "max_tokens": 20}
    )
    assert again.content


def test_named_tool(client):
    choice = {"type": "tool", "name": "get_temperature", "disable_parallel_tool_use": True}
    message = client.messages.create(messages=USER, tools=[TOOL], tool_choice=choice, **ASK)
    assert [block.name for block in message.content] == ["get_temperature"]


def test_tool_stream(client):
    choice = {"type": "tool", "name": "get_temperature", "disable_parallel_tool_use": True}
    with client.messages.stream(messages=USER, tools=[TOOL], tool_choice=choice, **ASK) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert "input_json" in kinds
    assert final.content[0].input["city"] in CITY["properties"]["city"]["enum"]


def test_schema(client):
    format_ = {"type": "json_schema", "schema": Person.model_json_schema()}
    message = client.messages.create(messages=USER, output_config={"format": format_}, **ASK)
    assert Person.model_validate_json(message.content[0].text)


def test_parse(client):
    if not hasattr(client.messages, "parse"):
        pytest.skip("this client has no parse")
    message = client.messages.parse(messages=USER, output_format=Person, **ASK)
    assert isinstance(message.parsed_output, Person)


def test_count_tokens(client):
    counted = client.messages.count_tokens(model=MODEL, messages=USER)
    message = client.messages.create(messages=USER, **{**ASK, "max_tokens": 1})
    assert counted.input_tokens == message.usage.input_tokens


def test_stop_sequences_and_sampling(client):
    asked = {**ASK, "max_tokens": 40, "extra_body": {"temperature": 0.5, "top_p": 0.9, "top_k": 20}}
    message = client.messages.create(
        messages=USER, stop_sequences=["\n"], metadata={"user_id": "me"}, **asked
    )
    assert "\n" not in message.content[0].text


def test_async(root):
    async def main():
        asked = {**ASK, "max_tokens": 20}
        client = anthropic.AsyncAnthropic(base_url=root, api_key="none", max_retries=0)
        async with client, client.messages.stream(messages=USER, **asked) as stream:
            return [text async for text in stream.text_stream]

    assert asyncio.run(main())


def test_errors(client):
    with pytest.raises(anthropic.BadRequestError, match="web_search"):
        client.messages.create(
            messages=USER, tools=[{"type": "web_search_20250305", "name": "web_search"}], **ASK
        )
    with pytest.raises(anthropic.NotFoundError):
        client.messages.create(messages=USER, **{**ASK, "model": "other"})
