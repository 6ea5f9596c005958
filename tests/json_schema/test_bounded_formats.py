"""Formats whose lengths the engine counts, with what else a schema asks for.

They are too large for the oracle that the cases of `testdata` are compared with.
"""

import json

import pytest

import tokenstile as xgr

from .decide import decider

LABEL = "a" * 63
NAME = ".".join([LABEL, LABEL, LABEL, "a" * 61])


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        (
            {
                "allOf": [
                    {"anyOf": [{"format": "email"}, {"format": "hostname"}]},
                    {"anyOf": [{"format": "hostname", "pattern": "a"}, {"format": "email", "pattern": "b"}]},
                ]
            },
            ["a@b.c", "a.b", NAME],
            ["a b", "a@c.d", "b.c", NAME + "a"],
        ),
        (
            {"if": {"not": {"format": "email"}}, "then": {"maxLength": 3, "not": {"format": "idn-email"}}},
            ["a@b.c", "abc"],
            ["é@b.cde", "abcd"],
        ),
        ({"format": "hostname", "minLength": 253}, [NAME], [NAME[1:], NAME + "a"]),
        (
            {"format": "email", "pattern": "^x"},
            ["x" * 64 + "@" + NAME[-189:], "x@a"],
            ["x" * 64 + "@" + NAME[-190:], "x" * 65 + "@a", "a@x"],
        ),
        ({"not": {"format": "hostname", "maxLength": 252}}, [NAME + "a", "a b"], [NAME[1:], "a"]),
        (
            {"anyOf": [{"format": "hostname"}, {"format": "ipv4"}], "minLength": 5},
            [NAME, "1.2.3.4"],
            ["a.b", "1.2.3"],
        ),
    ],
)
def test_lengths_and_more(schema, accepted, refused):
    known = decider({"type": "string", **schema})
    assert [text for text in accepted if not known.accepts_value(text)] == []
    assert [text for text in refused if known.accepts_value(text)] == []


def nested(depth, at):
    if depth == 0:
        return {"format": ["hostname", "email"][at % 2], "pattern": f"a{at}"}
    return {"maxLength": 100 + depth, "anyOf": [nested(depth - 1, 2 * at), nested(depth - 1, 2 * at + 1)]}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [nested(4, at) for at in range(6)]},
        {
            "pattern": " $",
            "allOf": [
                {
                    "anyOf": [
                        {"format": "hostname", "pattern": f"a{at}"},
                        {"format": "email", "pattern": f"b{at}"},
                    ]
                }
                for at in range(6)
            ],
        },
        {"allOf": [{"format": "email", "not": {"pattern": f"a.{{{at}}}b"}} for at in range(9, 12)]},
    ],
    ids=["nested", "choices", "patterns"],
)
def test_what_multiplies_ends_with_a_limit(schema):
    with pytest.raises(xgr.LimitExceededError, match=r'^at "'):
        xgr.Grammar.from_json_schema(json.dumps({"type": "string", **schema}))
