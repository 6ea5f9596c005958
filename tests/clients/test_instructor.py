"""Instructor: all its modes for servers with OpenAI's API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable

import pytest

from tests.clients.shared import MODEL, QUESTION, Person

instructor = pytest.importorskip("instructor")
openai = pytest.importorskip("openai")
InstructorRetryException = pytest.importorskip("instructor.v2.core.errors").InstructorRetryException
MODES = ["TOOLS", "TOOLS_STRICT", "FUNCTIONS", "JSON_SCHEMA", "JSON_O1"]
ASK = {
    "model": MODEL,
    "temperature": 0,
    "max_tokens": 300,
    "max_retries": 0,
    "messages": [{"role": "user", "content": QUESTION}],
}


@pytest.fixture
def connect(root):
    return lambda mode: instructor.from_openai(
        openai.OpenAI(base_url=f"{root}/v1", api_key="none", max_retries=0), mode=instructor.Mode[mode]
    )


@pytest.mark.parametrize("mode", MODES)
def test_modes(connect, mode):
    person = connect(mode).chat.completions.create(response_model=Person, **ASK)
    assert isinstance(person, Person)


def test_a_mode_that_tells_the_model_in_words(connect):
    """It asks the server for any object, so what a small model writes may be of another schema."""
    try:
        assert isinstance(connect("JSON").chat.completions.create(response_model=Person, **ASK), Person)
    except InstructorRetryException as error:
        written = error.last_completion
    else:
        return
    assert isinstance(json.loads(written.choices[0].message.content), dict)


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA"])
def test_partial_objects(connect, mode):
    *_, person = connect(mode).chat.completions.create_partial(response_model=Person, **ASK)
    assert person.city in {"Oslo", "Rome", "Paris"}


def test_responses(connect):
    ask = {name: value for name, value in ASK.items() if name != "max_tokens"}
    person = connect("RESPONSES_TOOLS").create(response_model=Person, max_output_tokens=300, **ask)
    assert isinstance(person, Person)


def test_parallel_tools(connect):
    """The model may call tools here and need not."""
    try:
        found = connect("PARALLEL_TOOLS").chat.completions.create(response_model=Iterable[Person], **ASK)
        assert all(isinstance(person, Person) for person in found)
    except InstructorRetryException as error:
        written = error.last_completion
    else:
        return
    assert written.choices[0].message.content


def test_async(root):
    async def main():
        client = instructor.from_openai(
            openai.AsyncOpenAI(base_url=f"{root}/v1", api_key="none", max_retries=0),
            mode=instructor.Mode.JSON_SCHEMA,
        )
        return await client.chat.completions.create(response_model=Person, **ASK)

    assert isinstance(asyncio.run(main()), Person)
