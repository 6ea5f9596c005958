"""Alternatives that are taken out of each other, and conditions that members bear out: no text is lost or too many."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tokenstile as xgr

FREE: dict[str, Any] = {"strict_mode": False}
ORDERED: dict[str, Any] = {"strict_mode": False, "any_order": False}
END = 256
COMPILER = xgr.GrammarCompiler(
    xgr.TokenizerInfo([bytes([byte]) for byte in range(256)] + [b"</s>"], stop_token_ids=[END])
)

TRUE_IN_C = {"properties": {"b": {"not": {"type": "boolean"}}, "c": {"const": True}}}
SOME = {"minProperties": 1}
FEW = {"maxProperties": 1}
P_IN_B = {"type": "object", "properties": {"b": {"const": "p"}}}
AN_OLD_INTEGER = {
    "$id": "http://x/i",
    "id": "http://x/i",
    "$schema": "http://json-schema.org/draft-04/schema#",
    "type": "integer",
}

# A schema, options, a text, and whether it is one of the schema's.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str, bool]] = {
    "a-key-that-only-one-alternative-asks-for": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "anyOf": [SOME, {**SOME, "dependentRequired": {"a": ["q"]}}, FEW],
        },
        {},
        '{"a":1,"q":2}',
        True,
    ),
    "a-key-that-only-one-alternative-lists": (
        {**P_IN_B, "anyOf": [SOME, {**SOME, "not": TRUE_IN_C}, FEW]},
        {},
        '{"b":"p","c":2}',
        True,
    ),
    "the-order-of-one-alternative": (
        {
            **P_IN_B,
            "additionalProperties": True,
            "dependentRequired": {"a": ["c"]},
            "anyOf": [SOME, {**SOME, "not": TRUE_IN_C}, FEW],
        },
        {},
        '{"b":"p","c":2,"a":1}',
        True,
    ),
    "any-spelling-beside-an-integer": (
        {"type": "array", "contains": {"type": "integer"}},
        FREE,
        "[7, 1.50e0]",
        True,
    ),
    "any-spelling-beside-a-multiple": (
        {"type": "array", "contains": {"multipleOf": 2}},
        FREE,
        "[8, 1e2]",
        True,
    ),
    "any-spelling-beside-a-number": ({"type": "array", "contains": {"const": 7}}, FREE, "[7, 100e0]", True),
    "any-spelling-in-an-object": (
        {"type": "object", "not": {"properties": {"a": {"const": 7}, "b": {"const": 7}}}},
        FREE,
        '{"a": 12e-1, "b": "x"}',
        True,
    ),
    "any-order-of-what-is-not-counted": (
        {"type": "array", "contains": {"type": "object", "properties": {"b": {"type": "integer"}}}},
        ORDERED,
        '[{},{"a":2,"b":null}]',
        True,
    ),
    "the-order-of-the-items": (
        {
            "type": "array",
            "contains": {
                "type": "object",
                "properties": {"b": {"minimum": 5}, "a": {"minimum": 5}},
                "required": ["b"],
            },
            "items": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
        },
        ORDERED,
        '[{"b":7},{"a":7,"b":7},{"a":1,"b":1}]',
        True,
    ),
    "an-integer-that-an-old-draft-does-not-know": (
        {
            "type": "array",
            "items": {"type": "integer"},
            "contains": {"$ref": "http://x/i"},
            "maxContains": 1,
            "$defs": {"i": AN_OLD_INTEGER},
        },
        FREE,
        "[1.0]",
        False,
    ),
    "closed-where-it-is-counted": (
        {
            "type": "array",
            "items": {"type": "object"},
            "contains": {"type": "object", "properties": {"a": {}}},
            "maxContains": 5,
        },
        {},
        '[{"z":1}]',
        False,
    ),
    "conditions-that-always-hold": (
        {
            "type": "object",
            "properties": {"a": {"const": "z"}, "b": {"const": "y"}},
            "allOf": [
                {"not": {"properties": {"a": {"const": f"c{at}"}, "b": {"const": f"d{at}"}}}}
                for at in range(7)
            ],
        },
        {},
        '{"a":"z"}',
        True,
    ),
}


@pytest.fixture(autouse=True)
def _every_spelling():
    """What is compared here are values, however they are written."""
    xgr.set_default_spelling("any")
    yield
    xgr.set_default_spelling("canonical")


@pytest.mark.parametrize("name", CASES)
def test_a_text_is_decided_right(name: str):
    schema, options, text, is_valid = CASES[name]
    matcher = xgr.GrammarMatcher(COMPILER.compile_json_schema(json.dumps(schema), **options))
    assert (matcher.accept_string(text) and matcher.accept_token(END)) is is_valid


def test_too_many_conditions_are_said_to_be_so():
    many = [{"not": {"properties": {f"p{key}": {"const": at * key} for key in range(8)}}} for at in range(40)]
    with pytest.raises((xgr.UnsupportedFeatureError, xgr.LimitExceededError)):
        COMPILER.compile_json_schema({"type": "object", "allOf": many}, strict_mode=False)
