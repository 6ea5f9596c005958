"""Tools: what is called, and how it is read back."""

from __future__ import annotations

import json

import jsonschema_rs
import openai
import pydantic
import pytest

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.server.api.chat import Tool
from tokenstile.server.tools import ToolFormat
from tokenstile.tool_calling.reading import CallBegin, CallPiece, TextPiece

ASK = {"model": "stub", "messages": [{"role": "user", "content": "What is the weather?"}], "max_tokens": 300}
CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": "weather", "parameters": CITY, "strict": True}},
    {"type": "function", "function": {"name": "weather_soon", "parameters": CITY}},
    {"type": "function", "function": {"name": "now"}},
]


def check(calls):
    for call in calls:
        arguments = json.loads(call.function.arguments)
        if call.function.name != "now":
            jsonschema_rs.validate(CITY, arguments)


@pytest.mark.parametrize("seed", range(4))
def test_a_call_is_required(client, seed):
    answer = client.chat.completions.create(
        **ASK, tools=TOOLS[:2], tool_choice="required", parallel_tool_calls=False, seed=seed
    )
    (choice,) = answer.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    (call,) = choice.message.tool_calls
    assert call.function.name in {"weather", "weather_soon"}
    check([call])


@pytest.mark.parametrize("seed", range(2))
def test_no_text_comes_after_required_calls(client, seed):
    """What may be several calls is calls only, in a stream too."""
    asked = {**ASK, "tools": TOOLS[:2], "tool_choice": "required", "seed": seed}
    answer = client.chat.completions.create(**asked).choices[0]
    assert answer.message.content is None
    assert answer.message.tool_calls
    if answer.finish_reason == "tool_calls":
        check(answer.message.tool_calls)
    events = [event.choices[0] for event in client.chat.completions.create(**asked, stream=True)]
    assert not any(event.delta.content for event in events)
    begun = [call.function.name for event in events for call in event.delta.tool_calls or [] if call.id]
    assert begun == [call.function.name for call in answer.message.tool_calls]
    assert events[-1].finish_reason == answer.finish_reason


def test_white_space_is_text_only_before_text(client):
    """In pieces as in one, and a call between two texts takes the white space around it."""
    asked = {**ASK, "tools": TOOLS, "seed": 2, "max_tokens": 30, "n": 2}
    whole = [choice.message.content or "" for choice in client.chat.completions.create(**asked).choices]
    streamed = ["", ""]
    for event in client.chat.completions.create(**asked, stream=True):
        streamed[event.choices[0].index] += event.choices[0].delta.content or ""
    assert streamed == whole


def test_a_function_by_name(client):
    choice = {"type": "function", "function": {"name": "weather_soon"}}
    answer = client.chat.completions.create(**ASK, tools=TOOLS, tool_choice=choice, seed=1)
    assert [call.function.name for call in answer.choices[0].message.tool_calls] == ["weather_soon"]


def test_only_allowed_tools(client):
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    answer = client.chat.completions.create(
        **ASK, tools=TOOLS, tool_choice=choice, parallel_tool_calls=False, seed=1
    )
    assert [call.function.name for call in answer.choices[0].message.tool_calls] == ["weather"]


def test_no_tools(client):
    answer = client.chat.completions.create(
        **ASK, tools=TOOLS, tool_choice="none", response_format={"type": "json_object"}, seed=1
    )
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].message.content.lstrip().startswith("{")


def test_tools_or_else_a_schema(client):
    """With a response format, the model calls tools or answers in it, and never talks."""
    format_ = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY}}
    answer = client.chat.completions.create(
        **ASK, tools=TOOLS[:2], response_format=format_, n=8, seed=1, parallel_tool_calls=False
    )
    for choice in answer.choices:
        if choice.message.tool_calls:
            check(choice.message.tool_calls)
        else:
            jsonschema_rs.validate(CITY, json.loads(choice.message.content))


def test_streamed_calls_are_the_whole_ones(client):
    asked = {**ASK, "tools": TOOLS[:2], "tool_choice": "required", "seed": 3, "parallel_tool_calls": False}
    whole = client.chat.completions.create(**asked).choices[0].message.tool_calls[0]
    name, arguments, reasons = "", "", []
    for event in client.chat.completions.create(**asked, stream=True):
        delta = event.choices[0].delta
        for call in delta.tool_calls or []:
            assert call.index == 0
            name += call.function.name or ""
            arguments += call.function.arguments or ""
        reasons.append(event.choices[0].finish_reason)
    assert (name, arguments) == (whole.function.name, whole.function.arguments)
    assert reasons[-1] == "tool_calls"


class Weather(pydantic.BaseModel):
    city: str = pydantic.Field(max_length=8)


def test_parsed_arguments(client):
    answer = client.chat.completions.parse(
        **ASK,
        tools=[openai.pydantic_function_tool(Weather)],
        tool_choice="required",
        parallel_tool_calls=False,
    )
    assert isinstance(answer.choices[0].message.tool_calls[0].function.parsed_arguments, Weather)


def test_a_conversation_with_results(client):
    first = client.chat.completions.create(
        **ASK, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, seed=1
    )
    message = first.choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": '{"rain": true}'}
    second = client.chat.completions.create(
        **{**ASK, "messages": [*ASK["messages"], message, result], "max_tokens": 5}, tools=TOOLS
    )
    assert second.usage.prompt_tokens > first.usage.prompt_tokens


def reader(*names):
    return ToolFormat("qwen_3").reader(
        [Tool.model_validate({"type": "function", "function": {"name": name}}) for name in names]
    )


CALLS = (
    'Hi. <tool_call>\n{"name": "a", "arguments": {"x": "}\\n</tool_call>", "y": [1, {}]}}\n</tool_call>'
    ' and <tool_call>\n{"name": "ab", "arguments": {}}\n</tool_call> <tool'
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_reading_in_pieces(size):
    """However a text is cut, the same calls are read from it."""
    read = reader("a", "ab")
    pieces = [piece for at in range(0, len(CALLS), size) for piece in read.push(CALLS[at : at + size])]
    pieces += read.push("", final=True)
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    calls = []
    for piece in pieces:
        if isinstance(piece, CallBegin):
            calls.append([piece.name, ""])
        elif isinstance(piece, CallPiece):
            calls[-1][1] += piece.arguments
    assert text == "Hi.  and  <tool"
    assert calls == [["a", '{"x": "}\\n</tool_call>", "y": [1, {}]}'], ["ab", "{}"]]


def test_a_call_that_was_cut_off():
    read = reader("a")
    pieces = [*read.push('<tool_call>\n{"name": "a", "arguments": {"x": "1'), *read.push("", final=True)]
    assert pieces == [CallBegin("a"), CallPiece('{"x": "1')]


def test_families_whose_calls_are_not_json_are_refused():
    assert ToolFormat("llama").write_call("f", "{}") == '{"name": "f", "parameters": {}}'
    with pytest.raises(InvalidArgumentError, match="qwen_3_coder"):
        ToolFormat("qwen_3_coder")
