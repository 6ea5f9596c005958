"""Schemas that admit no value: the error has the place and names what contradicts what, whoever finds it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import tokenstile as xgr

if TYPE_CHECKING:
    from collections.abc import Callable

COMPILER = xgr.GrammarCompiler(xgr.TokenizerInfo([]), cache_enabled=False)
WAYS: dict[str, Callable[..., object]] = {
    "from_json_schema": xgr.Grammar.from_json_schema,
    "compile_json_schema": COMPILER.compile_json_schema,
    "check_schema": xgr.check_schema,
}
EMPTY = {"type": "object", "required": ["b"], "maxProperties": 0}
ENDLESS = "would hold another one of the same schema"


def named(*keywords: str) -> str:
    """Return how keywords are named that contradict each other."""
    quoted = [f'"{keyword}"' for keyword in keywords]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]} contradict each other"


# A schema, the pointer of its error, and what that says after "no value satisfies the schema: ".
CASES: dict[str, tuple[object, str, str]] = {
    "false": (False, "", "it is false"),
    "keys-asked-for-and-none-allowed": (EMPTY, "", named("required", "maxProperties")),
    "two-keys-and-one-allowed": (
        {"type": "object", "required": ["a", "b"], "maxProperties": 1},
        "",
        named("required", "maxProperties"),
    ),
    "bounds": (
        {"type": "object", "minProperties": 3, "maxProperties": 2},
        "/maxProperties",
        named("minProperties", "maxProperties"),
    ),
    "closed-with-too-few-keys": (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False, "minProperties": 2},
        "",
        named("additionalProperties", "minProperties"),
    ),
    "too-few-names": (
        {"type": "object", "propertyNames": {"enum": ["a"]}, "minProperties": 2},
        "",
        named("propertyNames", "minProperties"),
    ),
    "unevaluated-properties": (
        {"type": "object", "unevaluatedProperties": False, "minProperties": 1},
        "",
        named("unevaluatedProperties", "minProperties"),
    ),
    "a-required-key-that-may-not-be": (
        {"type": "object", "properties": {"a": {}, "b": False}, "required": ["a", "b"]},
        "",
        'the key "b" is required, and "properties" allows no value of it',
    ),
    "a-required-key-without-a-name": (
        {"type": "object", "required": ["b"], "propertyNames": {"pattern": "^a"}},
        "",
        'the key "b" is required, and "propertyNames" allows no value of it',
    ),
    "dependent-required": (
        {
            "type": "object",
            "dependentRequired": {"a": ["b"]},
            "required": ["a"],
            "properties": {"b": False},
        },
        "",
        named("dependentRequired", "required", "properties"),
    ),
    "keys-of-three-keywords": (
        {
            "type": "object",
            "title": "a remark",
            "required": ["a"],
            "minProperties": 2,
            "properties": {"a": {}},
            "patternProperties": {"^b": False},
            "propertyNames": {"pattern": "^(a|b.*)$"},
        },
        "",
        named("minProperties", "patternProperties", "propertyNames"),
    ),
    "contains-and-items": (
        {"type": "array", "contains": {"type": "string"}, "items": {"type": "integer"}},
        "",
        named("contains", "items"),
    ),
    "unique-items-of-too-few-values": (
        {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"enum": [1, 2]}},
        "",
        named("minItems", "uniqueItems", "items"),
    ),
    "more-to-contain-than-items": (
        {"type": "array", "minContains": 3, "contains": {"const": 1}, "maxItems": 2},
        "",
        named("minContains", "contains", "maxItems"),
    ),
    "contains-by-itself": ({"type": "array", "contains": False}, "/contains", '"contains" admits none'),
    "items-that-may-not-be": (
        {"type": "array", "minItems": 3, "items": False},
        "",
        named("minItems", "items"),
    ),
    "strings": (
        {"type": "string", "pattern": "^a$", "minLength": 3},
        "",
        named("pattern", "minLength"),
    ),
    "a-type-that-matters": (
        {"type": "integer", "minimum": 1.2, "exclusiveMaximum": 1.8, "title": "x"},
        "/exclusiveMaximum",
        named("type", "minimum", "exclusiveMaximum"),
    ),
    "in-a-property": (
        {"type": "object", "properties": {"o": EMPTY}, "required": ["o"]},
        "/properties/o",
        named("required", "maxProperties"),
    ),
    "in-a-property-of-a-closed-object": (
        {
            "type": "object",
            "properties": {"a": {}, "o/~": EMPTY},
            "required": ["a", "o/~"],
            "additionalProperties": False,
        },
        "/properties/o~1~0",
        named("required", "maxProperties"),
    ),
    "in-items": (
        {"type": "array", "items": EMPTY, "minItems": 1},
        "/items",
        named("required", "maxProperties"),
    ),
    "in-prefix-items": (
        {"type": "array", "prefixItems": [True, EMPTY], "minItems": 2},
        "/prefixItems/1",
        named("required", "maxProperties"),
    ),
    "in-contains": (
        {"type": "array", "contains": EMPTY},
        "/contains",
        named("required", "maxProperties"),
    ),
    "in-additional-properties": (
        {"type": "object", "additionalProperties": EMPTY, "minProperties": 1},
        "/additionalProperties",
        named("required", "maxProperties"),
    ),
    "three-levels-down": (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {
                        "x": {
                            "type": "array",
                            "items": {"type": "string", "pattern": "^a$", "minLength": 3},
                            "minItems": 1,
                        }
                    },
                    "required": ["x"],
                }
            },
            "required": ["a"],
        },
        "/properties/a/properties/x/items",
        named("pattern", "minLength"),
    ),
    "behind-references": (
        {
            "allOf": [{"type": "object"}, {"$ref": "#/$defs/x"}],
            "$defs": {"x": {"$ref": "#/$defs/y"}, "y": EMPTY},
        },
        "/$defs/y",
        named("required", "maxProperties"),
    ),
    "a-reference-to-false": ({"$ref": "#/$defs/x", "$defs": {"x": False}}, "/$defs/x", "it is false"),
    "all-of": (
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        "/allOf",
        '"allOf" admits none',
    ),
    "not-the-first-that-has-none": (
        {
            "type": "object",
            "properties": {
                "a": {"anyOf": [{"type": "string", "minLength": 3, "maxLength": 2}, {"type": "integer"}]},
                "b": EMPTY,
            },
            "required": ["a", "b"],
        },
        "/properties/b",
        named("required", "maxProperties"),
    ),
    "a-cycle": (
        {
            "$ref": "#/$defs/x",
            "$defs": {"x": {"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/x"}}}},
        },
        "/$defs/x",
        ENDLESS,
    ),
    "a-cycle-of-the-whole": (
        {"type": "array", "items": {"anyOf": [{"$ref": "#"}]}, "minItems": 1},
        "/items/anyOf",
        '"anyOf" admits none',
    ),
    "a-cycle-of-two": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "required": ["a"],
            "$defs": {
                "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
                "b": {"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 1},
            },
        },
        "/$defs/a",
        ENDLESS,
    ),
    "draft-4": (
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "array",
            "items": [{"type": "string"}],
            "additionalItems": False,
            "minItems": 2,
        },
        "",
        named("additionalItems", "minItems"),
    ),
    "draft-7-has-no-siblings-of-references": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"x": EMPTY},
            "$ref": "#/definitions/x",
            "type": "string",
        },
        "/definitions/x",
        named("required", "maxProperties"),
    ),
}


def error_of(way: str, schema: object, **options: object) -> xgr.JSONSchemaError:
    with pytest.raises(xgr.JSONSchemaError) as caught:
        WAYS[way](schema if isinstance(schema, bool) else json.dumps(schema), **options)
    return caught.value


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("strict_mode", [False, True])
def test_the_conflict_is_named(name: str, way: str, *, strict_mode: bool):
    schema, pointer, why = CASES[name]
    error = error_of(way, schema, strict_mode=strict_mode)
    assert (error.pointer, error.message.split(": ", 1)[0]) == (pointer, "no value satisfies the schema")
    assert why in error.message


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "options", [{"any_order": True}, {"on_unsupported": "warn"}, {"formats": "annotate"}]
)
def test_whatever_the_options(way: str, options: dict[str, Any]):
    schema, pointer, why = CASES["in-a-property"]
    error = error_of(way, schema, **options)
    assert error.pointer == pointer
    assert why in error.message


@pytest.mark.parametrize("way", WAYS)
def test_branches_have_reasons_of_their_own(way: str):
    text = {"type": "string", "minLength": 3, "maxLength": 2}
    schema = {"type": "object", "properties": {"a": {"anyOf": [text, EMPTY, False]}}, "required": ["a"]}
    error = error_of(way, schema)
    assert error.pointer == "/properties/a/anyOf"
    assert '"anyOf" admits none' in error.message
    first, second = error.help.split("; ")
    assert first == f'at "/properties/a/anyOf/0": {named("minLength", "maxLength")}'
    assert second == f'at "/properties/a/anyOf/1": {named("required", "maxProperties")}'


@pytest.mark.parametrize("way", WAYS)
def test_schemas_that_exclude_each_other_are_found_among_others(way: str):
    parts = [{"properties": {f"a{at}": {"type": "string"}}} for at in range(30)]
    parts[11] = {"required": ["z"]}
    parts[23] = {"properties": {"z": False}}
    error = error_of(way, {"type": "object", "allOf": parts}, strict_mode=False)
    assert error.pointer == "/allOf"
    assert '"/allOf/11" and "/allOf/23" contradict each other' in error.help


@pytest.mark.parametrize("way", WAYS)
def test_what_evaluates_nothing_is_not_to_blame(way: str):
    closed = {"type": "object", "required": ["a", "b"], "unevaluatedProperties": False}
    error = error_of(
        way, {**closed, "allOf": [{"title": "innocent"}], "dependentSchemas": {"z": {"type": "object"}}}
    )
    assert "allOf" not in error.message
    assert "dependentSchemas" not in error.message
    assert '"unevaluatedProperties"' in error.message


@pytest.mark.parametrize("way", WAYS)
def test_a_part_that_was_not_shown_to_be_needed_is_not_blamed(way: str):
    names = [f"p{at}" for at in range(130)]
    properties = {"aa": EMPTY, **dict.fromkeys(names, False)}
    schema = {
        "type": "object",
        "propertyNames": {"enum": names},
        "properties": properties,
        "minProperties": 1,
    }
    error = error_of(way, schema, strict_mode=False)
    assert error.pointer == ""
    assert '"minProperties"' in error.message


@pytest.mark.parametrize("way", WAYS)
def test_false_beside_another_empty_schema_counts(way: str):
    schema = {
        "type": "object",
        "properties": {"a": EMPTY, "b": False},
        "minProperties": 1,
        "additionalProperties": False,
    }
    error = error_of(way, schema, strict_mode=False)
    assert error.pointer == ""
    assert named("properties", "minProperties", "additionalProperties") in error.message


def test_lists_that_cannot_be_decided_are_refused_at_their_place():
    undecided = {
        "type": "object",
        "dependentRequired": {"a": ["b"], "b": ["a"]},
        "minProperties": 1,
        "maxProperties": 2,
    }
    schema = {"type": "object", "properties": {"p": undecided}}
    for way in ["from_json_schema", "compile_json_schema"]:
        with pytest.raises(xgr.UnsupportedFeatureError) as caught:
            WAYS[way](schema, strict_mode=False)
        assert caught.value.pointer == "/properties/p/dependentRequired"
    assert any(finding.outcome == "refused" for finding in xgr.check_schema(schema, strict_mode=False))


@pytest.mark.parametrize("way", WAYS)
def test_strict_mode_is_named_where_it_is_to_blame(way: str):
    schema = {"type": "object", "properties": {"a": {}}, "minProperties": 2}
    error = error_of(way, schema)
    assert error.pointer == ""
    assert named("properties", "minProperties") in error.message
    assert "strict mode" in error.help
    WAYS[way](schema, strict_mode=False)


@pytest.mark.parametrize("way", WAYS)
def test_registered_documents_have_addresses(way: str):
    registry = {"https://example.com/x": {"type": "object", "properties": {"o": EMPTY}, "required": ["o"]}}
    error = error_of(way, {"$ref": "https://example.com/x"}, registry=registry)
    assert error.pointer == "https://example.com/x#/properties/o"
    assert named("required", "maxProperties") in error.message


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "schema",
    [
        {"required": ["b"], "maxProperties": 0},
        {"type": "object", "properties": {"o": EMPTY}},
        {"type": "array", "items": EMPTY},
        {"anyOf": [EMPTY, {"type": "null"}]},
        {"type": "object", "properties": {"n": {"$ref": "#"}}},
    ],
    ids=str,
)
def test_what_need_not_be_there_is_no_error(way: str, schema: object):
    WAYS[way](schema, strict_mode=False)


def test_texts_that_cannot_be_written_are_not_blamed_for_another_conflict():
    text = {"type": "string", "format": "hostname", "pattern": "^xn--"}
    alone = {"type": "object", "properties": {"t": text}, "required": ["t"]}
    with pytest.raises(xgr.UnsupportedFeatureError, match="no value can be written"):
        xgr.Grammar.from_json_schema(alone)
    error = error_of("from_json_schema", {**EMPTY, "properties": {"t": text}})
    assert named("required", "maxProperties") in error.message


def test_what_is_refused_stays_so():
    backreference = {"type": "string", "pattern": "(.)\\1"}
    schema = {
        "type": "object",
        "properties": {"a": backreference},
        "required": ["a", "b"],
        "maxProperties": 1,
    }
    with pytest.raises(xgr.UnsupportedFeatureError):
        xgr.Grammar.from_json_schema(schema)
    findings = xgr.check_schema(schema)
    assert [one.keyword for one in findings if one.outcome is xgr.Outcome.REFUSED] == ["pattern"]


def large(count: int, conflict: object) -> dict[str, Any]:
    def plain(at: int) -> dict[str, Any]:
        properties = {"a": {"type": "string", "maxLength": at}, "b": {"enum": [1, at]}}
        return {"type": "object", "properties": properties, "required": ["a"]}

    properties = {f"p{at}": plain(at) for at in range(count)}
    inner = {"type": "object", "properties": {"q": conflict}, "required": ["q"]}
    properties["p123"] = {"type": "array", "minItems": 1, "items": inner}
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [20, 2_000])
def test_one_conflict_in_a_large_schema(way: str, count: int):
    schema = large(count, EMPTY)
    error = error_of(way, schema)
    assert error.message.startswith("no value satisfies the schema")
    # The larger one may run out of time where many tests run at once; then it has a place on the way.
    place = "/properties/p123/items/properties/q"
    assert error.pointer == place if count == 20 else place.startswith(error.pointer)
    assert error.pointer != place or named("required", "maxProperties") in error.message


def test_what_takes_too_long_has_its_place_at_least():
    deep: dict[str, Any] = EMPTY
    for _ in range(200):
        deep = {"type": "object", "properties": {"x": deep}, "required": ["x"]}
    error = error_of("from_json_schema", deep)
    assert error.pointer.startswith("/properties/x/properties/x")
    assert error.message.startswith("no value satisfies the schema")


def test_a_dead_tag_is_found_however_deep_its_schema_is_empty():
    deep: dict[str, Any] = {"type": "object", "required": ["x"], "properties": {"x": False}}
    for _ in range(12):
        deep = {"type": "object", "required": ["x"], "properties": {"x": deep}}
    content = [{"type": "json_schema", "json_schema": schema} for schema in (deep, {})]
    tags = [{"type": "tag", "begin": f"<{at}>", "content": content[at], "end": "</>"} for at in range(2)]
    with pytest.raises(xgr.InvalidStructuralTagError) as caught:
        xgr.Grammar.from_structural_tag(json.dumps({"format": {"type": "or", "elements": tags}}))
    assert "format.elements[0].content.json_schema" in str(caught.value)
    assert "/properties/x" * 12 in str(caught.value)
