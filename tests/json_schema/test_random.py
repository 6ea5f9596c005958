"""Random schemas and instances, beside the validator of the package jsonschema-rs.

A grammar decides an instance as the validator does; what a walk over the masks generates is valid. A schema may be
refused, but only few are, or these tests would test nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter

import jsonschema_rs
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import tokenstile as xgr
from tests.json_schema import schemas, walk
from tests.json_schema.decide import NOTHING, Refusal, decider
from tests.json_schema.profile import thorough

# The share of random schemas that may be refused.
REFUSED = 0.1
SECONDS = 10.0
SPELLINGS = st.sampled_from(["canonical", "any"])


def is_valid(schema, value):
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(value)


def check_share(seen):
    assert seen["refused"] <= REFUSED * seen.total(), seen


def test_decisions():
    """Every instance is decided as the validator decides it; written with escapes or without."""
    seen = Counter()

    @thorough(300)
    @given(st.data())
    def check(data):
        schema = data.draw(schemas.schemas, label="schema")
        known = decider(schema, strict_mode=False, timeout=SECONDS)
        if isinstance(known, Refusal):
            seen["refused"] += 1
            return
        for value in data.draw(st.lists(schemas.values | schemas.sketches(schema), min_size=4, max_size=8)):
            valid = is_valid(schema, value)
            seen["valid" if valid else "invalid"] += 1
            assert known.accepts_value(value) is valid, value

    check()
    check_share(seen)
    assert seen["valid"] > 100
    assert seen["invalid"] > 100


def test_declared_order():
    """A valid object, written in the declared order with the others behind, is accepted."""
    seen = Counter()

    @thorough(150)
    @given(st.data())
    def check(data):
        schema = data.draw(schemas.object_schemas, label="schema")
        known = decider(schema, strict_mode=False, any_order=False, timeout=SECONDS)
        if isinstance(known, Refusal):
            seen["refused"] += 1
            return
        for value in data.draw(st.lists(schemas.sketches(schema), min_size=3, max_size=6)):
            declared = [key for key in schema["properties"] if key in value]
            others = [key for key in value if key not in schema["properties"]]
            ordered = {key: value[key] for key in declared + others}
            valid = is_valid(schema, ordered)
            seen["valid" if valid else "invalid"] += 1
            assert known.accepts_value(ordered) is valid, ordered
            if len(declared) > 1 and valid:
                backwards = {key: ordered[key] for key in reversed(ordered)}
                assert known.accepts_value(backwards) is False, backwards

    check()
    check_share(seen)
    assert seen["valid"] > 50


def test_walks():
    """What the masks generate is JSON without a key twice, and valid."""
    seen = Counter()

    @thorough(200)
    @given(
        schemas.schemas,
        st.randoms(use_true_random=False),
        st.fixed_dictionaries(
            {
                "any_whitespace": st.booleans(),
                "strict_mode": st.booleans(),
                "any_order": st.booleans(),
                "spelling": SPELLINGS,
            }
        ),
    )
    def check(schema, dice, options):
        try:
            compiled = walk.COMPILER.compile_json_schema(json.dumps(schema), timeout=SECONDS, **options)
        except xgr.GrammarError as error:
            seen["empty" if any(phrase in error.message for phrase in NOTHING) else "refused"] += 1
            return
        for _ in range(3):
            text = walk.walk(compiled, dice)
            seen["endless" if text is None else "done"] += 1
            if text is not None:
                note(f"{text!r}")
                assert is_valid(schema, walk.read(text))

    check()
    check_share(seen)
    assert seen["done"] > 100
    assert seen["endless"] <= 0.1 * seen["done"], seen


def test_both_ways():
    """A schema that is compiled at once and one that is a grammar first have the same masks, or the same error."""
    seen = Counter()

    @thorough(200)
    @given(
        schemas.schemas | schemas.object_schemas,
        st.randoms(use_true_random=False),
        st.fixed_dictionaries(
            {"strict_mode": st.booleans(), "any_order": st.booleans(), "spelling": SPELLINGS}
        ),
    )
    def check(schema, dice, options):
        text = json.dumps(schema)

        def by_a_grammar():
            return walk.COMPILER.compile_grammar(xgr.Grammar.from_json_schema(text, **options))

        try:
            compiled = walk.COMPILER.compile_json_schema(text, timeout=SECONDS, **options)
        except xgr.GrammarError as error:
            message = str(error)
            with pytest.raises(xgr.GrammarError, match=re.escape(message)):
                by_a_grammar()
            seen["refused"] += 1
            return
        seen["compiled"] += 1
        twin = by_a_grammar()
        assert str(compiled.grammar) == str(twin.grammar)
        for _ in range(2):
            walk.walk(compiled, dice, twin=twin)

    check()
    assert seen["compiled"] > 100
