"""`from_json_schema`, `compile_json_schema` and `check_schema`: what they take, what they raise, what they report."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
import types

import pydantic
import pydantic.v1
import pytest

import tokenstile as xgr
from tokenstile.testing import _is_grammar_accept_string

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
ANN = '{"name": "Ann", "age": 42}'
REVERSED = '{"age": 42, "name": "Ann"}'
ANN_WITH_MORE = '{"name": "Ann", "age": 42, "more": null}'


class Person(pydantic.BaseModel):
    name: str
    age: int


class PersonV1(pydantic.v1.BaseModel):
    name: str
    age: int


def accepts(schema, text, **options):
    return _is_grammar_accept_string(xgr.Grammar.from_json_schema(schema, **options), text)


@pytest.fixture
def compiler(info):
    return xgr.GrammarCompiler(info)


@pytest.mark.parametrize(
    "schema",
    [
        json.dumps(PERSON),
        PERSON,
        types.MappingProxyType(PERSON),
        Person,
        PersonV1,
        pydantic.TypeAdapter(Person),
    ],
    ids=["text", "dict", "mapping", "model", "model-v1", "type-adapter"],
)
def test_all_that_stands_for_a_schema(schema, compiler):
    grammar = xgr.Grammar.from_json_schema(schema)
    assert _is_grammar_accept_string(grammar, ANN)
    assert not _is_grammar_accept_string(grammar, '{"name": "Ann"}')
    matcher = xgr.GrammarMatcher(compiler.compile_json_schema(schema), terminate_without_stop_token=True)
    assert matcher.accept_string(ANN)
    assert matcher.is_terminated()
    assert xgr.check_schema(schema) == grammar.report


def test_type_adapter_of_a_type():
    adapter = pydantic.TypeAdapter(list[int])
    assert accepts(adapter, "[1, 2]")
    assert not accepts(adapter, '["a"]')


def test_booleans():
    assert accepts(True, "[1]")
    assert accepts(True, '"text"')
    with pytest.raises(xgr.JSONSchemaError, match="no value"):
        xgr.Grammar.from_json_schema(False)


@pytest.mark.parametrize("wrong", [None, 3, 2.5, b"{}", [], object(), int, dict, Person(name="a", age=1)])
def test_wrong_types(wrong, compiler):
    for function in (xgr.Grammar.from_json_schema, compiler.compile_json_schema, xgr.check_schema):
        with pytest.raises(ValueError, match="The schema should be a string or a Pydantic model") as caught:
            function(wrong)
        assert isinstance(caught.value, TypeError)


def test_what_is_no_json():
    circular = {}
    circular["not"] = circular
    deep = {}
    for _ in range(100_000):
        deep = {"not": deep}
    for wrong in ({"const": float("nan")}, {"const": {1, 2}}, circular, deep):
        with pytest.raises(xgr.JSONSchemaError, match="cannot be written as JSON"):
            xgr.Grammar.from_json_schema(wrong)
    while deep:
        deep = deep["not"]  # or Python would free it by recursion
    for text in ("", "{", '{"type": "string"} {}', "{'type': 'string'}", "nul"):
        for function in (xgr.Grammar.from_json_schema, xgr.check_schema):
            with pytest.raises(RuntimeError) as caught:
                function(text)
            assert isinstance(caught.value, xgr.JSONSchemaError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"indent": -1}, "indent"),
        ({"indent": 1 << 20}, "indent"),
        ({"max_whitespace_cnt": 0}, "max_whitespace_cnt"),
        ({"separators": (";", ":")}, "separators"),
        ({"separators": (",", "=")}, "separators"),
        ({"formats": "maybe"}, "formats"),
        ({"on_unsupported": "ignore"}, "on_unsupported"),
        ({"registry": [1]}, "registry"),
        ({"registry": {1: {}}}, "registry"),
        ({"registry": {"urn:a": 3}}, "The schema should be"),
        ({"indent": "2"}, "indent must be an int, not str"),
        ({"any_whitespace": "no"}, "any_whitespace must be a bool, not str"),
        ({"any_order": []}, "any_order must be a bool, not list"),
        ({"separators": (",",)}, "separators must be two strings, not tuple"),
        ({"formats": None}, "formats must be a str, not NoneType"),
    ],
)
def test_wrong_options(options, message, compiler):
    for function in (xgr.Grammar.from_json_schema, compiler.compile_json_schema):
        with pytest.raises(xgr.InvalidArgumentError, match=message):
            function(True, **options)


def test_signatures_are_those_of_xgrammar():
    parameters = list(inspect.signature(xgr.Grammar.from_json_schema).parameters.values())
    defaults = {parameter.name: parameter.default for parameter in parameters}
    xgrammars = {
        "any_whitespace": True,
        "indent": None,
        "separators": None,
        "strict_mode": True,
        "max_whitespace_cnt": None,
        "print_converted_ebnf": False,
    }
    assert {name: defaults[name] for name in xgrammars} == xgrammars
    assert parameters[0].name == "schema"
    assert {parameter.kind for parameter in parameters[1:]} == {inspect.Parameter.KEYWORD_ONLY}
    compile_parameters = inspect.signature(xgr.GrammarCompiler.compile_json_schema).parameters
    assert set(compile_parameters) - {"self", "timeout", "cancel"} == set(defaults) - {
        "print_converted_ebnf",
        "limits",
    }


def test_strict_mode_and_order():
    assert accepts(PERSON, ANN)
    assert not accepts(PERSON, REVERSED)
    assert not accepts(PERSON, ANN_WITH_MORE)
    assert accepts(PERSON, REVERSED, any_order=True)
    assert not accepts(PERSON, '{"age": 42}', any_order=True)
    assert not accepts(PERSON, '{"age": 42, "age": 42, "name": "Ann"}', any_order=True)
    for text in (ANN, REVERSED, ANN_WITH_MORE):
        assert accepts(PERSON, text, strict_mode=False)
    assert accepts(PERSON, ANN_WITH_MORE, strict_mode=False, any_order=False)
    assert not accepts(PERSON, REVERSED, strict_mode=False, any_order=False)


def test_white_space():
    spaced = '{ "name":"Ann" ,\n"age" : 42}'
    assert accepts(PERSON, spaced)
    assert not accepts(PERSON, " " + spaced)
    assert not accepts(PERSON, spaced, any_whitespace=False)
    assert accepts(PERSON, '{ "name": "Ann", "age":  42}', max_whitespace_cnt=2)
    assert not accepts(PERSON, '{ "name": "Ann", "age":   42}', max_whitespace_cnt=2)
    value = json.loads(ANN)
    for layout in ({}, {"indent": 2}, {"separators": (",", ":")}, {"indent": 1, "separators": (", ", " : ")}):
        text = json.dumps(value, **layout)
        assert accepts(PERSON, text, any_whitespace=False, **layout)
        assert not accepts(PERSON, text.replace("42", " 42"), any_whitespace=False, **layout)


def test_formats():
    schema = {"type": "string", "format": "date"}
    assert accepts(schema, '"2024-02-29"')
    assert not accepts(schema, '"2023-02-29"')
    assert accepts(schema, '"2023-02-29"', formats="annotate")


def test_registry():
    schema = {"type": "array", "items": {"$ref": "https://example.com/name"}}
    registry = {"https://example.com/name": {"type": "string"}, "urn:other": "true"}
    assert accepts(schema, '["Ann"]', registry=registry)
    assert not accepts(schema, "[1]", registry=registry)
    with pytest.raises(xgr.GrammarError, match=r"example\.com/name") as caught:
        xgr.Grammar.from_json_schema(schema)
    assert caught.value.pointer == "/items/$ref"


def test_errors_have_a_pointer():
    with pytest.raises(xgr.JSONSchemaError) as caught:
        xgr.Grammar.from_json_schema({"properties": {"a/b": {"minLength": "three"}}})
    assert caught.value.pointer == "/properties/a~1b/minLength"
    assert '"/properties/a~1b/minLength"' in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).pointer == caught.value.pointer


def test_print_converted_ebnf(capsys):
    grammar = xgr.Grammar.from_json_schema(PERSON, print_converted_ebnf=True)
    assert capsys.readouterr().out == str(grammar) + "\n"


def test_report():
    schema = {"type": "array", "items": {"type": "string", "maxLength": 3}}
    grammar = xgr.Grammar.from_json_schema(schema)
    outcomes = {(finding.pointer, finding.keyword): finding.outcome for finding in grammar.report}
    for place in [("", "type"), ("", "items"), ("/items", "type"), ("/items", "maxLength")]:
        assert outcomes[place] is xgr.Outcome.EXACT
    assert xgr.check_schema(schema) == grammar.report
    assert xgr.Grammar.from_ebnf('root ::= "a"').report == []


def test_unknown_formats_are_in_the_report():
    (finding,) = (f for f in xgr.check_schema({"format": "colour"}) if f.keyword == "format")
    assert finding.outcome is xgr.Outcome.ANNOTATION


def test_report_goes_with_the_grammar(compiler, info):
    grammar = xgr.Grammar.from_json_schema(PERSON)
    assert grammar.report
    assert pickle.loads(pickle.dumps(grammar)).report == grammar.report
    assert xgr.Grammar.deserialize_json(grammar.serialize_json()).report == grammar.report
    for compiled in (compiler.compile_json_schema(PERSON), compiler.compile_grammar(grammar)):
        assert compiled.grammar.report == grammar.report
        again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), info)
        assert again.grammar.report == grammar.report
    # The same text from elsewhere shares what was compiled, and has no report.
    plain = compiler.compile_grammar(xgr.Grammar.from_ebnf(str(grammar)))
    assert plain.grammar.report == []


def test_broken_reports_are_refused():
    text = xgr.Grammar.from_json_schema(True).serialize_json()
    for report in (3, [3], [["", "", "no outcome", ""]], [["", ""]]):
        broken = json.dumps({**json.loads(text), "report": report})
        with pytest.raises(xgr.DeserializeFormatError, match="report"):
            xgr.Grammar.deserialize_json(broken)


def test_cache_key_has_the_options(compiler):
    variants = [
        {},
        {"any_whitespace": False},
        {"any_whitespace": False, "indent": 2},
        {"any_whitespace": False, "separators": (",", ":")},
        {"strict_mode": False},
        {"max_whitespace_cnt": 3},
        {"any_order": True},
        {"formats": "annotate"},
        {"on_unsupported": "warn"},
        {"registry": {"urn:a": True}},
    ]
    first = [compiler.compile_json_schema(PERSON, **options) for options in variants]
    # Those that print alike are equal, and are compiled apart all the same.
    assert len(set(first)) == len({str(each.grammar) for each in first}) > 5
    assert [compiler.compile_json_schema(json.dumps(PERSON), **options) for options in variants] == first
    stats = compiler.get_stats()
    assert (stats["requests"], stats["compilations"]) == (2 * len(variants), len(variants))
    # The default of any_order is what strict_mode makes of it.
    assert compiler.compile_json_schema(PERSON, any_order=False) == first[0]


def test_compiling_can_be_stopped(compiler):
    token = xgr.CancelToken()
    token.cancel()
    with pytest.raises(xgr.CancelledError):
        compiler.compile_json_schema(PERSON, cancel=token)
    with pytest.raises(xgr.LimitExceededError):
        compiler.compile_json_schema(PERSON, timeout=0.0)
    with pytest.raises(xgr.LimitExceededError, match="max_source_bytes"):
        xgr.Grammar.from_json_schema(PERSON, limits=xgr.Limits(max_source_bytes=10))


def test_pydantic_is_not_imported():
    code = (
        "import sys, tokenstile; tokenstile.Grammar.from_json_schema({'type': 'string'});"
        "assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_refusal_is_one_finding_at_its_keyword():
    """It is exact when it is read, and refused once it is known what the items are: only the latter counts."""
    schema = {
        "properties": {
            "a": {"type": "array", "contains": {"type": "object"}, "uniqueItems": True, "maxContains": 1}
        },
        "required": ["a"],
    }
    (found,) = [finding for finding in xgr.check_schema(schema) if finding.keyword == "uniqueItems"]
    assert (found.pointer, found.outcome) == ("/properties/a", "refused")
    with pytest.raises(xgr.UnsupportedFeatureError) as caught:
        xgr.Grammar.from_json_schema(schema)
    assert caught.value.pointer == "/properties/a/uniqueItems"


def test_a_refusal_of_joined_schemas_is_at_the_one_with_the_keyword():
    schema = {
        "properties": {"a": {"type": "array", "contains": {"type": "object"}, "maxContains": 1}},
        "patternProperties": {"a": {"uniqueItems": True}},
        "required": ["a"],
    }
    with pytest.raises(xgr.UnsupportedFeatureError) as caught:
        xgr.Grammar.from_json_schema(schema)
    assert caught.value.pointer == "/patternProperties/a/uniqueItems"


REPEATS = {"pattern": r"(.)\1"}
ADMITTED_BY_WHAT_IS_LEFT = [
    ({"type": "string", "not": REPEATS}, ["ab", "aa"]),
    ({"oneOf": [REPEATS, {"type": "string"}]}, ["ab", "aa", 1]),
    ({"if": REPEATS, "then": {"const": "aa"}, "else": {"type": "string"}}, ["ab", "aa"]),
    ({"items": {"type": "string"}, "contains": REPEATS, "maxContains": 1}, [["ab", "cd"], ["aa", "bb"]]),
    ({"$ref": "http://x", "unevaluatedProperties": False}, [{"a": 1}]),
    ({"patternProperties": {r"(.)\1": {}}, "unevaluatedProperties": False}, [{"aa": 1}]),
    ({"prefixItems": [{}], "allOf": [{"contains": REPEATS}], "unevaluatedItems": False}, [[1, "aa"]]),
]


@pytest.mark.parametrize(("schema", "values"), ADMITTED_BY_WHAT_IS_LEFT)
def test_what_is_left_out_never_narrows(schema, values, compiler):
    """Also where a keyword that cannot be enforced stands under a complement, or what it evaluates matters."""
    with pytest.warns(xgr.SchemaWarning):
        compiled = compiler.compile_json_schema(schema, strict_mode=False, on_unsupported="warn")
    for value in values:
        matcher = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True)
        assert matcher.accept_string(json.dumps(value)), value
        assert matcher.is_completed(), value


def test_what_is_left_out_leaves_open_in_strict_mode(compiler):
    unknown = {"properties": {"a": {"type": "string", **REPEATS}}, "required": ["a"]}
    schema = {
        "type": "object",
        "properties": {"k": {}},
        "if": unknown,
        "then": {"properties": {"b": {}}},
        "else": {"properties": {"c": {}}},
    }
    with pytest.warns(xgr.SchemaWarning):
        compiled = compiler.compile_json_schema(schema, on_unsupported="warn")
    for text in ('{"k": 1, "c": 3}', '{"k": 1, "a": "aa", "b": 3}'):
        matcher = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True)
        assert matcher.accept_string(text), text
        assert matcher.is_completed(), text


@pytest.mark.parametrize("strict_mode", [True, False])
@pytest.mark.parametrize(
    ("members", "error"),
    [
        (
            {
                "properties": dict.fromkeys("abcd", True),
                "dependentRequired": {"a": ["b"], "b": ["d"], "d": ["a"]},
                "minProperties": 2,
                "maxProperties": 3,
            },
            xgr.UnsupportedFeatureError,
        ),
        (
            {
                "properties": {f"k{number}": True for number in range(3000)},
                "dependentRequired": {
                    f"k{number}": [f"k{(7 * number + 1) % 3000}"] for number in range(3000)
                },
            },
            xgr.LimitExceededError,
        ),
    ],
    ids=["in-circles", "too-many"],
)
def test_members_that_cannot_be_decided_are_refused_at_their_place(members, error, strict_mode, compiler):
    schema = {"properties": {"q": {"type": "object", **members}}}
    raised = []
    for convert in (compiler.compile_json_schema, xgr.Grammar.from_json_schema):
        with pytest.raises(error, match="/properties/q/dependentRequired") as refusal:
            convert(schema, strict_mode=strict_mode)
        raised.append(str(refusal.value))
    assert raised[0] == raised[1]
