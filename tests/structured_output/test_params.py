"""What a client may ask for, and what it is told otherwise."""

from __future__ import annotations

import json

import pytest

from tokenstile import GrammarError, InvalidArgumentError, TokenizerInfo
from tokenstile.structured_output import (
    GrammarType,
    StructuredOutputKey,
    StructuredOutputManager,
    StructuredOutputsParams,
    TokenstileBackend,
    register_backend,
)
from tokenstile.structured_output.adapters.closing import close_schema

ONE_OF_EACH = {
    "json": ('{"type": "null"}', '{"type": "null"}'),
    "regex": ("a+", "a+"),
    "choice": (["a", "é"], json.dumps(["a", "é"])),
    "grammar": ('root ::= "a"', 'root ::= "a"'),
    "json_object": (True, ""),
    "structural_tag": ({"type": "structural_tag"}, '{"type": "structural_tag"}'),
    "lark": ('start: "a"', 'start: "a"'),
    "all_of": ([{"regex": "a+"}, {"json_object": True}], '[{"regex": "a+"}, {"json_object": true}]'),
    "any_of": (
        [{"choice": ["a"]}, {"then": [{"regex": "b"}]}],
        '[{"choice": ["a"]}, {"then": [{"regex": "b"}]}]',
    ),
    "then": ('[{"json": "{}", "spelling": "any"}]', '[{"json": "{}", "spelling": "any"}]'),
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


CLOSED = {"disable_additional_properties": True}


@pytest.mark.parametrize(
    ("strict", "options", "others"),
    [(True, {}, False), (True, CLOSED, False), (False, {}, True), (False, CLOSED, False)],
)
def test_objects_that_name_properties_are_closed_on_demand(strict, options, others):
    """As vLLM means it: where a schema names properties and says nothing of others."""
    register_backend("style", lambda context: TokenstileBackend(context, strict_mode=strict))
    tokens = [bytes([byte]) for byte in range(128)] + ["</s>"]
    named = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}
    with StructuredOutputManager(tokens, backend="style") as manager:
        for at, (schema, more) in enumerate(
            [
                (named, others),
                ({**named, "additionalProperties": {"const": 2}}, True),
                ({"type": "object"}, True),
                ({"type": "object", "patternProperties": {"^a": {}}}, others),
            ]
        ):
            manager.grammar_init(str(at), StructuredOutputsParams(json=schema, **options)).result(30)
            text = list(b'{"a": 1, "b": 2}')
            assert (manager.validate_tokens(str(at), text) == text) is more, schema


def test_closing_schemas_for_libraries_that_leave_them_open():
    closed = {"properties": {"a": {}}, "additionalProperties": False}
    for schema, expected in [
        ({"properties": {"a": {}}}, closed),
        ({"$defs": {"x": {"properties": {"a": {}}}}}, {"$defs": {"x": closed}}),
        ({"anyOf": [{"properties": {"a": {}}}, True]}, {"anyOf": [closed, True]}),
        ({"items": {"properties": {"a": {}}}}, {"items": closed}),
        ({"not": {"properties": {"a": {}}}}, {"not": {"properties": {"a": {}}}}),
        ({"const": {"properties": {"a": {}}}}, {"const": {"properties": {"a": {}}}}),
        ({"properties": {"a": {}}, "additionalProperties": True},) * 2,
        ({"properties": {"a": {}}, "unevaluatedProperties": {}},) * 2,
        (True, True),
    ]:
        assert json.loads(close_schema(json.dumps(schema))) == expected
    # A property may have any name.
    named = json.loads(close_schema('{"properties": {"properties": {"type": "string"}}}'))
    assert named["properties"] == {"properties": {"type": "string"}}
    for text in ("{", "[" * 100_000):
        with pytest.raises(InvalidArgumentError, match="not JSON"):
            close_schema(text)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"all_of": []}, "between 1 and 64"),
        ({"any_of": "{}"}, "list of structures"),
        ({"then": "["}, "then is not JSON"),
        ({"then": ["a"]}, r"then\[0\] must be a structure, not str"),
        ({"all_of": [{"regex": "a"}, {"regexp": "b"}]}, r"all_of\[1\] has unknown fields: regexp"),
        ({"all_of": [{"regex": "a", "json": "{}"}]}, r"all_of\[0\]: exactly one"),
        ({"all_of": 3}, "all_of must be list or tuple or str"),
    ],
)
def test_wrong_composites_are_refused(given, words):
    with pytest.raises(InvalidArgumentError, match=words):
        StructuredOutputsParams(**given)


def test_composites_nest_so_deep():
    part = {"regex": "a"}
    for _ in range(7):
        part = {"then": [part]}
    assert StructuredOutputsParams(**part).depth == 8
    with pytest.raises(InvalidArgumentError, match="more than 8 deep"):
        StructuredOutputsParams(then=[part])


def test_composites_go_through_the_manager():
    tokens = [*map(chr, range(32, 127)), "</s>"]
    info = TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])
    name = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    more = {"type": "object", "properties": {"b": {"type": "integer"}}}
    cases = [
        (
            {"all_of": [{"json": name}, {"json": more}, {"regex": ".{0,9}"}]},
            ['{"a": 1}', '{"a":1,"b":2}'][:1],
            ['{"a": 1, "b": 2}', "{}"],
        ),
        ({"all_of": [{"json": name}, {"json": more}]}, ['{"a": 1, "b": 2}'], ['{"a": 1, "c": 2}']),
        ({"any_of": [{"json": name}, {"choice": ["no", "{}"]}]}, ['{"a": 1}', "no", "{}"], ['{"b": 1}']),
        ({"then": [{"regex": "[a-z]+"}, {"choice": [": "]}, {"json_object": True}]}, ["x: {}"], ["x{}"]),
        (
            {
                "then": [
                    StructuredOutputsParams(regex="a"),
                    {"any_of": [{"lark": 'start: "b"'}, {"grammar": 'root ::= "c"'}]},
                ]
            },
            ["ab", "ac"],
            ["a", "abc"],
        ),
        ({"all_of": [{"json": name, "disable_any_whitespace": True}]}, ['{"a":1}'], ['{"a": 1}']),
    ]  # fmt: skip
    with StructuredOutputManager(info) as manager:
        for at, (given, accepted, refused) in enumerate(cases):
            request = manager.grammar_init(str(at), StructuredOutputsParams(**given))
            grammar = request.result(60)
            for text in [*accepted, *refused]:
                place = grammar.fresh()
                ids = [tokens.index(character) for character in text] + [len(tokens) - 1]
                assert place.accept_tokens("r", ids) == (text in accepted), (given, text)
        wrong = manager.grammar_init("w", StructuredOutputsParams(all_of=[{"regex": "a"}, {"regex": "b"}]))
        with pytest.raises(GrammarError, match="nothing"):
            wrong.result(60)
