"""Large schemas cost what their size is, and hostile ones end.

The bounds are generous, for a busy machine and a build without optimisations; what they must catch is growth that is
not linear, which passes any bound. Each schema is compiled and its first mask is made.
"""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import tokenstile as xgr
from tests.json_schema import walk
from tests.json_schema.decide import Refusal, decider

SECONDS = 20.0
# A hostile schema ends on its own; this is far more than it takes, also on a machine with other work to do.
HOSTILE_SECONDS = 60.0


def nested(depth, make, inner):
    for _ in range(depth):
        inner = make(inner)
    return inner


def doubling(depth, make):
    """Return a schema each level of which mentions the next one twice, without writing it twice."""
    levels = {f"d{at}": make(at, {"$ref": f"#/$defs/d{at + 1}"}) for at in range(depth)}
    return {"$defs": {**levels, f"d{depth}": {"maxProperties": 9}}, "$ref": "#/$defs/d0"}


def properties(count):
    return {
        "type": "object",
        "properties": {f"key {number}": {"type": "string"} for number in range(count)},
        "required": [f"key {number}" for number in range(0, count, 7)],
    }


LARGE = {
    "a megabyte": {
        "type": "object",
        "properties": {
            f"key {number}": {
                "type": "object",
                "description": "x" * 100,
                "properties": {
                    "a": {"type": "integer", "minimum": number},
                    "b": {"enum": ["c", f"{number}"]},
                },
            }
            for number in range(5_000)
        },
    },
    "5,000 properties": properties(5_000),
    "100,000 strings": {"enum": [f"string {number * 7919 % 1_000_003}" for number in range(100_000)]},
    "20 levels": nested(
        20, lambda inner: {"type": "object", "properties": {"a": {"type": "array", "items": inner}}}, True
    ),
    "one of 8,000 strings": {"oneOf": [{"const": f"string {number}"} for number in range(8_000)]},
    "any of 8,000 strings": {"anyOf": [{"const": f"string {number}"} for number in range(8_000)]},
    "one of 8,000 numbers": {"oneOf": [{"const": number, "title": "x"} for number in range(8_000)]},
    "any of 8,000 ranges": {
        "anyOf": [
            {"type": "integer", "minimum": 10 * at, "maximum": 10 * at + 8, "multipleOf": 3}
            for at in range(8_000)
        ]
    },
    "one of 900 objects": {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": number}, "value": {"type": "integer"}},
                "required": ["kind"],
            }
            for number in range(900)
        ]
    },
    "one of 8,000 lists of strings": {
        "oneOf": [{"enum": [f"{number}-{at}" for at in range(5)]} for number in range(8_000)]
    },
    "keys that ask for others": {
        "type": "object",
        "properties": {f"k{at}": {"type": "string"} for at in range(801)},
        "dependentSchemas": {f"k{at}": {"required": [f"k{at + 1}"]} for at in range(800)},
    },
    "maxLength": {"type": "string", "minLength": 10, "maxLength": 100_000},
    "not such a length": {"type": "string", "not": {"minLength": 10, "maxLength": 100_000}},
    "maxItems": {"type": "array", "items": {"type": "integer"}, "minItems": 5_000, "maxItems": 10_000},
    "maxProperties": {"type": "object", "minProperties": 100, "maxProperties": 10_000},
}


LISTS = {
    "integers": lambda count: {"const": list(range(count))},
    "strings": lambda count: {"const": [f"s{number}" for number in range(count)]},
    "objects": lambda count: {"const": [{"a": number} for number in range(count)]},
    "items one by one": lambda count: {"prefixItems": [{"const": number} for number in range(count)]},
    "properties": properties,
}


@pytest.mark.parametrize("name", LISTS)
def test_what_is_kept_grows_with_the_size(name):
    """Bytes are counted, which no other work on the machine changes."""
    small, large = (
        walk.COMPILER.compile_json_schema(json.dumps(LISTS[name](count))).memory_size_bytes
        for count in (1_000, 4_000)
    )
    assert large < 6 * small


def counted(arrays):
    """Arrays that take some work each to tell which items may come."""
    return {
        "type": "object",
        "properties": {
            f"p{at}": {
                "type": "array",
                "contains": {"const": at},
                "minContains": 900 - at,
                "maxItems": 9_000 - at,
            }
            for at in range(arrays)
        },
    }


def test_the_work_of_all_lists_together_has_a_limit():
    walk.COMPILER.compile_json_schema(json.dumps(counted(1)))
    with pytest.raises(xgr.LimitExceededError, match="counters") as caught:
        xgr.Grammar.from_json_schema(json.dumps(counted(30)))
    assert caught.value.pointer.startswith("/properties/p")


@pytest.mark.parametrize("options", [{}, {"strict_mode": False}], ids=["strict", "open"])
@pytest.mark.parametrize("name", LARGE)
def test_large_schemas(name, options):
    started = time.monotonic()
    compiled = walk.COMPILER.compile_json_schema(json.dumps(LARGE[name]), **options)
    matcher = xgr.GrammarMatcher(compiled)
    matcher.fill_next_token_bitmask(np.zeros(xgr.get_bitmask_shape(1, walk.INFO.vocab_size), dtype=np.int32))
    assert time.monotonic() - started < SECONDS


def test_large_schemas_decide():
    known = decider(LARGE["5,000 properties"])
    value = {f"key {number}": "" for number in range(0, 5_000, 7)}
    assert known.accepts_value(value)
    del value["key 7"]
    assert not known.accepts_value(value)
    assert not decider(LARGE["100,000 strings"]).accepts_value("string")
    assert decider(LARGE["100,000 strings"]).accepts_value("string 7919")
    known = decider(LARGE["maxLength"])
    assert known.accepts_value("a" * 100_000)
    assert not known.accepts_value("a" * 100_001)
    known = decider(LARGE["not such a length"])
    assert [known.accepts_value("a" * count) for count in (9, 10, 100_000, 100_001)] == [
        True,
        False,
        False,
        True,
    ]
    known = decider(LARGE["maxItems"])
    assert [known.accepts_value([1] * count) for count in (4_999, 5_000, 10_000, 10_001)] == [
        False,
        True,
        True,
        False,
    ]


def test_time_grows_with_the_size():
    def seconds(count):
        text = json.dumps(properties(count))
        started = time.monotonic()
        walk.COMPILER.compile_json_schema(text)
        return time.monotonic() - started

    seconds(100)
    small = min(seconds(1_000) for _ in range(3))
    assert seconds(8_000) < 8 * 6 * small + 0.5


def required(number):
    return {"required": [f"a{number}"], "properties": {f"a{number}": {"minimum": number}}}


HOSTILE = {
    "large circles that lead into each other": {
        "type": "string",
        "allOf": [{"pattern": "^(?:a{30000}ba{3})*a{30000}x(?:a{30000}c)*$"}, {"pattern": "^[a-z]*$"}],
    },
    "classes that all differ": {
        "type": "string",
        "not": {"pattern": "|".join(f"[{chr(0x10000 + at)}-\U0010ffff]" for at in range(60_000))},
    },
    "regexes that may be regexes": {
        "type": "string",
        "format": "regex",
        "oneOf": [{"const": f"(?i)x{at}"} for at in range(50)],
    },
    "ways to break a condition": {
        "oneOf": [
            True,
            {
                "if": {"required": ["d", "a", "c"], "dependentSchemas": {"b": {}}},
                "oneOf": [{"unevaluatedProperties": {"type": "integer"}}, {}],
            },
        ]
    },
    "a set and its complement": {
        "oneOf": [{"allOf": [{"not": {"$ref": "#/$defs/x"}}, {"$ref": "#/$defs/x"}]}, {}],
        "$defs": {
            "x": {
                "oneOf": [
                    {"const": {"b": []}},
                    {
                        "properties": {"a": {"exclusiveMinimum": 5}},
                        "patternProperties": {"\\d+$": {"multipleOf": 7}},
                    },
                ]
            }
        },
    },
    "keys that ask for others of their kind": {
        "dependentSchemas": {
            f"k{at}": {"required": [f"k{at + 1}"], "minProperties": at % 2} for at in range(400)
        },
    },
    "allOf of oneOf": {
        "allOf": [{"oneOf": [required(at), required(at + 1), {"maxProperties": at}]} for at in range(40)]
    },
    "nested oneOf": doubling(
        30, lambda at, inner: {"oneOf": [inner, {"not": inner}, {"required": [f"a{at}"]}]}
    ),
    "nested anyOf of allOf": doubling(
        40,
        lambda at, inner: {
            "anyOf": [{"allOf": [inner, {"minProperties": at}]}, {"allOf": [inner, {"required": [f"a{at}"]}]}]
        },
    ),
    "chain of if": doubling(
        40, lambda at, inner: {"if": {"required": [f"a{at}"]}, "then": inner, "else": {"allOf": [inner]}}
    ),
    "conditions that all differ": {
        "allOf": [
            {
                "if": {"properties": {f"a{at}": {"const": at}}},
                "then": {"required": [f"b{at}"]},
                "else": required(at),
            }
            for at in range(40)
        ]
    },
    "patterns": {"allOf": [{"pattern": f"(a|b)*a(a|b){{{at}}}c"} for at in range(10, 20)], "type": "string"},
    "references that double": {
        "$defs": {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(60)}
        | {"d60": True},
        "$ref": "#/$defs/d0",
    },
    "mutual recursion": {
        "$defs": {
            f"d{at}": {
                "properties": {
                    f"k{to}": {"allOf": [{"$ref": f"#/$defs/d{to}"}, {"$ref": f"#/$defs/d{at}"}]}
                    for to in range(12)
                }
            }
            for at in range(12)
        },
        "$ref": "#/$defs/d0",
    },
    "a circle of references": {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "$ref": "#/$defs/a",
    },
    "deep": nested(900, lambda inner: {"items": inner}, {"type": "string"}),
    "complement of complement": nested(900, lambda inner: {"not": inner}, {"type": "string"}),
    "overlapping patternProperties": {
        "patternProperties": {f"a{{{at}}}": {"minimum": at} for at in range(1, 25)}
    },
    "none of the keys together": {
        **properties(990),
        "not": {"required": [f"key {number}" for number in range(990)]},
    },
    "large numbers": {"minimum": -(10**400), "maximum": 10**400, "multipleOf": 10**30 + 1},
    "small numbers": {"multipleOf": 1e-300, "minimum": 1e-299, "maximum": 1e300},
}


@pytest.mark.parametrize("options", [{}, {"strict_mode": False}], ids=["strict", "open"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_end(name, options):
    """They become a grammar, or are refused, soon; a refusal has its reason."""
    started = time.monotonic()
    known = decider(HOSTILE[name], timeout=120.0, **options)
    elapsed = time.monotonic() - started
    if isinstance(known, Refusal):
        assert known.reason.startswith(("LimitExceededError", "UnsupportedFeatureError", "JSONSchemaError"))
    else:
        known.accepts("{}")
    assert elapsed < HOSTILE_SECONDS, known


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"not":' * 100_000 + "{}" + "}" * 100_000, '{"a":1,' * 3, "1" * 1_000_000]
)
def test_hostile_texts_end(text):
    started = time.monotonic()
    with pytest.raises(xgr.GrammarError):
        xgr.Grammar.from_json_schema(text)
    assert time.monotonic() - started < HOSTILE_SECONDS


def test_a_text_that_is_too_deep_is_an_error_with_its_place():
    with pytest.raises(xgr.LimitExceededError, match="line 2, column 1000: the nesting depth") as error:
        xgr.Grammar.from_json_schema('{"default":\n' + "[" * 2_000 + "]" * 2_000 + "}")
    assert (error.value.line, error.value.column) == (2, 1000)


def test_a_timeout_holds_where_alternatives_are_many():
    lengths = {
        "oneOf": [{"type": "string", "minLength": 3 * at, "maxLength": 3 * at + 1} for at in range(4_000)]
    }
    with pytest.raises(xgr.LimitExceededError, match="compile time") as error:
        walk.COMPILER.compile_json_schema(json.dumps(lengths), timeout=0.2)
    assert error.value.pointer == "/oneOf"
