"""Arrays of which no two items are equal, whatever the items are and however they are written."""

import itertools
import json
import random

import jsonschema_rs
import pytest

import tokenstile as xgr
from tests.json_schema.walk import COMPILER, INFO, TOKENS, walk

UNIQUE = {"type": "array", "uniqueItems": True}
FLAG = {
    "type": "object",
    "properties": {"k": {"type": "string"}, "on": {"type": "boolean"}},
    "required": ["k"],
}
CLOSED = {**FLAG, "additionalProperties": False}


@pytest.fixture(autouse=True)
def _every_spelling():
    """What is compared here are values, however they are written."""
    xgr.set_default_spelling("any")
    yield
    xgr.set_default_spelling("canonical")


def matcher_of(schema, **options):
    return xgr.GrammarMatcher(COMPILER.compile_json_schema(json.dumps(schema), **options))


def accepts(schema, text, **options):
    matcher = matcher_of(schema, **options)
    return matcher.accept_string(text) and matcher.is_completed()


@pytest.mark.parametrize(
    ("items", "text", "expected"),
    [
        ({}, "[1, 2, [1], [2], {}, []]", True),
        ({}, "[1, 1.0]", False),
        ({}, "[100, 1e2]", False),
        ({}, "[0, -0]", False),
        ({}, '[1, true, "1", [1]]', True),
        ({}, "[{}, {}]", False),
        ({}, '[{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]', False),
        ({}, '[{"a": 1, "b": [2]}, {"b": [3], "a": 1}]', True),
        ({}, '[["a"], ["\\u0061"]]', False),
        ({}, '[{"\\u0061": 1}, {"a": 1}]', False),
        ({}, "[[1, 2], [2, 1]]", True),
        ({}, "[[1, 1], [1]]", True),
        ({"type": "integer"}, "[3, 5, 3]", False),
        ({"type": "integer", "minimum": 0, "maximum": 99999}, "[3, 5, 35]", True),
        ({"enum": [1e22, 5]}, "[10000000000000000000000, 5.0]", True),
        ({"enum": [1e22, 5]}, "[10000000000000000000000, 1e22]", False),
    ],
)
def test_items_are_compared_as_values(items, text, expected):
    assert accepts({**UNIQUE, "items": items}, text, strict_mode=False) is expected


# No object has two members of at most none.
IMPOSSIBLE = {"type": "object", "required": ["a", "b"], "maxProperties": 0}
# No array has two items of which at most one is null, if all are.
TOO_MANY = {
    "type": "array",
    "items": {"type": "null"},
    "contains": {"type": "null"},
    "maxContains": 1,
    "minContains": 0,
    "minItems": 2,
}
HOLDING_TOO_MANY = {
    "type": "object",
    "properties": {"x": TOO_MANY, "s": {"type": "string"}},
    "required": ["x", "s"],
}
STRINGS = {**UNIQUE, "items": {"type": "string"}}
RUN_OUT = {**UNIQUE, "items": {"type": "string", "pattern": "^[ab]?$"}, "minItems": 2}


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (STRINGS, '["a", "b", "ab"]', True),
        (STRINGS, '["", "\\u0061"]', True),
        (STRINGS, '["a", "\\u0061"]', False),
        (STRINGS, '["", ""]', False),
        (RUN_OUT, '["b", "a", ""]', True),
        (RUN_OUT, '["b"]', False),
    ],
)
def test_strings(schema, text, expected):
    assert accepts(schema, text) is expected


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (STRINGS, '["a", "b", "ab"]'),
        (RUN_OUT, '["a", "b", ""]'),
        ({**UNIQUE, "items": {"type": "string", "maxLength": 2}}, '["bc", "ab", ""]'),
        ({**UNIQUE, "items": {"type": "integer"}}, "[12, 1, 2]"),
        ({**UNIQUE, "items": FLAG}, '[{"k": "a"}, {"k": "a", "on": true}]'),
        ({"type": "object", "properties": {"a": STRINGS}}, '{"a": ["ab", "b"]}'),
        ({**UNIQUE, "items": {"type": "string"}}, '["ab", "a\\u0062c", "\\u0061"]'),
        ({**UNIQUE, "items": {"type": "number"}}, "[12, 1.2e0, 1.25]"),
        ({**UNIQUE, "items": CLOSED}, '[{"k": "ab"}, {"k": "\\u0061", "on": true}]'),
        ({**UNIQUE, "items": {"type": "array", "items": {"type": "string"}}}, '[["ab"], ["ab", ""], []]'),
    ],
)
def test_every_bit_is_what_accept_says(schema, text):
    matcher = matcher_of(schema)
    mask = xgr.allocate_token_bitmask(1, INFO.vocab_size)
    for byte in text.encode():
        matcher.fill_next_token_bitmask(mask)
        (bits,) = xgr.testing.bitmask_to_bool_mask(mask, INFO.vocab_size)
        for token in range(INFO.vocab_size):
            taken = matcher.accept_token(token)
            if taken:
                matcher.rollback(1)
            assert taken == bits[token], TOKENS[token]
        assert matcher.accept_token(byte)
    assert matcher.is_completed()


def lists_of(values, longest):
    return [
        list(items) for length in range(longest + 1) for items in itertools.product(values, repeat=length)
    ]


@pytest.mark.parametrize("is_shuffled", [False, True])
@pytest.mark.parametrize(
    ("items", "values"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 120}, [*range(1, 121)]),
        ({"enum": [10**8, 10**8 + 1, 10**20, 10**20 + 1]}, [10**8, 10**20, 10**20 + 1, 10**8 + 1]),
        ({"type": "array", "items": {"type": "null"}}, lists_of([None], 12)),
        ({"type": "array", "items": {"type": "boolean"}}, lists_of([True, False], 4)),
        ({"type": "array", "items": {"enum": [1, 10, 100]}}, lists_of([1, 10, 100], 3)),
    ],
)
def test_the_last_item_that_is_left_can_be_written(items, values, is_shuffled):
    if is_shuffled:
        random.Random(5).shuffle(values)  # noqa: S311
    matcher = matcher_of({**UNIQUE, "items": items}, any_whitespace=False)
    mask = xgr.allocate_token_bitmask(1, INFO.vocab_size)
    text = json.dumps(values)
    for at, byte in enumerate(text.encode()):
        matcher.fill_next_token_bitmask(mask)
        assert xgr.testing.bitmask_to_bool_mask(mask, INFO.vocab_size)[0][byte], text[:at]
        assert matcher.accept_token(byte)
    assert matcher.is_completed()


@pytest.mark.parametrize(
    "items",
    [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 1}],
)
@pytest.mark.parametrize("nought", ["0", "-0", "0.0", "-0.00"])
def test_nought_has_no_exponent_where_it_was_there(items, nought):
    """All that could come behind it is nought again."""
    before, after = ("[[0], [", "]]") if items["type"] == "array" else ("[0, ", "]")
    matcher = matcher_of({**UNIQUE, "items": items}, any_whitespace=False)
    assert matcher.accept_string(before + nought)
    for end in ["e", "E", ",", *after]:
        assert not matcher.accept_string(end), end
    assert matcher.accept_string(("" if "." in nought else ".") + "5" + after)
    assert matcher.is_completed()


def test_an_item_of_which_all_are_there_is_not_begun():
    three = '[{"k": "x"}, {"k": "x", "on": true}, {"k": "x", "on": false}, {"k": "x'
    matcher = matcher_of({**UNIQUE, "items": CLOSED})
    assert matcher.accept_string(three)
    assert not matcher.accept_string('"')
    assert matcher.accept_string('y"}]')
    assert matcher.is_completed()


@pytest.mark.parametrize("layout", [{}, {"any_whitespace": False}, {"any_whitespace": False, "indent": 2}])
@pytest.mark.parametrize(
    "schema",
    [
        UNIQUE,
        {**UNIQUE, "items": CLOSED, "minItems": 2},
        {**UNIQUE, "items": {"type": "array", "items": {"enum": [0, 1]}}, "minItems": 3},
        {**UNIQUE, "items": {**UNIQUE, "items": {"type": ["string", "boolean"]}}},
        {**UNIQUE, "items": {"type": "integer", "minimum": 1, "maximum": 3}, "minItems": 3},
        {**UNIQUE, "prefixItems": [{"type": "boolean"}, {"type": "boolean"}], "items": {"type": "object"}},
        {**UNIQUE, "contains": {"type": "object"}, "items": {"type": ["object", "boolean"]}},
        {"type": "object", "properties": {"a": {**UNIQUE, "items": FLAG}}, "required": ["a"]},
        {"anyOf": [{**UNIQUE, "items": {"type": "integer"}}, {"type": "array", "maxItems": 2}]},
    ],
)
def test_walks_do_not_get_stuck_and_are_valid(schema, layout):
    validator = jsonschema_rs.validator_for(schema)
    compiled = COMPILER.compile_json_schema(json.dumps(schema), **layout)
    dice = random.Random(json.dumps(schema))  # noqa: S311
    whole = 0
    for _ in range(12):
        text = walk(compiled, dice)
        if text is not None:
            whole += 1
            assert validator.is_valid(json.loads(text)), text
    assert whole > 0


@pytest.mark.parametrize(
    "schema",
    [
        {"not": UNIQUE, "type": "array"},
        {**UNIQUE, "contains": {"type": "object"}, "maxContains": 1},
        {
            **UNIQUE,
            "items": {
                "type": "object",
                "properties": {"a": {"type": "boolean"}},
                "additionalProperties": False,
            },
        },
        {**UNIQUE, "items": {"type": "array", "prefixItems": [IMPOSSIBLE]}},
        {
            **UNIQUE,
            "items": {
                "type": "array",
                "prefixItems": [{"type": "array", "items": IMPOSSIBLE}],
                "items": False,
            },
        },
        {
            **UNIQUE,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "patternProperties": {"^x": IMPOSSIBLE},
            },
        },
        {**UNIQUE, "items": {"anyOf": [{"type": "boolean"}, HOLDING_TOO_MANY]}},
    ],
)
def test_what_is_refused(schema):
    with pytest.raises(xgr.UnsupportedFeatureError, match="uniqueItems"):
        xgr.Grammar.from_json_schema(json.dumps(schema), strict_mode=False)


def test_a_budget_of_tokens_is_kept_where_several_items_must_differ_too():
    compiled = COMPILER.compile_json_schema(json.dumps({**UNIQUE, "items": FLAG}))
    assert xgr.GrammarMatcher(compiled, max_tokens=100).tokens_left == 100
    several = COMPILER.compile_json_schema(json.dumps({**UNIQUE, "items": FLAG, "minItems": 2}))
    needed = several.shortest_output()
    assert xgr.GrammarMatcher(several, max_tokens=needed).tokens_left == needed
    with pytest.raises(xgr.TokenBudgetError, match=f"the shortest output that is known takes {needed}"):
        xgr.GrammarMatcher(several, max_tokens=needed - 1)


def test_the_grammar_as_text_compares_too():
    grammar = xgr.Grammar.from_json_schema(json.dumps({**UNIQUE, "items": {"type": "integer"}}))
    assert '[distinct_items=""]' in str(grammar)
    again = xgr.Grammar.from_ebnf(str(grammar))
    matcher = xgr.GrammarMatcher(COMPILER.compile_grammar(again))
    assert not matcher.accept_string("[1,1]")
    assert matcher.accept_string("[1,2]")
