"""What a client may ask for, and what it is told otherwise."""

from __future__ import annotations

import json

import pytest

from tokenstile import InvalidArgumentError
from tokenstile.structured_output import GrammarType, StructuredOutputKey, StructuredOutputsParams

ONE_OF_EACH = {
    "json": ('{"type": "null"}', '{"type": "null"}'),
    "regex": ("a+", "a+"),
    "choice": (["a", "é"], json.dumps(["a", "é"])),
    "grammar": ('root ::= "a"', 'root ::= "a"'),
    "json_object": (True, ""),
    "structural_tag": ({"type": "structural_tag"}, '{"type": "structural_tag"}'),
    "lark": ('start: "a"', 'start: "a"'),
}


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_a_key_is_a_kind_and_a_text(kind):
    value, text = ONE_OF_EACH[kind]
    key = StructuredOutputsParams(**{kind: value}).key
    assert key == (GrammarType(kind), text)
    assert isinstance(key, StructuredOutputKey)
    assert StructuredOutputsParams.from_key(key).key == key


def test_the_order_of_properties_is_kept():
    schema = {"properties": {"b": {}, "a": {}}}
    assert json.loads(StructuredOutputsParams(json=schema).key.grammar_spec) == schema
    assert StructuredOutputsParams(json=schema).key.grammar_spec.index('"b"') < 20


@pytest.mark.parametrize("schema", [True, False, "true", {}])
def test_schemas_of_every_form(schema):
    assert StructuredOutputsParams(json=schema).key.grammar_type is GrammarType.JSON


def test_the_empty_regex_is_legal():
    assert StructuredOutputsParams(regex="").key == (GrammarType.REGEX, "")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "none was given"),
        ({"json": "{}", "regex": "a"}, "json and regex were given"),
        ({"json_object": False}, "json_object must be true"),
        ({"choice": []}, "at least one text"),
        ({"choice": ["a", 1]}, r"choice\[1\] must be str, not int"),
        ({"choice": ["a", "b\ud800"]}, r"choice\[1\] has a lone surrogate at 1"),
        ({"regex": "\udfff"}, "regex has a lone surrogate"),
        ({"choice": "ab"}, "choice must be list or tuple, not str"),
        ({"grammar": " \n"}, "grammar must not be blank"),
        ({"json": ""}, "json must not be blank"),
        ({"structural_tag": " "}, "structural_tag must not be blank"),
        ({"lark": ""}, "lark must not be blank"),
        ({"regex": 1}, "regex must be str, not int"),
        ({"regex": "a", "whitespace_pattern": " "}, "whitespace_pattern is not supported"),
    ],
)
def test_wrong_params(given, words):
    with pytest.raises(InvalidArgumentError, match=words):
        StructuredOutputsParams(**given)


def test_values_that_are_not_json():
    with pytest.raises(InvalidArgumentError, match="json is not JSON"):
        _ = StructuredOutputsParams(json={"const": object()}).key
    circle: dict = {}
    circle["a"] = circle
    with pytest.raises(InvalidArgumentError, match="json is not JSON"):
        _ = StructuredOutputsParams(json=circle).key


def test_other_names_of_kinds():
    assert GrammarType.JSON_SCHEMA is GrammarType.JSON
    assert GrammarType.EBNF is GrammarType.GRAMMAR
