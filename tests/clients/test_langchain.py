"""LangChain with its OpenAI package."""

from __future__ import annotations

import pytest

from tests.clients.shared import CITY, MODEL, QUESTION, Person

langchain_openai = pytest.importorskip("langchain_openai")


@pytest.fixture(scope="module", params=[False, True], ids=["chat", "responses"])
def model(root, request):
    return langchain_openai.ChatOpenAI(
        base_url=f"{root}/v1",
        api_key="none",
        model=MODEL,
        temperature=0,
        max_tokens=200,
        max_retries=0,
        use_responses_api=request.param,
    )


def test_invoke(model):
    assert model.invoke(QUESTION).text


def test_stream(model):
    assert "".join(chunk.text for chunk in model.stream(QUESTION))


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output(model, method):
    person = model.with_structured_output(Person, method=method).invoke(QUESTION)
    assert isinstance(person, Person)


def test_structured_output_of_json_mode(model):
    found = model.with_structured_output(None, method="json_mode").invoke(QUESTION)
    assert isinstance(found, dict)


def test_tools(model):
    tool = {"name": "get_temperature", "description": "In a city.", "parameters": CITY}
    answer = model.bind_tools([tool], tool_choice="any").invoke(QUESTION)
    assert answer.tool_calls[0]["args"]["city"] in CITY["properties"]["city"]["enum"]


def test_batch(model):
    assert all(answer.text for answer in model.batch([QUESTION, "Hello!"]))


def test_create_agent(model):
    agents = pytest.importorskip("langchain.agents")
    from langchain.agents.structured_output import ProviderStrategy, ToolStrategy

    for strategy in (ProviderStrategy, ToolStrategy):
        agent = agents.create_agent(model, tools=[], response_format=strategy(Person))
        found = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})
        assert isinstance(found["structured_response"], Person)
