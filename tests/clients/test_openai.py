"""OpenAI's own client: chat completions and responses."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.clients.shared import CITY, MODEL, QUESTION, Person

openai = pytest.importorskip("openai")
USER = [{"role": "user", "content": QUESTION}]
TOOL = {
    "type": "function",
    "function": {"name": "get_temperature", "description": "In a city.", "parameters": CITY},
}
ASK = {"model": MODEL, "temperature": 0, "max_tokens": 200}
RESPOND = {"model": MODEL, "temperature": 0, "max_output_tokens": 200}


@pytest.fixture(scope="module")
def client(root):
    return openai.OpenAI(base_url=f"{root}/v1", api_key="none", max_retries=0)


@pytest.fixture
def make_async(root):
    return lambda: openai.AsyncOpenAI(base_url=f"{root}/v1", api_key="none", max_retries=0)


def test_models(client):
    assert [model.id for model in client.models.list()] == [MODEL]


def test_chat(client):
    answer = client.chat.completions.create(messages=USER, **ASK)
    assert answer.choices[0].message.content
    assert answer.usage.total_tokens > 10


def test_chat_stream(client):
    texts = [
        event.choices[0].delta.content or ""
        for event in client.chat.completions.create(messages=USER, stream=True, **ASK)
    ]
    assert len("".join(texts)) > 5


def test_chat_parse(client):
    answer = client.chat.completions.parse(messages=USER, response_format=Person, **ASK)
    assert isinstance(answer.choices[0].message.parsed, Person)


def test_chat_parse_stream(client):
    with client.chat.completions.stream(messages=USER, response_format=Person, **ASK) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert {"content.delta", "content.done"} <= kinds
    assert isinstance(final.choices[0].message.parsed, Person)


def test_chat_json_object(client):
    answer = client.chat.completions.create(messages=USER, response_format={"type": "json_object"}, **ASK)
    assert isinstance(json.loads(answer.choices[0].message.content), dict)


def test_chat_tool(client):
    answer = client.chat.completions.create(messages=USER, tools=[TOOL], tool_choice="required", **ASK)
    call = answer.choices[0].message.tool_calls[0]
    assert json.loads(call.function.arguments)["city"] in CITY["properties"]["city"]["enum"]


def test_chat_tool_stream_has_valid_prefixes(client):
    stream = client.chat.completions.create(
        messages=USER, tools=[TOOL], tool_choice="required", parallel_tool_calls=False, stream=True, **ASK
    )
    arguments = ""
    for event in stream:
        for call in event.choices[0].delta.tool_calls or []:
            arguments += call.function.arguments or ""
            assert arguments == "" or arguments.startswith("{")
    assert json.loads(arguments)["city"] in CITY["properties"]["city"]["enum"]


def test_chat_tool_of_a_model(client):
    answer = client.chat.completions.parse(
        messages=USER, tools=[openai.pydantic_function_tool(Person)], tool_choice="required", **ASK
    )
    assert isinstance(answer.choices[0].message.tool_calls[0].function.parsed_arguments, Person)


def test_chat_a_named_tool(client):
    choice = {"type": "function", "function": {"name": "get_temperature"}}
    answer = client.chat.completions.create(messages=USER, tools=[TOOL], tool_choice=choice, **ASK)
    assert answer.choices[0].message.tool_calls[0].function.name == "get_temperature"


def test_chat_goes_on_after_a_tool(client):
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "get_temperature", "arguments": '{"city": "Oslo"}'},
    }
    messages = [
        {"role": "user", "content": "How warm is it in Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "12 degrees"},
    ]
    answer = client.chat.completions.create(messages=messages, tools=[TOOL], tool_choice="none", **ASK)
    assert answer.choices[0].message.content


def test_chat_parameters_of_sampling(client):
    answer = client.chat.completions.create(
        messages=USER,
        frequency_penalty=0.5,
        presence_penalty=0.5,
        logit_bias={"5": -100},
        seed=1,
        n=2,
        top_p=0.9,
        logprobs=True,
        top_logprobs=2,
        stop=["\n\n"],
        user="me",
        reasoning_effort="low",
        extra_body={"min_p": 0.05, "repetition_penalty": 1.1},
        **{**ASK, "temperature": 0.7, "max_tokens": 30},
    )
    assert len(answer.choices) == 2
    (warning,) = answer.model_extra["warnings"]
    assert warning.startswith("reasoning_effort was ignored")


def test_chat_async(make_async):
    async def main():
        async with make_async() as client:
            answers = await asyncio.gather(
                *(
                    client.chat.completions.parse(messages=USER, response_format=Person, **ASK)
                    for _ in range(3)
                )
            )
            stream = await client.chat.completions.create(messages=USER, stream=True, **ASK)
            return answers, [event async for event in stream]

    answers, events = asyncio.run(main())
    assert all(isinstance(answer.choices[0].message.parsed, Person) for answer in answers)
    assert events


def test_completions(client):
    answer = client.completions.create(prompt="The capital of France is", **{**ASK, "max_tokens": 5})
    assert answer.choices[0].text


def test_errors(client):
    schema = {"name": "a", "schema": {"type": "strng"}}
    with pytest.raises(openai.BadRequestError, match="strng") as caught:
        client.chat.completions.create(
            messages=USER, response_format={"type": "json_schema", "json_schema": schema}, **ASK
        )
    assert caught.value.param == "response_format.json_schema.schema"
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(messages=USER, **{**ASK, "model": "other"})


def test_responses(client):
    answer = client.responses.create(input=QUESTION, instructions="Be brief.", **RESPOND)
    assert answer.output_text
    assert answer.usage.output_tokens > 0


def test_responses_parse(client):
    answer = client.responses.parse(input=QUESTION, text_format=Person, **RESPOND)
    assert isinstance(answer.output_parsed, Person)


def test_responses_stream(client):
    with client.responses.stream(input=QUESTION, text_format=Person, **RESPOND) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(deltas) == final.output_text
    assert isinstance(final.output_parsed, Person)


RESPONSES_TOOL = {"type": "function", "name": "get_temperature", "parameters": CITY, "strict": True}


def test_responses_tool(client):
    answer = client.responses.create(
        input=QUESTION, tools=[RESPONSES_TOOL], tool_choice="required", **RESPOND
    )
    call = answer.output[0]
    assert call.type == "function_call"
    assert json.loads(call.arguments)["city"] in CITY["properties"]["city"]["enum"]
    items = [
        {"role": "user", "content": QUESTION},
        call.model_dump(),
        {"type": "function_call_output", "call_id": call.call_id, "output": "12"},
    ]
    assert client.responses.create(input=items, **RESPOND).output_text


def test_responses_tool_stream(client):
    stream = client.responses.create(
        input=QUESTION, tools=[RESPONSES_TOOL], tool_choice="required", stream=True, **RESPOND
    )
    events = list(stream)
    arguments = "".join(
        event.delta for event in events if event.type == "response.function_call_arguments.delta"
    )
    assert json.loads(arguments.strip()[: arguments.strip().find("}") + 1])
    assert events[-1].type == "response.completed"


def test_responses_json_object(client):
    answer = client.responses.create(input=QUESTION, text={"format": {"type": "json_object"}}, **RESPOND)
    assert isinstance(json.loads(answer.output_text), dict)


def test_responses_async(make_async):
    async def main():
        async with make_async() as client:
            return await client.responses.parse(input=QUESTION, text_format=Person, **RESPOND)

    assert isinstance(asyncio.run(main()).output_parsed, Person)
