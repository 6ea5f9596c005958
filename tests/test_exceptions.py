"""Errors have a class, a place, a caret and a hint."""

from __future__ import annotations

import json
import pickle

import pytest

import tokenstile as xgr


def test_the_tree():
    for name in xgr.exceptions.__all__:
        assert issubclass(getattr(xgr, name), xgr.TokenstileError)
    for name in (
        "EBNFError",
        "RegexError",
        "UnsupportedFeatureError",
        "LimitExceededError",
        "DeserializeError",
    ):
        assert issubclass(getattr(xgr, name), xgr.GrammarError)
    assert issubclass(xgr.GrammarError, ValueError)
    for name in (
        "DeserializeFormatError",
        "DeserializeVersionError",
        "InvalidStructuralTagError",
        "InvalidJSONError",
    ):
        assert issubclass(getattr(xgr, name), RuntimeError)


def test_ebnf_error_has_its_place():
    with pytest.raises(xgr.EBNFError) as caught:
        xgr.Grammar.from_ebnf('root ::= "a"\nb ::= "é" missing')
    error = caught.value
    assert (error.line, error.column) == (2, 11)
    assert "missing" in error.message
    lines = str(error).splitlines()
    assert "line 2, column 11" in lines[0]
    text, caret = lines[1:3]
    assert text[caret.index("^") :].startswith("missing")
    assert error.pointer is None


def test_regex_error_has_its_place():
    with pytest.raises(xgr.RegexError) as caught:
        xgr.Grammar.from_regex("ab(c")
    assert caught.value.line == 1
    assert "^" in str(caught.value)


def test_unsupported_is_refused_by_name():
    with pytest.raises(xgr.UnsupportedFeatureError, match=r"(?i)backreference"):
        xgr.Grammar.from_regex(r"(a)\1")


def test_limits_name_the_setting():
    with pytest.raises(xgr.LimitExceededError) as caught:
        xgr.Grammar.from_ebnf('root ::= "abc"', limits=xgr.Limits(max_source_bytes=5))
    assert "max_source_bytes" in caught.value.help
    assert caught.value.help in str(caught.value)


def test_errors_can_be_pickled():
    with pytest.raises(xgr.EBNFError) as caught:
        xgr.Grammar.from_ebnf("root ::= (")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is xgr.EBNFError
    assert str(again) == str(caught.value)
    assert (again.line, again.column, again.help) == (
        caught.value.line,
        caught.value.column,
        caught.value.help,
    )


@pytest.mark.parametrize("base", [ValueError, RuntimeError, xgr.GrammarError, xgr.TokenstileError])
def test_callers_of_both_kinds_catch_it(base):
    with pytest.raises(base):
        xgr.Grammar.from_ebnf("root ::=")


@pytest.mark.parametrize(
    "call",
    [
        lambda: xgr.Grammar.from_ebnf(3),
        lambda: xgr.Grammar.from_ebnf(None),
        lambda: xgr.Grammar.from_regex(b"a"),
        lambda: xgr.Grammar.concat("root ::= a"),
        lambda: xgr.Grammar.from_ebnf("\ud800"),
    ],
)
def test_wrong_types_are_errors_and_not_crashes(call):
    with pytest.raises((TypeError, ValueError)):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda long: xgr.Grammar.from_json_schema(json.dumps({"type": long})),
        lambda long: xgr.Grammar.from_json_schema(json.dumps({"pattern": "(" + long})),
        lambda long: xgr.Grammar.from_json_schema(json.dumps({"properties": {long: {"type": "?"}}})),
        lambda long: xgr.Grammar.from_structural_tag(
            json.dumps({"type": "structural_tag", "format": {"type": long}})
        ),
        lambda long: xgr.Grammar.from_ebnf("root ::= " + long),
    ],
)
def test_messages_do_not_repeat_megabytes(call):
    with pytest.raises(xgr.TokenstileError) as caught:
        call("a" * 1_000_000)
    assert len(str(caught.value)) < 4_000


def test_too_many_listed_objects():
    with pytest.raises(xgr.LimitExceededError, match="1500 arrays and objects are listed"):
        xgr.Grammar.from_json_schema({"enum": [{"a": number} for number in range(1500)]})


def test_what_is_no_batch():
    for call in (
        lambda: xgr.BatchGrammarMatcher.batch_accept_token(5, [1]),
        lambda: xgr.BatchGrammarMatcher.batch_accept_string([], 5),
    ):
        with pytest.raises(xgr.InvalidArgumentError, match="must be a list of"):
            call()
