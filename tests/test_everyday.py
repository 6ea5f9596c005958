"""The everyday requests, and how their answers are judged."""

from __future__ import annotations

import json

import pytest

import tokenstile as xgr
from tests import everyday
from tests.everyday import Request, judge, oddities

REQUESTS = everyday.load()
PERSON = Request(
    "person",
    "",
    schema={
        "type": "object",
        "properties": {"name": {"type": "string"}, "born": {"type": "string", "format": "date"}},
        "required": ["name"],
    },
)


def test_there_are_enough_and_each_has_a_name():
    assert len(REQUESTS) >= 20
    assert len({request.name for request in REQUESTS}) == len(REQUESTS)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.name)
def test_each_is_one_thing_and_compiles(request_):
    assert sum(part is not None for part in (request_.schema, request_.tools, request_.structural_tag)) == 1
    xgr.Grammar.from_json_schema(request_.value_schema)
    if request_.structural_tag is not None:
        xgr.Grammar.from_structural_tag(request_.structural_tag)


@pytest.mark.parametrize(
    ("text", "parsed", "valid", "plain"),
    [
        ('{"name": "Ada", "born": "1815-12-10"}', True, True, True),
        ('{"name": "Ada", "born": "1815-13-10"}', True, False, True),
        ('{"name": "Ad\\u0061"}', True, True, False),
        ('{"name":  "Ada"}', True, True, False),
        ('{"name": "Ada', False, False, True),
    ],
)
def test_judge(text, parsed, valid, plain):
    assert judge(PERSON, text) == everyday.Verdict(parsed, valid, plain)


def test_a_number_that_no_double_holds_is_not_valid():
    assert not judge(Request("number", "", schema={"type": "number"}), "3E999").valid


@pytest.mark.parametrize("indent", [None, 1, 2, 4, 8, "\t"])
def test_what_python_writes_is_plain(indent):
    value = {"a": [1, {"b": 'é "\\ \n\x00'}], "c": {}}
    assert not list(oddities(json.dumps(value, indent=indent, ensure_ascii=False)))
    assert not list(oddities(json.dumps(value, separators=(",", ":"))))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"n\\u0061me": 1}', ["\\u0061"]),
        ('"\\/"', ["\\/"]),
        ('"\\\\u0061"', []),
        ('"a\n  b"', []),
        ('{\n\n"a": 1}', ["\n\n"]),
        ('{\r\n"a": 1}', ["\r\n"]),
        ('{\n         "a": 1}', ["\n         "]),
        ('{\n        "a": 1}', []),
        ('{"a":\t1}', ["\t"]),
        ("1  ", ["  "]),
    ],
)
def test_oddities(text, found):
    assert list(oddities(text)) == found


def test_the_value_in_a_call_and_behind_text():
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}\n</tool_call>'
    behind = 'It is.\n\n```json\n{"city": "Rome", "capital": true}\n```'
    values = {request.name: request.value_text for request in REQUESTS}
    assert json.loads(values["weather_tool"](call)) == {"city": "Paris", "unit": "celsius"}
    assert json.loads(values["text_then_answer"](behind)) == {"city": "Rome", "capital": True}
    # What is cut off has no value.
    assert values["weather_tool"](call[:-4]) == values["text_then_answer"](behind[:-4]) == ""
