"""One call from a prompt to an object, with a model that says what it is told to say."""

from __future__ import annotations

import asyncio
import enum
import re
import threading
from dataclasses import dataclass
from typing import Literal

import pydantic
import pytest
from typing_extensions import TypedDict

import tokenstile as xgr
from tests.stub_model import loaded
from tokenstile import Generator, OutputError, ToolCall, Tools, generate, generate_async
from tokenstile.structured_output import StructuredOutputsParams


class Person(pydantic.BaseModel):
    name: str
    age: int


@dataclass
class Point:
    x: int
    y: int = 7


class Town(TypedDict):
    name: str


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


ANN = '{"name": "Ann", "age": 34}'
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("output_type", "answer", "expected"),
    [
        (Person, ANN, Person(name="Ann", age=34)),
        (Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (Town, '{"name": "Oslo"}', {"name": "Oslo"}),
        (list[int], "[1, 2, 3]", [1, 2, 3]),
        (int | None, "null", None),
        (Literal["yes", "no"], "no", "no"),
        (Literal[1, "a"], '"a"', "a"),
        (Colour, "blue", Colour.BLUE),
        (Level, "2", Level.HIGH),
        (SCHEMA, '{"a": 5}', {"a": 5}),
        (re.compile("[0-9]{4}"), "2026", "2026"),
        (xgr.Grammar.from_ebnf('root ::= "a" "b"+'), "abb", "abb"),
        (StructuredOutputsParams(lark='start: "x"+'), "xx", "xx"),
        (str, "anything at all", "anything at all"),
    ],
    ids=repr,
)
def test_types(output_type, answer, expected):
    assert generate("?", output_type, loaded(answer)) == expected


def test_a_model_is_held_to_the_type():
    person = generate("?", Person, loaded("Sure! Here is your JSON."))
    assert isinstance(person, Person)


def test_an_answer_is_complete_within_its_tokens():
    endless = '{"name": "' + "a" * 500
    person = generate("?", Person, loaded(endless), max_tokens=60)
    assert set(person.name) == {"a"}
    with pytest.raises(xgr.TokenBudgetError):
        generate("?", Person, loaded(endless), max_tokens=3)


def test_free_text_is_cut_off():
    assert generate("?", str, loaded("abcdefgh"), max_tokens=3) == "abc"


def test_compact_and_spelling():
    compact = '{"name":"Ann","age":34}'
    assert generate("?", Person, loaded(compact), compact=True) == Person(name="Ann", age=34)
    structure = Generator(Person, loaded(ANN), compact=True, spelling="any")._output.structure
    assert (structure.disable_any_whitespace, structure.spelling) == (True, "any")


def test_conditions_that_no_grammar_knows():
    class Even(pydantic.BaseModel):
        value: int

        @pydantic.field_validator("value")
        @classmethod
        def is_even(cls, value):
            if value % 2:
                raise ValueError("odd")
            return value

    assert generate("?", Even, loaded('{"value": 4}')).value == 4
    with pytest.raises(OutputError, match="odd") as caught:
        generate("?", Even, loaded('{"value": 3}'))
    assert caught.value.text == '{"value": 3}'


def test_messages_need_a_chat_template():
    messages = [{"role": "user", "content": "?"}]
    with pytest.raises(xgr.InvalidArgumentError, match="chat template"):
        generate(messages, Person, loaded(ANN))
    stub = loaded(ANN)
    seen = []

    def template(messages):
        seen.append(messages)
        return "prompt"

    chatting = type(stub)("stub", stub.model, template)
    assert generate(messages, Person, chatting, system="Be brief.") == Person(name="Ann", age=34)
    assert seen == [[{"role": "system", "content": "Be brief."}, *messages]]


@pytest.mark.parametrize(
    ("output_type", "words"),
    [
        ("[0-9]+", "re.compile"),
        (re.compile("a", re.IGNORECASE), "without flags"),
        (re.compile(b"a"), "one of str"),
        ([], "at least one tool"),
        ([3], r"tools\[0\] must be a function"),
        ([{"type": "function"}], r"tools\[0\] has no name"),
        (print, "JSON Schema"),
        (threading.Lock, "JSON Schema"),
    ],
    ids=repr,
)
def test_what_is_no_type(output_type, words):
    with pytest.raises(xgr.InvalidArgumentError, match=words):
        generate("?", output_type, loaded(""))


def test_what_is_no_model_and_no_option():
    with pytest.raises(xgr.InvalidArgumentError, match="int is no model"):
        Generator(int, 5)
    with pytest.raises(xgr.InvalidArgumentError, match="neither a GGUF file"):
        Generator(int, "no/such/model.gguf")
    with pytest.raises(TypeError, match="max_token;"):
        Generator(int, loaded("1"), max_token=5)
    with pytest.raises(xgr.InvalidArgumentError, match="list of messages"):
        generate(["a"], int, loaded("1"))


# Streams.


def test_a_stream_of_partial_objects():
    parts = list(Generator(Person, loaded(ANN)).stream("?"))
    assert parts[-1] == Person(name="Ann", age=34)
    names = [part.name for part in parts]
    assert names == sorted(names, key=lambda name: len(name or ""))
    assert "A" in names
    assert parts[0].age is None
    assert all(isinstance(part, Person) for part in parts)


def test_nested_parts():
    class Order(pydantic.BaseModel):
        people: list[Person]
        where: Point | None = None

    answer = '{"people": [{"name": "Ann", "age": 3}, {"name": "Bob", "age": 40}], "where": {"x": 1, "y": 2}}'
    parts = list(Generator(Order, loaded(answer)).stream("?"))
    assert any(len(part.people or []) == 2 and part.people[1].age is None for part in parts)
    assert any(part.where == Point(1, 7) for part in parts)
    assert parts[-1] == Order(
        people=[Person(name="Ann", age=3), Person(name="Bob", age=40)], where=Point(1, 2)
    )


def test_parts_of_a_class_whose_module_is_gone():
    namespace = {"__name__": "gone"}
    code = "from dataclasses import dataclass\n@dataclass\nclass Gone:\n    x: int\n    y: int = 2\n"
    exec(compile(code, "gone", "exec", dont_inherit=True), namespace)  # noqa: S102
    parts = list(Generator(namespace["Gone"], loaded('{"x": 1, "y": 5}')).stream("?"))
    assert (parts[0].y, parts[-1].y) == (2, 5)


def test_streams_of_text():
    parts = list(Generator(str, loaded("abc")).stream("?"))
    assert parts[-1] == "abc"
    assert all("abc".startswith(part) for part in parts)
    assert list(Generator(Colour, loaded("red")).stream("?"))[-1] is Colour.RED


def test_a_stream_that_is_left_gives_its_request_up():
    generator = Generator(str, loaded("a" * 4000), max_tokens=4000)
    stream = generator.stream("?")
    assert next(stream) == "a"
    stream.close()
    assert generator("?") == "a" * 4000


# Asynchronous.


def test_asynchronous_calls_run_side_by_side():
    async def main():
        generator = Generator(Person, loaded(ANN))
        together = await asyncio.gather(*(generator.call_async("?") for _ in range(5)))
        parts = [part async for part in generator.stream_async("?")]
        return together, parts

    together, parts = asyncio.run(main())
    assert together == [Person(name="Ann", age=34)] * 5
    assert parts[-1] == Person(name="Ann", age=34)
    assert len(parts) > 2
    assert asyncio.run(generate_async("?", int, loaded("12"))) == 12


# Tools.


def get_temperature(city: Literal["Oslo", "Rome"], days: int = 1) -> str:
    """Give the temperature in a city."""
    return f"{city}, {days}"


CALL = '<tool_call>\n{"name": "get_temperature", "arguments": {"city": "Rome", "days": 2}}\n</tool_call>'


def test_tools():
    (call,) = generate("?", [get_temperature], loaded(CALL))
    assert call == ToolCall("get_temperature", {"city": "Rome", "days": 2})
    assert call.run() == "Rome, 2"


def test_tools_are_told_to_the_model():
    model = loaded(CALL)
    generate("How warm is Rome?", [get_temperature], model)
    (prompt,) = model.model.prompts
    assert "Give the temperature in a city." in prompt
    assert "How warm is Rome?" in prompt


def test_tools_as_data():
    tool = {
        "name": "send",
        "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
    }
    answer = '<tool_call>\n{"name": "send", "arguments": {"to": "Ann"}}\n</tool_call>'
    (call,) = generate("?", Tools([tool]), loaded(answer))
    assert call == ToolCall("send", {"to": "Ann"})
    with pytest.raises(xgr.InvalidArgumentError, match="no function to run"):
        call.run()


def test_several_calls():
    other = CALL.replace("Rome", "Oslo")
    calls = generate("?", Tools([get_temperature], parallel=True), loaded(f"{CALL}\n{other}"))
    assert [call.arguments["city"] for call in calls] == ["Rome", "Oslo"]
    assert len(generate("?", [get_temperature], loaded(f"{CALL}\n{other}"))) == 1
    repeated = generate("?", Tools([get_temperature], parallel=True), loaded(f"{CALL}\n{CALL}\n{other}"))
    assert repeated == calls


def test_a_stream_of_calls():
    parts = list(Generator([get_temperature], loaded(CALL)).stream("?"))
    assert parts[-1] == [ToolCall("get_temperature", {"city": "Rome", "days": 2})]
    assert [ToolCall("get_temperature", {"city": "Rome"})] in parts


def test_tools_with_one_name():
    with pytest.raises(xgr.InvalidArgumentError, match="get_temperature is there twice"):
        Tools([get_temperature, get_temperature])


def test_a_function_that_takes_no_names():
    def add(x: int, y: int, /) -> int:
        return x + y

    with pytest.raises(xgr.InvalidArgumentError, match="by their names"):
        Generator([add], loaded(""))
