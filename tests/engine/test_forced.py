"""Which tokens of a text were forced."""

from __future__ import annotations

import pytest
from tests.stub_model import STOP, TOKENS, StubModel

import tokenstile as xgr
from tokenstile.engine import SamplingParams
from tokenstile.engine.forced import is_forced_text
from tokenstile.engine.tracing import trace
from tokenstile.structured_output import StructuredOutputsParams

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"enum": [7, 70]}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
COMPILER = xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS))


def traced(answer, max_tokens=100, schema=SCHEMA, **options):
    """Give the texts of the tokens, those that were forced, and how many fitted in the places of these."""
    structure = StructuredOutputsParams(json=schema, disable_any_whitespace=True, **options)
    tokens = list(trace(StubModel(answer), "x", SamplingParams(max_tokens=max_tokens), structure))
    forced = [token for token in tokens if token.is_forced]
    texts, sizes = [token.text for token in forced], [token.num_allowed for token in forced]
    return [token.text for token in tokens], texts, sizes


def test_a_token_inside_of_what_must_come_is_forced_however_it_may_be_cut():
    written, forced, sizes = traced('{"name":"the ","age":7}')
    assert written == ['{"', "name", '":', '"', "the ", '"', ",", '"', "age", '":', "7", "}", ""]
    # The quotation mark behind the name and the digit had alternatives.
    assert forced == ['{"', "name", '":', '"', ",", '"', "age", '":', "7", ""]
    assert sizes[:4] == [2, 2, 2, 4], "other tokens fit, some of which reach beyond what must come"


@pytest.mark.parametrize("spelling", ["canonical", "any"])
def test_escapes_are_no_choice_where_any_spelling_will_do(spelling):
    _, forced, sizes = traced('{"name":"the ","age":7}', spelling=spelling)
    assert forced[:3] == ['{"', "name", '":']
    assert (sizes[1] > 2) == (spelling == "any")
    letter = {"type": "string", "pattern": "^[a\n]$"}
    written, forced, _ = traced('"a"', schema=letter, spelling="canonical")
    assert written == ['"', "a", '"', ""]
    assert "a" not in forced, "in canonical spelling an escape is another text"


def test_the_end_of_a_budget_is_no_doing_of_the_grammar():
    """The closing quotation mark must come there, but only because of the budget."""
    plenty, few = (traced('{"name":"' + "the " * 30, max_tokens) for max_tokens in (60, 14))
    assert len(few[0]) <= 14
    text = "".join(few[0])
    assert text.startswith('{"name":"the ')
    assert text.endswith("}")
    assert "the " not in few[1]
    assert few[1][:4] == plenty[1][:4]
    # What the grammar forces is forced at the end too, where the bytes one by one would not be paid for.
    assert {"age", '":'} <= set(few[1])


@pytest.mark.parametrize(
    ("regex", "before", "data", "expected"),
    [
        ("abc", "", b"ab", True),
        ("abc", "", b"abcd", False),
        ("abc", "a", b"bc", True),
        ("ab|ac", "", b"a", True),
        ("ab|ac", "", b"ab", False),
        ("a(bc)?", "a", b"b", False),
        ("abc", "", b"", False),
        (r"\\|a", "", b"a", False),
    ],
)
def test_bytes_that_must_come(regex, before, data, expected):
    matcher = xgr.GrammarMatcher(COMPILER.compile_regex(regex))
    assert not before or matcher.accept_string(before)
    assert is_forced_text(matcher, data) is expected
    if regex != r"\\|a":
        assert is_forced_text(matcher, data, beside_escapes=True) is expected
    assert matcher.fork().accept_token(STOP) == matcher.is_completed(), "it is left as it was"


def test_a_backslash_may_be_let_aside():
    matcher = xgr.GrammarMatcher(COMPILER.compile_regex(r"(\\|a)b"))
    assert is_forced_text(matcher, b"ab", beside_escapes=True)
    assert not is_forced_text(matcher, b"ab")
    assert matcher.accept_string("ab")
