"""The server with SmolLM2, through OpenAI's own client."""

from __future__ import annotations

import json

import pydantic
import pytest
from tests.server.conftest import connect, running

from tokenstile.server import ServerConfig
from tokenstile.server.running import EngineOptions, load_app

OPTIONS = EngineOptions(num_slots=4, max_length=512, num_threads=1)

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Person(pydantic.BaseModel):
    name: str
    age: int


@pytest.fixture(scope="module", params=["gguf", "hf_folder"])
def client(request):
    """The model as a file for llama.cpp, and as a folder for transformers."""
    source = request.getfixturevalue(request.param)
    app = load_app(source, ServerConfig(model_name="smol"), OPTIONS)
    with running(app) as address, connect(address) as client:
        yield client


def ask(text):
    return {
        "model": "smol",
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        "max_tokens": 80,
    }


def test_parse(client):
    answer = client.chat.completions.parse(
        **ask("Ada is 36 years old. Who is that, in JSON?"), response_format=Person
    )
    assert answer.choices[0].message.parsed == Person(name="Ada", age=36)


def test_plain_text(client):
    asked = ask("What is the capital of France?")
    asked["messages"].insert(0, {"role": "system", "content": "Answer the question."})
    answer = client.chat.completions.create(**asked)
    assert "Paris" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"


def test_tool_call_in_a_stream(client):
    asked = {**ask("What is the weather in Paris?"), "tools": [WEATHER], "tool_choice": "required"}
    name, arguments = "", ""
    for event in client.chat.completions.create(**asked, parallel_tool_calls=False, stream=True):
        for call in event.choices[0].delta.tool_calls or []:
            name += call.function.name or ""
            arguments += call.function.arguments or ""
    assert name == "weather"
    assert json.loads(arguments) == {"city": "Paris"}


def test_required_calls_end_the_answer(client):
    """A small model would talk on after its call if it could."""
    asked = {**ask("What is the weather in Paris?"), "tools": [WEATHER], "tool_choice": "required"}
    (choice,) = client.chat.completions.create(**{**asked, "max_tokens": 200}).choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert json.loads(choice.message.tool_calls[0].function.arguments)["city"] == "Paris"


def test_choice_and_logprobs(client):
    answer = client.completions.create(
        model="smol",
        prompt="The capital of France is",
        temperature=0,
        logprobs=2,
        extra_body={"structured_outputs": {"choice": [" Rome", " Paris"]}},
    )
    assert answer.choices[0].text == " Paris"
    assert answer.choices[0].logprobs.token_logprobs[0] > -0.5
