"""Ollama's own client."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.clients.shared import CITY, MODEL, QUESTION, Person

ollama = pytest.importorskip("ollama")
USER = [{"role": "user", "content": QUESTION}]
OPTIONS = {"temperature": 0, "num_predict": 200, "seed": 1}
TOOL = {
    "type": "function",
    "function": {"name": "get_temperature", "description": "In a city.", "parameters": CITY},
}


@pytest.fixture(scope="module")
def client(root):
    return ollama.Client(root)


def test_chat(client):
    answer = client.chat(MODEL, USER, options=OPTIONS)
    assert answer.message.content
    assert answer.eval_count > 0


def test_chat_stream(client):
    parts = list(client.chat(MODEL, USER, stream=True, options=OPTIONS))
    assert "".join(part.message.content for part in parts)
    assert parts[-1].done


def test_chat_with_a_schema(client):
    answer = client.chat(MODEL, USER, format=Person.model_json_schema(), options=OPTIONS)
    assert Person.model_validate_json(answer.message.content)


def test_chat_with_a_schema_as_a_stream(client):
    parts = client.chat(MODEL, USER, format=Person.model_json_schema(), stream=True, options=OPTIONS)
    assert Person.model_validate_json("".join(part.message.content for part in parts))


def test_chat_json(client):
    answer = client.chat(MODEL, USER, format="json", options=OPTIONS)
    assert isinstance(json.loads(answer.message.content), dict)


def test_generate(client):
    assert client.generate(MODEL, QUESTION, options=OPTIONS).response
    parts = list(client.generate(MODEL, QUESTION, system="Be brief.", stream=True, options=OPTIONS))
    assert parts[-1].done


def test_generate_with_a_schema(client):
    answer = client.generate(MODEL, QUESTION, format=Person.model_json_schema(), options=OPTIONS)
    assert Person.model_validate_json(answer.response)


def test_tools(client):
    answer = client.chat(MODEL, USER, tools=[TOOL], options=OPTIONS)
    for call in answer.message.tool_calls or []:
        assert call.function.arguments["city"] in CITY["properties"]["city"]["enum"]
    assert answer.message.content or answer.message.tool_calls


def test_tools_of_functions_and_their_results(client):
    def get_temperature(city: str) -> int:
        """Give the temperature.

        Args:
            city: where
        """
        return len(city)

    call = {"function": {"name": "get_temperature", "arguments": {"city": "Oslo"}}}
    messages = [
        *USER,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "get_temperature", "content": "4"},
    ]
    answer = client.chat(MODEL, messages, tools=[get_temperature], options={**OPTIONS, "num_predict": 30})
    assert answer.done


def test_list_and_show(client):
    assert [model.model for model in client.list().models] == [MODEL]
    assert "completion" in client.show(MODEL).capabilities


def test_errors(client):
    with pytest.raises(ollama.ResponseError, match="other"):
        client.chat("other", USER)
    with pytest.raises(ollama.ResponseError, match="strng"):
        client.chat(MODEL, USER, format={"type": "strng"})


def test_async(root):
    async def main():
        client = ollama.AsyncClient(root)
        return await client.chat(MODEL, USER, format=Person.model_json_schema(), options=OPTIONS)

    assert Person.model_validate_json(asyncio.run(main()).message.content)
