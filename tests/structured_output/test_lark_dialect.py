"""Lark as vLLM takes it: single quotes, and any rule to start from."""

from __future__ import annotations

import pytest

import tokenstile as xgr
from tokenstile.structured_output import StructuredOutputsParams
from tokenstile.structured_output.constraint import compile_constraint, parse_constraint
from tokenstile.structured_output.key import GrammarType
from tokenstile.structured_output.lark_dialect import as_lark
from tokenstile.structured_output.texts import check_text


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ("start: 'a' \"b\"", "ab", "a"),
        ("?query: 'select ' NAME\nNAME: /[a-z]+/", "select x", "x"),
        ("start: 'it\\'s \"so\"'", 'it\'s "so"', "its"),
        ("start: /it's/ // it's", "it's", "its"),
        ("# one: 'two'\nexpr: term ('+' term)*\nterm: /[0-9]+/", "1+2", "+"),
        ("// start: 'x'\nroot: \"start: \" 'x'", "start: x", "x"),
    ],
)
def test_it_is_read(text, accepted, refused):
    grammar = parse_constraint(GrammarType.GRAMMAR, text)
    assert xgr.testing._is_grammar_accept_string(grammar, accepted)
    assert not xgr.testing._is_grammar_accept_string(grammar, refused)


def test_lark_itself_stays_as_it_is():
    text = 'start: item+\nitem: "a" // one\n'
    assert as_lark(text) == text
    with pytest.raises(xgr.LarkError, match="double quotes"):
        parse_constraint(GrammarType.LARK, "start: 'a'")
    with pytest.raises(xgr.LarkError, match="no rule `start`"):
        parse_constraint(GrammarType.LARK, 'item: "a"')


def test_errors_are_at_their_lines():
    with pytest.raises(xgr.LarkError) as raised:
        parse_constraint(GrammarType.GRAMMAR, "a: 'x'\nb: c\n")
    assert raised.value.line == 2


def test_through_the_parameters_of_a_request():
    key = StructuredOutputsParams(grammar="answer: 'yes' | 'no'").key
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(["yes", "no", "</s>"]))
    compiled = compile_constraint(compiler, key.grammar_type, key.grammar_spec)
    assert xgr.GrammarMatcher(compiled).accept_token(1)


@pytest.mark.parametrize("value", [None, 3, b"a", ["a"]])
def test_what_is_no_text_is_told_by_name(value):
    with pytest.raises(xgr.InvalidArgumentError, match=f"the text must be str, not {type(value).__name__}"):
        check_text("the text", value)
