"""Wrong arguments are errors in our own words, whatever they are; see `wrong_arguments`."""

from __future__ import annotations

import pydantic
import pytest

import tokenstile as xgr
from tests.wrong_arguments import calls, outcomes, own_calls

# What Python and Pydantic say themselves is clear where it is said of the argument that was passed.
CLEAR = (xgr.TokenstileError, TypeError, UnicodeEncodeError, pydantic.ValidationError)


def all_calls(package):
    yield from calls(package)
    yield from own_calls(package)


def test_the_right_arguments_are_right():
    for call, error in outcomes(xgr, all_calls):
        if call.endswith("(...)"):
            assert error is None, call


def test_errors_are_clear():
    unclear = {}
    for call, error in outcomes(xgr, all_calls):
        if error is not None and not isinstance(error, CLEAR) and type(error) is not ValueError:
            unclear[call] = repr(error)
    assert not unclear


def test_a_text_that_is_none_is_told_in_our_words():
    for call, error in outcomes(xgr, all_calls):
        if call.endswith("=b'x')"):
            bare = type(error) is TypeError and "is not an instance of" in str(error)
            assert not bare, f"{call}: {error}"
    grammar = xgr.Grammar.from_ebnf('root ::= "a"')
    for refused in (
        lambda: grammar.then_until(b"x"),
        lambda: xgr.Grammar.from_regex(b"x"),
        lambda: xgr.Grammar.from_ebnf(b"x"),
        lambda: xgr.Grammar.deserialize_json(b"{}"),
    ):
        with pytest.raises(xgr.InvalidArgumentError, match="must be a str, not bytes"):
            refused()


def test_errors_of_types_say_what_was_given():
    told = (
        "not supported between",
        "unsupported operand",
        "unhashable",
        "subscriptable",
    )
    unclear = {
        call: str(error)
        for call, error in outcomes(xgr, all_calls)
        if error is not None and any(words in str(error) for words in told)
    }
    assert not unclear
