"""Structural tags through Python: models, arguments, tokens by name, errors, speed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

import tokenstile as xgr
from tokenstile import structural_tag as models

TAG = {"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}

REQUIRED = ...
FIELDS = {
    "ConstStringFormat": {"type": "const_string", "value": REQUIRED},
    "JSONSchemaFormat": {
        "type": "json_schema",
        "json_schema": REQUIRED,
        "style": "json",
        "any_order": False,
        "max_whitespace_cnt": None,
        "excludes": [],
    },
    "QwenXMLParameterFormat": {"type": "qwen_xml_parameter", "json_schema": REQUIRED},
    "GrammarFormat": {"type": "grammar", "grammar": REQUIRED},
    "RegexFormat": {"type": "regex", "pattern": REQUIRED},
    "AnyTextFormat": {"type": "any_text", "excludes": [], "max_tokens": None, "max_chars": None},
    "SequenceFormat": {"type": "sequence", "elements": REQUIRED},
    "OrFormat": {"type": "or", "elements": REQUIRED},
    "OptionalFormat": {"type": "optional", "content": REQUIRED},
    "PlusFormat": {"type": "plus", "content": REQUIRED},
    "StarFormat": {"type": "star", "content": REQUIRED},
    "RepeatFormat": {"type": "repeat", "min": REQUIRED, "max": REQUIRED, "content": REQUIRED},
    "TagFormat": {"type": "tag", "begin": REQUIRED, "content": REQUIRED, "end": REQUIRED},
    "TriggeredTagsFormat": {
        "type": "triggered_tags",
        "triggers": REQUIRED,
        "tags": REQUIRED,
        "at_least_one": False,
        "stop_after_first": False,
        "excludes": [],
    },
    "TagsWithSeparatorFormat": {
        "type": "tags_with_separator",
        "tags": REQUIRED,
        "separator": REQUIRED,
        "at_least_one": False,
        "stop_after_first": False,
    },
    "DispatchFormat": {"type": "dispatch", "rules": REQUIRED, "loop": True, "excludes": []},
    "TokenFormat": {"type": "token", "token": REQUIRED},
    "ExcludeTokenFormat": {"type": "exclude_token", "exclude_tokens": []},
    "AnyTokensFormat": {"type": "any_tokens", "exclude_tokens": [], "max_tokens": None},
    "TokenTriggeredTagsFormat": {
        "type": "token_triggered_tags",
        "trigger_tokens": REQUIRED,
        "tags": REQUIRED,
        "exclude_tokens": [],
        "at_least_one": False,
        "stop_after_first": False,
    },
    "TokenDispatchFormat": {"type": "token_dispatch", "rules": REQUIRED, "loop": True, "exclude_tokens": []},
}
OF_TAG = {"StructuralTag": {"type": "structural_tag", "format": REQUIRED}}
OF_ITEM = {"StructuralTagItem": {"begin": REQUIRED, "schema_": REQUIRED, "end": REQUIRED}}


class City(BaseModel):
    name: str


def accepts(grammar, text):
    return xgr.testing._is_grammar_accept_string(grammar, text)


@pytest.mark.parametrize(("name", "fields"), (FIELDS | OF_TAG | OF_ITEM).items())
def test_fields_and_defaults(name, fields):
    model = getattr(models, name)
    found = {
        key: REQUIRED if field.is_required() else field.get_default(call_default_factory=True)
        for key, field in model.model_fields.items()
    }
    assert found == fields


def test_all_formats_are_there():
    assert len(FIELDS) == 21
    union = get_args(get_args(models.Format)[0])
    assert {model.__name__ for model in union} == set(FIELDS)
    assert set(models.__all__) == {*FIELDS, *OF_TAG, *OF_ITEM, "Format", "JSONSchemaStyle"}
    # XGrammar's nine, and Gemma's.
    assert len(get_args(models.JSONSchemaStyle)) == 10


def test_models_check_types_and_names():
    for wrong in (
        {"type": "nope"},
        {"value": "a"},
        {"type": "const_string", "value": 3},
        {"type": "any_text", "exclude": ["a"]},
        {"type": "any_text", "max_chars": -1},
        {"type": "json_schema", "json_schema": {}, "style": "yaml"},
        {"type": "json_schema", "json_schema": {}, "max_whitespace_cnt": 0},
        {"type": "triggered_tags", "triggers": [], "tags": [{"type": "any_text"}]},
    ):
        with pytest.raises(ValidationError):
            xgr.StructuralTag(format=wrong)


def test_from_json():
    tag = xgr.StructuralTag.from_json(TAG)
    assert tag == xgr.StructuralTag.from_json(json.dumps(TAG))
    assert tag.format.value == "a"
    with pytest.raises(ValueError, match="Invalid JSON"):
        xgr.StructuralTag.from_json("{")


def test_attributes_can_be_set():
    tag = xgr.StructuralTag.from_legacy_structural_tag(
        [xgr.StructuralTagItem(begin="<f>", schema=City, end="</f>")], ["<f"]
    )
    assert accepts(xgr.Grammar.from_structural_tag(tag), "text")
    tag.format.at_least_one = True
    assert not accepts(xgr.Grammar.from_structural_tag(tag), "text")


def test_forms_of_a_structural_tag(info):
    compiler = xgr.GrammarCompiler(info)
    for tag in (TAG, json.dumps(TAG), xgr.StructuralTag.from_json(TAG)):
        grammar = xgr.Grammar.from_structural_tag(tag)
        assert str(grammar) == 'root ::= Marker("a")\n'
        assert grammar == xgr.Grammar.from_structural_tag(structural_tag=tag)
        assert compiler.compile_structural_tag(tag).grammar == grammar
        assert compiler.compile_structural_tag(structural_tag=tag).grammar == grammar


@pytest.mark.parametrize("schema", [City, City.model_json_schema(), json.dumps(City.model_json_schema())])
def test_legacy_form(schema, info):
    item = xgr.StructuralTagItem(begin="<f>", schema=schema, end="</f>")
    assert item.schema_ == schema
    for grammar in (
        xgr.Grammar.from_structural_tag([item], ["<f"]),
        xgr.Grammar.from_structural_tag(tags=[item], triggers=["<f"]),
        xgr.Grammar.from_structural_tag([item], triggers=["<f"]),
        xgr.Grammar.from_structural_tag([{"begin": "<f>", "schema": schema, "end": "</f>"}], ["<f"]),
        xgr.Grammar.from_structural_tag(xgr.StructuralTag.from_legacy_structural_tag([item], ["<f"])),
        xgr.GrammarCompiler(info).compile_structural_tag([item], ["<f"]).grammar,
    ):
        assert accepts(grammar, 'a <f>{"name": "x"}</f> b')
        assert not accepts(grammar, "<f>{}</f>")


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((3,), {}),
        (([],), {}),
        (([], [], []), {}),
        (([],), {"tags": []}),
        ((), {"tags": []}),
        ((TAG,), {"nope": 1}),
        (("ab", ["a"]), {}),
        (([{"begin": "a"}], ["a"]), {}),
        (([], "ab"), {}),
        ((models.StructuralTag,), {}),
    ],
)
def test_wrong_arguments(args, kwargs, info):
    with pytest.raises(TypeError):
        xgr.Grammar.from_structural_tag(*args, **kwargs)
    with pytest.raises(TypeError):
        xgr.GrammarCompiler(info).compile_structural_tag(*args, **kwargs)


def test_errors(info):
    with pytest.raises(xgr.InvalidJSONError):
        xgr.Grammar.from_structural_tag("{")
    with pytest.raises(xgr.InvalidStructuralTagError):
        xgr.Grammar.from_structural_tag({"format": {"type": "any_text", "max_chars": float("nan")}})
    wrong = {"format": {"type": "optional", "content": {"type": "regex", "pattern": "("}}}
    for make in (xgr.Grammar.from_structural_tag, xgr.GrammarCompiler(info).compile_structural_tag):
        with pytest.raises(xgr.InvalidStructuralTagError) as caught:
            make(wrong)
        assert caught.value.path == "format.content.pattern"
        assert str(caught.value).startswith("at format.content.pattern: ")


def test_tokens_by_name(tiny):
    tag = {"format": {"type": "sequence", "elements": [{"type": "token", "token": "ab"}]}}
    with pytest.raises(xgr.InvalidStructuralTagError, match="requires tokenizer_info") as caught:
        xgr.Grammar.from_structural_tag(tag)
    assert caught.value.path == "format.elements[0].token"
    grammar = xgr.Grammar.from_structural_tag(tag, tokenizer_info=tiny)
    assert str(grammar) == "root ::= Token(2)\n"
    compiler = xgr.GrammarCompiler(tiny)
    for compiled in (compiler.compile_structural_tag(tag), compiler.compile_grammar(grammar)):
        matcher = xgr.GrammarMatcher(compiled)
        assert not matcher.accept_token(0)
        assert matcher.accept_token(2)
        assert matcher.is_completed()
    with pytest.raises(xgr.InvalidStructuralTagError, match="no token of the vocabulary"):
        compiler.compile_structural_tag({"format": {"type": "token", "token": "zz"}})


def test_the_same_tag_is_compiled_once(info):
    compiler = xgr.GrammarCompiler(info)
    for _ in range(3):
        compiler.compile_structural_tag(TAG)
    assert compiler.get_stats()["compilations"] == 1


def test_deep_nesting_is_refused():
    tag = {"type": "any_text"}
    for _ in range(400):
        tag = {"type": "star", "content": tag}
    with pytest.raises(xgr.LimitExceededError, match="nesting"):
        xgr.Grammar.from_structural_tag({"format": tag})


def test_nested_tags_do_not_multiply():
    def size(levels):
        tag = {"type": "any_text"}
        for level in range(levels):
            tag = {"type": "tag", "begin": f"<{level}>", "content": tag, "end": ["</a>", "</b>"]}
        return len(str(xgr.Grammar.from_structural_tag({"format": tag})))

    assert size(60) < 2.5 * size(30)


def test_import_does_not_need_pydantic():
    code = (
        "import sys, tokenstile as t\n"
        "t.Grammar.from_structural_tag({'format': {'type': 'any_text'}})\n"
        "print('pydantic' in sys.modules); t.StructuralTag; t.get_model_structural_tag\n"
        "print('pydantic' in sys.modules, t.structural_tag.StructuralTag is t.StructuralTag)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["False", "True", "True"]


def work_until_the_first_mask(info, tag):
    """Count what is made from the text of a tag to its first mask; how long it takes is for the benchmarks to say."""
    compiled = xgr.GrammarCompiler(info, cache_enabled=False).compile_structural_tag(json.dumps(tag))
    bitmask = np.zeros(xgr.get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
    xgr.GrammarMatcher(compiled).fill_next_token_bitmask(bitmask)
    return compiled.get_stats() | {"bytes": compiled.memory_size_bytes}


def triggered(count):
    content = {"type": "json_schema", "json_schema": True}
    tags = [{"type": "tag", "begin": f"<tool_{at}>", "content": content, "end": "</>"} for at in range(count)]
    return {"format": {"type": "triggered_tags", "triggers": [tag["begin"] for tag in tags], "tags": tags}}


def test_thousands_of_triggers_take_work_in_proportion(info):
    few, many = (work_until_the_first_mask(info, triggered(count)) for count in (1000, 4000))
    assert many["rules"] == few["rules"], "tags of one content share its rules"
    for kind in ("nodes", "sets", "terminal_states", "bytes"):
        assert many[kind] < 4.2 * few[kind], kind
    assert many["masks"] == 1


def called(style, count):
    kinds = [{"type": name} for name in ("string", "integer", "number", "boolean", "null")]
    tags = []
    for at in range(count):
        properties = {f"parameter_{at}_{place}": kinds[place % 5] for place in range(10)}
        schema = {"type": "object", "properties": properties, "required": list(properties)[:5]}
        content = {"type": "json_schema", "json_schema": schema, "style": style}
        tags.append({"type": "tag", "begin": f"<f=tool_{at}>", "content": content, "end": "</f>"})
    return {"format": {"type": "triggered_tags", "triggers": ["<f="], "tags": tags}}


@pytest.mark.parametrize("style", get_args(models.JSONSchemaStyle))
def test_many_tools_of_many_parameters_take_work_in_proportion(info, style):
    few, many = (work_until_the_first_mask(info, called(style, count)) for count in (16, 128))
    for kind in ("rules", "nodes", "bytes"):
        assert many[kind] < 8.5 * few[kind], kind
    # The first mask looks at the text before a call, however many calls there are.
    assert many["sets"] <= few["sets"] + 2
    assert many["terminal_states"] <= few["terminal_states"] + 16
    assert many["masks"] == 1


CALL = {"type": "tag", "begin": "<a>x", "content": {"type": "const_string", "value": "1"}, "end": "</a>"}


@pytest.mark.parametrize(
    ("inner", "path", "held"),
    [
        (
            {"type": "triggered_tags", "triggers": ["<b>", "<a>"], "tags": [CALL], "excludes": ["a>"]},
            "triggers[1]",
            "a>",
        ),
        (
            {"type": "triggered_tags", "triggers": ["<a>"], "tags": [CALL], "excludes": ["<a"]},
            "triggers[0]",
            "<a",
        ),
        (
            {"type": "dispatch", "rules": [["<c>", {"value": "1"}], ["x</t>", {"value": "2"}]]},
            "rules[1][0]",
            "</t>",
        ),
    ],
)
def test_triggers_that_can_never_be_written(inner, path, held):
    tag = {"format": {"type": "tag", "begin": "<t>", "content": inner, "end": "</t>"}}
    with pytest.raises(xgr.InvalidStructuralTagError, match="can never be written") as caught:
        xgr.Grammar.from_structural_tag(tag)
    assert caught.value.path == f"format.content.{path}"
    assert repr(held)[1:-1] in str(caught.value)


@pytest.mark.parametrize("path", ["format", "format.elements[1]"])
def test_an_empty_object_is_no_format(path):
    tag = {"format": {} if path == "format" else {"elements": [{"value": "a"}, {}]}}
    with pytest.raises(xgr.InvalidStructuralTagError, match="says no format") as caught:
        xgr.Grammar.from_structural_tag(tag)
    assert caught.value.path == path


def test_keys_that_a_style_cannot_carry():
    schema = {"type": "object", "properties": {"ok": {"type": "string"}, "a>b": {"type": "string"}}}
    tag = {"format": {"type": "json_schema", "style": "qwen_xml", "json_schema": schema}}
    with pytest.raises(xgr.UnsupportedFeatureError, match="would be taken for its end") as caught:
        xgr.Grammar.from_structural_tag(tag)
    assert caught.value.path == "format.json_schema"
    assert "/properties/a>b" in str(caught.value)


def refused(make, tag):
    with pytest.raises(xgr.GrammarError) as caught:
        make(tag)
    return caught.value


def in_a_tag(inner):
    return {
        "format": {
            "type": "sequence",
            "elements": [{"value": "a"}, {"begin": "<", "content": inner, "end": ">"}],
        }
    }


WHERE = "format.elements[1].content"


@pytest.mark.parametrize(
    ("inner", "path", "word"),
    [
        ({"type": "token", "token": 9999}, f"{WHERE}.token", "token 9999 is not in the vocabulary"),
        ({"type": "any_tokens", "exclude_tokens": [1, 9999]}, f"{WHERE}.exclude_tokens[1]", "9999"),
        ({"type": "exclude_token", "exclude_tokens": [9999]}, f"{WHERE}.exclude_tokens[0]", "9999"),
        ({"type": "token_dispatch", "rules": [[9999, {"value": "a"}]]}, f"{WHERE}.rules[0][0]", "9999"),
        ({"type": "json_schema", "json_schema": False}, f"{WHERE}.json_schema", "no value satisfies"),
        (
            {"type": "json_schema", "json_schema": {"type": "string", "minLength": 3, "maxLength": 2}},
            f"{WHERE}.json_schema",
            "/maxLength",
        ),
        (
            {
                "type": "json_schema",
                "style": "qwen_xml",
                "json_schema": {"required": ["a"], "additionalProperties": False},
            },
            f"{WHERE}.json_schema",
            "no value satisfies",
        ),
        ({"type": "grammar", "grammar": 'root ::= "a" root'}, f"{WHERE}.grammar", "generates nothing"),
    ],
)
def test_errors_of_compiling_have_the_place_in_the_tag(info, inner, path, word):
    makes = [xgr.GrammarCompiler(info).compile_structural_tag]
    makes.append(lambda tag: xgr.Grammar.from_structural_tag(tag, tokenizer_info=info))
    for make in makes:
        error = refused(make, in_a_tag(inner))
        assert error.path == path
        assert word in str(error)


def test_what_is_wrong_with_a_tag_as_a_whole_has_a_place_too(info):
    error = refused(
        xgr.GrammarCompiler(info).compile_structural_tag,
        {"format": {"type": "grammar", "grammar": 'root ::= "a" & "b"'}},
    )
    assert error.path == "format"


SURROGATE = "a\ud800"


@pytest.mark.parametrize(
    ("tag", "path"),
    [
        ({"format": {"type": "const_string", "value": SURROGATE}}, "format.value"),
        (
            {"format": {"elements": [{"type": "const_string", "value": "😀"}, {"pattern": SURROGATE}]}},
            "format.elements[1].pattern",
        ),
        (
            {"format": {"type": "json_schema", "json_schema": {"const": [SURROGATE]}}},
            "format.json_schema.const[0]",
        ),
        (
            {"format": {"type": "json_schema", "json_schema": {"properties": {SURROGATE: True}}}},
            "format.json_schema.properties",
        ),
    ],
)
def test_half_a_character_is_refused_with_its_place(tag, path):
    given_as = [tag]
    if "type" in tag["format"]:
        given_as.append(models.StructuralTag.model_validate(tag))
    for given in given_as:
        error = refused(xgr.Grammar.from_structural_tag, given)
        assert isinstance(error, xgr.InvalidStructuralTagError)
        assert error.path == path
        assert "lone surrogate" in str(error)


def test_half_a_character_in_a_schema_of_a_tool():
    schema = {"type": "object", "properties": {SURROGATE: {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "add", "parameters": schema}}]
    tag = xgr.get_model_structural_tag("qwen_3", tools, reasoning="disabled")
    path = "format.tags[0].content.json_schema.properties"
    assert refused(xgr.Grammar.from_structural_tag, tag).path == path


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"\xff", object()])
def test_what_json_does_not_have_is_refused(value):
    for tag in (
        {"format": {"type": "json_schema", "json_schema": {"const": value}}},
        models.StructuralTag(format=models.JSONSchemaFormat(json_schema={"const": value})),
    ):
        with pytest.raises((xgr.InvalidStructuralTagError, xgr.InvalidJSONError)):
            xgr.Grammar.from_structural_tag(tag)


def test_a_model_that_nests_without_end_is_refused():
    schema = {}
    for _ in range(100_000):
        schema = {"items": schema}
    tag = models.StructuralTag.model_construct(
        format=models.JSONSchemaFormat.model_construct(json_schema=schema)
    )
    with pytest.raises(xgr.TokenstileError):
        xgr.Grammar.from_structural_tag(tag)


@pytest.mark.parametrize(
    ("style", "key", "held"),
    [
        ("gemma", "a<|b", "<|"),
        ("gemma", "a,b", ","),
        ("gemma", "{a", "{"),
        ("kimi_k3_xml", "a<|sep|>", "<|"),
        ("kimi_k3_xml", "<|close|>argument<|sep|>", "<|"),
        ("glm_xml", "</tool_call>", "</tool_call>"),
        ("glm_xml", "<arg_key>", "<arg_key>"),
        ("minimax_xml", "</invoke>", "</invoke>"),
        ("minimax_m3_xml", "]<]minimax[", "]<]minimax["),
        ("deepseek_xml", "</\uff5cDSML\uff5cinvoke", "\uff5cDSML\uff5c"),
        ("deepseek_v4_1_xml", "<\uff5cx", "<\uff5c"),
        ("qwen_xml", "<parameter=b", "<parameter="),
    ],
)
def test_keys_that_hold_a_mark_of_the_style(style, key, held):
    # In the schema itself, in a schema that is referred to, and as a value that is listed.
    schemas = [
        {"type": "object", "properties": {"ok": {"type": "string"}, key: {"type": "string"}}},
        {"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {key: {"type": "string"}}}}},
    ]
    for schema in schemas:
        tag = {"format": {"type": "json_schema", "style": style, "json_schema": schema}}
        error = refused(xgr.Grammar.from_structural_tag, tag)
        assert isinstance(error, xgr.UnsupportedFeatureError)
        assert error.path == "format.json_schema"
        assert f"{json.dumps(held, ensure_ascii=False)} in it would be taken for a mark" in str(error)


@pytest.mark.parametrize("style", ["json", "cohere_xml"])
def test_keys_that_are_escaped_may_hold_marks(style):
    schema = {"type": "object", "properties": {"<|sep|>": {"type": "string"}}}
    assert xgr.Grammar.from_structural_tag(
        {"format": {"type": "json_schema", "style": style, "json_schema": schema}}
    )


@pytest.mark.parametrize("least", [1, 2])
def test_keys_of_which_none_is_left_are_refused_at_their_place(least):
    schema = {"type": "object", "propertyNames": {"pattern": "^a"}, "minProperties": least}
    values = {"type": "json_schema", "json_schema": schema, "excludes": ["a"]}
    either = {"type": "or", "elements": [{"type": "const_string", "value": "x"}, values]}
    with pytest.raises(
        xgr.InvalidStructuralTagError, match="no value of the schema can be written"
    ) as refusal:
        xgr.Grammar.from_structural_tag({"type": "structural_tag", "format": either})
    assert "format.elements[1].json_schema" in str(refusal.value)
