"""The laws of sets, on random schemas: two ways to say the same thing decide every instance alike.

No validator is asked here; the grammars are compared with each other on a pool of instances.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.json_schema import schemas
from tests.json_schema.decide import Refusal, decider
from tests.json_schema.profile import thorough

# The share of random pairs that may be refused on either side.
REFUSED = 0.25

LAWS = {
    "double complement": lambda s, _t: ({"not": {"not": s}}, s),
    "De Morgan, union": lambda s, t: ({"not": {"anyOf": [s, t]}}, {"allOf": [{"not": s}, {"not": t}]}),
    "De Morgan, intersection": lambda s, t: ({"not": {"allOf": [s, t]}}, {"anyOf": [{"not": s}, {"not": t}]}),
    "absorption, union": lambda s, t: ({"anyOf": [s, {"allOf": [s, t]}]}, s),
    "absorption, intersection": lambda s, t: ({"allOf": [s, {"anyOf": [s, t]}]}, s),
    "idempotence": lambda s, _t: ({"allOf": [s, s, {"anyOf": [s, s]}]}, s),
    "commutativity": lambda s, t: ({"allOf": [s, t]}, {"allOf": [t, s]}),
    "all or nothing": lambda s, _t: ({"anyOf": [s, {"not": s}]}, True),
    "contradiction": lambda s, _t: ({"allOf": [s, {"not": s}]}, False),
    "exactly one": lambda s, t: (
        {"oneOf": [s, t]},
        {"anyOf": [{"allOf": [s, {"not": t}]}, {"allOf": [t, {"not": s}]}]},
    ),
    "condition": lambda s, t: ({"if": s, "then": t}, {"anyOf": [{"not": s}, t]}),
}


@pytest.mark.parametrize("law", LAWS)
def test_law(law):
    seen = Counter()

    @thorough(40)
    @given(st.data())
    def check(data):
        one = data.draw(schemas.plain_schemas, label="one schema")
        other = data.draw(schemas.plain_schemas, label="the other")
        sides = [decider(side, strict_mode=False, timeout=10.0) for side in LAWS[law](one, other)]
        if any(isinstance(side, Refusal) for side in sides):
            seen["refused"] += 1
            return
        seen["compared"] += 1
        pool = schemas.values | schemas.sketches(one) | schemas.sketches(other)
        for value in data.draw(st.lists(pool, min_size=4, max_size=8)):
            left, right = (side.accepts_value(value) for side in sides)
            assert left is right, value
            assert left is not None, f"{value!r} is decided differently when it is escaped"

    check()
    assert seen["compared"] > 20
    assert seen["refused"] <= REFUSED * seen.total(), seen
