"""Pydantic AI: all its ways to an object."""

from __future__ import annotations

import asyncio

import pydantic
import pytest

from tests.clients.shared import MODEL, QUESTION, Person

pydantic_ai = pytest.importorskip("pydantic_ai")


@pytest.fixture(params=["chat", "responses"])
def model(root, request):
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}[request.param]
    provider = OpenAIProvider(base_url=f"{root}/v1", api_key="none")
    return kind(MODEL, provider=provider, settings={"temperature": 0, "max_tokens": 200})


@pytest.mark.parametrize("output", ["ToolOutput", "NativeOutput"])
def test_outputs(model, output):
    kind = getattr(pydantic_ai, output)
    answer = pydantic_ai.Agent(model, output_type=kind(Person), retries=0).run_sync(QUESTION)
    assert isinstance(answer.output, Person)


class Anything(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")


def test_prompted_output(model):
    """The schema is told to the model in words, and the server is asked for an object: this type takes any."""
    kind = pydantic_ai.PromptedOutput(Anything)
    answer = pydantic_ai.Agent(model, output_type=kind, retries=0).run_sync(QUESTION)
    assert isinstance(answer.output, Anything)


def test_text(model):
    assert pydantic_ai.Agent(model).run_sync(QUESTION).output


def test_stream(model):
    async def main():
        agent = pydantic_ai.Agent(model, output_type=pydantic_ai.NativeOutput(Person))
        async with agent.run_stream(QUESTION) as answer:
            return await answer.get_output()

    assert isinstance(asyncio.run(main()), Person)
