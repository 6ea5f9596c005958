"""`Grammar.report` of structural tags, Lark's ``%json`` and the built-in JSON grammar: of the schemas in them."""

from __future__ import annotations

import json
import pickle

import pytest

import tokenstile as xgr

SCHEMA = {
    "type": "object",
    "properties": {"at": {"type": "string", "format": "date-time"}, "n": {"type": "integer"}},
}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<a", "<b"],
        "tags": [
            {"begin": "<a>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</a>"},
            {
                "begin": "<b>",
                "content": {"type": "json_schema", "json_schema": {"type": "null"}},
                "end": "</b>",
            },
        ],
    },
}
LARK = f'start: "x" | value | other\nvalue: %json {json.dumps(SCHEMA)}\nother: %json {{"type": "null"}}'


def summary(report):
    return {(finding.pointer, finding.keyword): str(finding.outcome) for finding in report}


def expected(schema, place, spelling):
    """What the schema's own report says, by its place in the text around it."""
    report = xgr.Grammar.from_json_schema(schema, spelling=spelling).report
    return {(place + finding.pointer, finding.keyword): str(finding.outcome) for finding in report}


@pytest.mark.parametrize("spelling", ["canonical", "any"])
def test_structural_tags(spelling, tiny):
    content = "/format/tags/{}/content/json_schema".format
    wanted = expected(SCHEMA, content(0), spelling) | expected({"type": "null"}, content(1), spelling)
    grammar = xgr.Grammar.from_structural_tag(TAG, spelling=spelling)
    compiled = xgr.GrammarCompiler(tiny).compile_structural_tag(TAG, spelling=spelling)
    assert summary(grammar.report) == summary(compiled.grammar.report) == wanted
    assert (content(0), "spelling") in wanted
    assert (content(0) + "/properties/n", "type") in wanted


def test_a_schema_that_stands_twice_is_told_of_twice():
    both = {
        "format": {
            "type": "sequence",
            "elements": [{"type": "json_schema", "json_schema": {"const": 1}}] * 2,
        }
    }
    report = summary(xgr.Grammar.from_structural_tag(both).report)
    for at in (0, 1):
        assert report[f"/format/elements/{at}/json_schema", "const"] == "exact"


def test_tags_with_tokens_by_their_text():
    info = xgr.TokenizerInfo(["a", "<think>", "1", "</s>"], special_token_ids=[1])
    tag = {
        "format": {
            "type": "sequence",
            "elements": [
                {"type": "token", "token": "<think>"},
                {"type": "json_schema", "json_schema": {"type": "integer"}},
            ],
        }
    }
    report = summary(xgr.GrammarCompiler(info).compile_structural_tag(tag).grammar.report)
    assert report["/format/elements/1/json_schema", "type"] == "exact"
    assert summary(xgr.Grammar.from_structural_tag(tag, tokenizer_info=info).report) == report


@pytest.mark.parametrize("spelling", ["canonical", "any"])
def test_lark(spelling, tiny):
    # A Lark text has the keys of its schemas in any order.
    wanted = {
        place: {keyword for (pointer, keyword) in expected(schema, place, spelling) if pointer == place}
        for place, schema in {"line 2": SCHEMA, "line 3": {"type": "null"}}.items()
    }
    grammar = xgr.Grammar.from_lark(LARK, spelling=spelling)
    report = summary(grammar.report)
    assert report == summary(xgr.GrammarCompiler(tiny).compile_lark(LARK, spelling=spelling).grammar.report)
    for place, keywords in wanted.items():
        assert {keyword for (pointer, keyword) in report if pointer == place} == keywords
    assert ("line 2/properties/n", "type") in report


def test_the_built_in_grammar_tells_its_spelling(tiny):
    for spelling in ("canonical", "any"):
        for grammar in (
            xgr.Grammar.builtin_json_grammar(spelling=spelling),
            xgr.GrammarCompiler(tiny).compile_builtin_json_grammar(spelling=spelling).grammar,
        ):
            notes = [finding for finding in grammar.report if finding.keyword == "spelling"]
            assert len(notes) == len(grammar.report) > 0
            assert all(spelling in finding.note for finding in notes if not finding.pointer)


def test_what_holds_no_schema_has_nothing_to_report():
    assert list(xgr.Grammar.from_structural_tag({"format": {"type": "any_text"}}).report) == []
    assert list(xgr.Grammar.from_lark('start: "a"').report) == []
    assert list(xgr.Grammar.from_ebnf('root ::= "a"').report) == []


def test_reports_are_kept_in_what_is_saved():
    grammar = xgr.Grammar.from_structural_tag(TAG)
    for again in (
        pickle.loads(pickle.dumps(grammar)),
        xgr.Grammar.deserialize_json(grammar.serialize_json()),
    ):
        assert summary(again.report) == summary(grammar.report)
