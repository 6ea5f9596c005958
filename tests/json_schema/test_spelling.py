"""Canonical spelling: what programs write is accepted, and what it accepts is accepted in any spelling."""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tokenstile as xgr
from tests.json_schema import schemas, walk
from tests.json_schema.decide import Refusal, canonical, decider
from tests.json_schema.profile import thorough

CANONICAL = {"spelling": "canonical", "strict_mode": False, "any_order": True}
ANYTHING = decider(True, **CANONICAL)
NUMBER = decider({"type": "number"}, **CANONICAL)

doubles = (
    st.integers(0, 2**64 - 1)
    .map(lambda bits: struct.unpack("<d", bits.to_bytes(8, "little"))[0])
    .filter(math.isfinite)
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
integers = st.integers(-(10**309) + 1, 10**309 - 1)
values = st.recursive(
    st.none() | st.booleans() | doubles | integers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def in_javascript(value):
    """Write a double as ``String(value)`` of JavaScript does: the same digits, with other places for the exponent."""
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    point = len(digits) + exponent
    if len(text) <= point <= 21:
        number = text + "0" * (point - len(text))
    elif 0 < point <= 21:
        number = text[:point] + "." + text[point:]
    elif -6 < point <= 0:
        number = "0." + "0" * -point + text
    else:
        rest = "." + text[1:] if len(text) > 1 else ""
        number = f"{text[0]}{rest}e{point - 1:+}"
    return "-" * sign + number


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (123456789012345680000.0, "123456789012345680000"),
        (0.000001, "0.000001"),
        (-12.5, "-12.5"),
        (10.0, "10"),
    ],
)
def test_javascript(value, written):
    assert in_javascript(value) == written


@thorough(2_000)
@given(doubles)
@example(5e-324)
@example(1.7976931348623157e308)
@example(0.0000012345678901234567)
@example(-0.0)
@example(1e16)
@example(1e21)
def test_doubles(value):
    assert NUMBER.accepts(repr(value))
    assert NUMBER.accepts(in_javascript(value))


@thorough(300)
@given(values, st.sampled_from([None, *range(1, 9), "\t"]))
def test_what_json_dumps_writes(value, indent):
    assert ANYTHING.accepts(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    assert ANYTHING.accepts(json.dumps(value, ensure_ascii=False, indent=indent))


@thorough(200)
@given(integers)
def test_whole_numbers_have_plain_digits(value):
    known = decider({"type": "integer"}, **CANONICAL)
    assert known.accepts(str(value))
    assert not known.accepts(f"{value}.0")


def test_nothing_is_beyond_a_double():
    for text in ("3E999", "1e309", "1.8e+308", "-1e+400", f"{'9' * 310}", f"{'9' * 309}.0"):
        assert not NUMBER.accepts(text), text


def test_narrower_than_any():
    """What a walk writes in canonical spelling is accepted in any, and the canonical text of its value in both."""
    seen = Counter()

    @thorough(200)
    @given(schemas.schemas, st.randoms(use_true_random=False), st.booleans())
    def check(schema, dice, strict_mode):
        text = json.dumps(schema)
        options = {"strict_mode": strict_mode, "any_order": True, "timeout": 10.0}
        try:
            compiled = walk.COMPILER.compile_json_schema(text, spelling="canonical", **options)
        except xgr.GrammarError:
            seen["refused"] += 1
            return
        other = walk.COMPILER.compile_json_schema(text, spelling="any", **options)
        for _ in range(3):
            written = walk.walk(compiled, dice)
            seen["endless" if written is None else "done"] += 1
            if written is None:
                continue
            again = json.dumps(json.loads(written), ensure_ascii=False)
            for grammar, form in ((other, written), (compiled, again.encode())):
                matcher = xgr.GrammarMatcher(grammar, terminate_without_stop_token=True)
                assert matcher.accept_string(form), form
                assert matcher.is_completed(), form

    check()
    assert seen["done"] > 100
    assert seen["endless"] <= 0.1 * seen["done"], seen


def test_values_have_a_canonical_text():
    """A value that any spelling has is accepted as `json.dumps` writes it."""
    seen = Counter()

    @thorough(200)
    @given(st.data())
    def check(data):
        schema = data.draw(schemas.schemas, label="schema")
        known = [decider(schema, spelling=spelling, strict_mode=False) for spelling in ("any", "canonical")]
        if any(isinstance(one, Refusal) for one in known):
            seen["refused"] += 1
            return
        for value in data.draw(st.lists(schemas.values | schemas.sketches(schema), min_size=4, max_size=8)):
            text = canonical(value)
            answers = [one.accepts(text) for one in known]
            assert answers[0] == answers[1], text
            seen[answers[0]] += 1

    check()
    assert seen[True] > 100
    assert seen[False] > 100


def test_items_that_differ():
    """Items are compared as values, in the texts that the spelling has."""
    for items, accepted, rejected in (
        (
            {"type": "string"},
            ['["a","é","\\u00ea"]', '["\\n"]'],
            ['["a","a"]', '["é","\\u00e9"]', '["\\u0061"]'],
        ),
        ({"enum": ["a/", "é", 1]}, ['["a/","é",1]'], ['["a\\/"]', '["\\u00e9"]', '["é","é"]']),
        ({"type": "integer"}, ["[1,2]"], ["[1,1]", "[1.0]", "[-0]"]),
        ({"enum": ["a/", "é"]}, ['["a/", "é"]', '["é"]'], ['["a\\/"]', '["\\u00e9"]', '["é","é"]']),
    ):
        known = decider({"type": "array", "items": items, "uniqueItems": True}, **CANONICAL)
        assert [known.accepts(text) for text in accepted] == [True] * len(accepted), items
        assert [known.accepts(text) for text in rejected] == [False] * len(rejected), items


def test_the_report_names_the_spelling():
    for spelling in ("canonical", "any"):
        found = xgr.check_schema({"type": "integer", "maximum": 5, "minimum": 0}, spelling=spelling)
        assert [(one.keyword, one.outcome, one.note) for one in found if one.keyword == "spelling"] == [
            ("spelling", xgr.Outcome.EXACT, spelling)
        ]
    found = {one.keyword: one for one in xgr.check_schema({"type": "number"}, spelling="canonical")}
    assert found["spelling"].outcome is xgr.Outcome.NARROWED
    assert "309 digits" in found["spelling"].note
    found = {one.keyword: one for one in xgr.check_schema({"format": "time"}, spelling="canonical")}
    assert "nine digits" in found["format"].note


def test_refused_at_its_place():
    schema = {
        "properties": {"a": {"type": "number", "minimum": 1e308 * 10}},
        "required": ["a"],
        "type": "object",
    }
    text = json.dumps(schema).replace("Infinity", "1e309")
    with pytest.raises(xgr.UnsupportedFeatureError, match='spelling="any"') as caught:
        xgr.Grammar.from_json_schema(text, spelling="canonical")
    assert caught.value.pointer == "/properties/a"
    assert xgr.Grammar.from_json_schema(text, spelling="any")
