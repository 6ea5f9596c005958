"""Grammars made of grammars: the operations, on any mix of front ends, and what they refuse."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys

import numpy as np
import pytest

import tokenstile as xgr

DIGITS = xgr.Grammar.from_regex("[0-9]+")
WORD = xgr.Grammar.from_ebnf("root ::= [a-z]+")
NESTED = xgr.Grammar.from_ebnf('root ::= "(" root ")" | "x" | root "," root')
LIST = xgr.Grammar.from_lark('start: "[" (start ("," start)*)? "]" | /[0-9]/')
JSON = xgr.Grammar.from_json_schema({"type": "array", "items": {"type": "integer"}}, any_whitespace=False)


def accepts(grammar, text):
    return xgr.testing._is_grammar_accept_string(grammar, text)


def texts(letters, longest):
    for length in range(longest + 1):
        yield from map("".join, itertools.product(letters, repeat=length))


def test_one_after_the_other_and_either():
    assert xgr.Grammar.concat(DIGITS, WORD) == DIGITS + WORD
    assert xgr.Grammar.union(DIGITS, WORD) == DIGITS | WORD
    assert accepts(DIGITS + WORD, "12ab")
    assert accepts(DIGITS | WORD, "ab")
    assert not accepts(DIGITS | WORD, "1a")


@pytest.mark.parametrize(
    ("recursive", "pattern", "letters"),
    [
        (NESTED, "[^,]*|x,x", "(),x"),
        (NESTED, ".{0,4}", "(),x"),
        (LIST, r"[^\]]*\]+|.", "[],1"),
        (LIST, "(..)*", "[],1"),
        (JSON, ".{0,5}", "[], 1-"),
    ],
)
def test_both_and_without(recursive, pattern, letters):
    regular = xgr.Grammar.from_regex(pattern)
    both, without = recursive & regular, recursive - regular
    assert both == xgr.Grammar.intersect(recursive, regular)
    assert without == recursive.exclude(regular)
    sides = [
        xgr.testing._get_matcher_from_grammar(grammar) for grammar in (recursive, regular, both, without)
    ]
    for text in texts(letters, 5):
        results = []
        for matcher in sides:
            matcher.reset()
            results.append(matcher.accept_string(text) and matcher.is_completed())
        assert results[2] == (results[0] and results[1]), text
        assert results[3] == (results[0] and not results[1]), text


def test_both_of_json():
    """A conjunction with any text changes nothing, and one with a shape of the text is both."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"enum": ["a", "\u00e9"]}},
        },
        "required": ["name"],
    }
    grammar = xgr.Grammar.from_json_schema(schema)
    anything = grammar & xgr.Grammar.from_regex("[^]*")
    one_line = grammar & xgr.Grammar.from_regex(r"[^\n\r\\\\]*")
    for text in [
        '{"name": "x"}',
        '{"name": "\\u00e9\\n", "tags": ["\\u00E9", "a"]}',
        '{"na\\u006de": "\u00e9"}',
        '{"name":\n"x"}',
        '{"tags": []}',
        '{"name": "x", "tags": ["b"]}',
        '{"name": "\\ud83d\\ude00"}',
        '{"name": "\\ud83d"}',
        "{}",
    ]:
        assert accepts(anything, text) == accepts(grammar, text), text
        expected = accepts(grammar, text) and not set(text) & set("\n\\")
        assert accepts(one_line, text) == expected, text
    assert accepts(grammar - xgr.Grammar.from_ebnf(r'root ::= "{\"name\": \"x\"}"'), '{"name":"x"}')


def test_masks_have_no_dead_ends():
    """Walk at random over a conjunction: whatever the mask allows can be completed."""
    tokens = [*"(),x", "((", "))", ",x", "x)", "</s>"]
    info = xgr.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])
    compiled = xgr.GrammarCompiler(info).compile_grammar(NESTED & xgr.Grammar.from_regex(".{0,9}"))
    mask = np.zeros((1, 1), dtype=np.int32)
    dice = random.Random(3)  # noqa: S311 - a walk
    for _ in range(100):
        matcher = xgr.GrammarMatcher(compiled)
        text = ""
        while not matcher.is_terminated():
            matcher.fill_next_token_bitmask(mask)
            allowed = xgr.testing.bitmask_to_bool_mask(mask, len(tokens))[0].nonzero()[0].tolist()
            assert allowed, text
            token = dice.choice(allowed)
            assert matcher.accept_token(token)
            text += tokens[token] if token < len(tokens) - 1 else ""
        assert len(text) <= 9
        assert accepts(NESTED, text)


def test_optional_and_repeat():
    item = xgr.Grammar.from_regex("[0-9];")
    assert accepts(item.optional(), "")
    assert not accepts(item.optional(), "1;2;")
    for count in range(6):
        assert accepts(item.repeat(2, 4), "1;" * count) == (2 <= count <= 4)
        assert accepts(item.repeat(2), "1;" * count) == (count >= 2)
        assert accepts(item.repeat(), "1;" * count)
    with pytest.raises(ValueError, match="max"):
        item.repeat(3, 2)


def test_until():
    grammar = DIGITS.then_until("aab")
    for text in ["1aab", "1xaab", "12aaab", "1ababaab"]:
        assert accepts(grammar, text), text
    for text in ["1", "1aa", "aab", "1aabaab", "1aabx"]:
        assert not accepts(grammar, text), text
    assert accepts(grammar + WORD, "1 aabz")
    with pytest.raises(xgr.GrammarError, match="empty"):
        DIGITS.then_until("")


def test_what_cannot_be_is_refused():
    with pytest.raises(xgr.UnsupportedFeatureError, match="only one side"):
        xgr.Grammar.intersect(NESTED, LIST)
    with pytest.raises(xgr.UnsupportedFeatureError):
        DIGITS.exclude(NESTED)
    with pytest.raises(xgr.UnsupportedFeatureError, match="several spellings"):
        xgr.Grammar.from_json_schema({"type": "object"}, spelling="any") & xgr.Grammar.from_regex("[^x]*")
    with pytest.raises(xgr.GrammarError, match="nothing"):
        NESTED & DIGITS
    with pytest.raises(xgr.GrammarError, match="nothing"):
        xgr.Grammar.intersect(DIGITS, WORD)
    for operation in (lambda: DIGITS + "a", lambda: DIGITS | 1, lambda: DIGITS & None, lambda: DIGITS - "a"):
        with pytest.raises(TypeError):
            operation()
    with pytest.raises(TypeError):
        DIGITS.exclude("a")


def test_composed_grammars_print_and_read_back():
    grammar = ((NESTED & xgr.Grammar.from_regex(".{0,6}")) - xgr.Grammar.from_ebnf('root ::= "x"')).repeat(
        1, 3
    )
    again = xgr.Grammar.from_ebnf(str(grammar))
    for text in ["(x)", "(x)x,x", "x", ""]:
        assert accepts(grammar, text) == accepts(again, text)
    assert xgr.Grammar.deserialize_json(grammar.serialize_json()) == grammar


def test_long_sums_are_put_together_once():
    letter = xgr.Grammar.from_ebnf('root ::= "a"')
    total = letter
    for _ in range(2_999):
        total = total + letter
    assert accepts(total, "a" * 3_000)
    assert not accepts(total, "a" * 2_999)
    assert total == xgr.Grammar.concat(*[letter] * 3_000)
    assert repr(total) == "<Grammar of 3001 rules>"


def test_sums_of_alternatives_keep_their_order():
    a, b, c = (xgr.Grammar.from_ebnf(f'root ::= "{letter}"') for letter in "abc")
    mixed = (a | b) + c + (a | b | c)
    assert [accepts(mixed, text) for text in ("aca", "bcc", "cca", "ac", "acc")] == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert (a | b | c) == xgr.Grammar.union(a, b, c)
    again = a + b
    assert str(again + c) == str(xgr.Grammar.concat(a, b, c))
    assert str(again) == str(xgr.Grammar.concat(a, b))


@pytest.mark.parametrize(
    "compose",
    [
        lambda a, limits: xgr.Grammar.concat(a, a, limits=limits),
        lambda a, limits: xgr.Grammar.union(a, a, limits=limits),
        lambda a, limits: xgr.Grammar.intersect(a, a, limits=limits),
        lambda a, limits: a.exclude(a, limits=limits),
        lambda a, limits: a.optional(limits=limits),
        lambda a, limits: a.repeat(2, 3, limits=limits),
        lambda a, limits: a.then_until("x", limits=limits),
    ],
)
def test_composition_has_limits(compose):
    part = xgr.Grammar.from_regex("[a-c]x|d{3}")
    with pytest.raises(xgr.LimitExceededError):
        compose(part, xgr.Limits(max_exprs=1))
    with pytest.raises(TypeError):
        compose(part, 3)


def test_intersections_end_at_the_limit_on_time():
    bounded = xgr.Grammar.from_regex("(?s).{0,200}")
    with pytest.raises(xgr.LimitExceededError, match="max_compile_time"):
        xgr.Grammar.intersect(
            xgr.Grammar.builtin_json_grammar(), bounded, limits=xgr.Limits(max_compile_time=0.05)
        )


def test_an_interrupt_ends_an_intersection():
    code = """
import _thread, signal, threading
import tokenstile as xgr
# Whoever runs the tests in the background may have had interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    xgr.Grammar.builtin_json_grammar() & xgr.Grammar.from_regex("(?s).{0,2000}")
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "interrupted\n", done.stderr


CHARACTERS = [*map(chr, range(32, 127)), "\n", "\t", "\u00e9"]
PIECES = [*CHARACTERS, '":', '{"', '"}', '","', "true", "null", "ab", '"a":', "12", "</s>"]
PIECES_INFO = xgr.TokenizerInfo(PIECES, stop_token_ids=[len(PIECES) - 1])


def walk(grammar, dice, steps=40):
    """Walk at random; each mask is what is accepted, and never empty. Returns the text if it came to its end."""
    compiled = xgr.GrammarCompiler(PIECES_INFO, cache_enabled=False).compile_grammar(grammar)
    matcher = xgr.GrammarMatcher(compiled)
    mask = np.zeros((1, -(-len(PIECES) // 32)), dtype=np.int32)
    text = ""
    for _ in range(steps):
        matcher.fill_next_token_bitmask(mask)
        allowed = xgr.testing.bitmask_to_bool_mask(mask, len(PIECES))[0]
        accepted = [matcher.fork().accept_token(token) for token in range(len(PIECES))]
        assert allowed.tolist() == accepted, text
        assert any(accepted), f"a dead end after {text!r}"
        # Ends and quotes come soon, so that texts come to an end.
        choices = allowed.nonzero()[0].tolist()
        likely = [token for token in choices if PIECES[token] in {"</s>", '"', "}", ":", ",", "1", "]"}]
        token = dice.choice(likely if likely and dice.random() < 0.7 else choices)
        assert matcher.accept_token(token)
        if matcher.is_terminated():
            return text
        text += PIECES[token]
    return None


OBJECTS = [
    {"type": "object"},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]},
    {"properties": {"b": {"enum": ["x", 1, None]}, "a": {"type": ["integer", "null"]}}},
    {"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "minProperties": 1},
    {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 2},
    {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}, "maxItems": 2},
    {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"const": 1}}}]},
]
SHAPES = [
    ".{0,14}",
    ".{12}",
    "[^b]*",
    ".*1.*",
    '.*[^"]',
    r"(?!\{\}$).*",
    '(?!\\{"a":1\\}$).*',
    ".{0,7}|.{10,15}",
]
TEXTS = [
    "{}", "{ }", '{"a":1}', '{"a": 1}', '{"a":1,"b":"x"}', '{"b":"x","a":1}', '{"a":1,"a":1}', '{"":1}',
    '{"a":1,"c":{}}', '{"c":true}', '{"c":true,"d":false}', '{"ab":12}', "[]", '[{"a":1}]', '[{"a":1},{}]', "1",
    "12345",
    '{"b":1}', '{"b":null,"a":2}', '{"a":null,"b":1}', '{"a":11111}', '{"a":1111111111}', '{"ab":1,"ac":2}',
]  # fmt: skip


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_objects_beside_regular_languages(shape, strict):
    dice = random.Random(shape)  # noqa: S311 - a walk
    regular = xgr.Grammar.from_regex(shape)
    for schema in OBJECTS:
        side = xgr.Grammar.from_json_schema(
            schema, strict_mode=strict, any_whitespace=False, separators=(",", ":")
        )
        try:
            both = side & regular
        except xgr.GrammarError as error:
            assert "nothing" in str(error)  # noqa: PT017 - not all have one
            assert not any(accepts(side, text) and accepts(regular, text) for text in TEXTS)
            continue
        for text in TEXTS:
            assert accepts(both, text) == (accepts(side, text) and accepts(regular, text)), (schema, text)
        text = walk(both, dice)
        assert text is None or (accepts(side, text) and accepts(regular, text)), (schema, text)


def test_a_short_object_comes_to_its_end():
    for any_order in (True, False):
        anything = xgr.Grammar.from_json_schema({"type": "object"}, strict_mode=False, any_order=any_order)
        three = anything & xgr.Grammar.from_regex(".{3}")
        assert accepts(three, "{ }")
        assert not accepts(three, "{}")
        short = anything & xgr.Grammar.from_regex(".{0,30}")
        assert accepts(short, '{"a": 1, "b": {"a": [true]}}')
        assert not accepts(short, '{"a": 1, "a": 2}'), "no key comes twice"
        assert not accepts(short, '{"": 1, "": 2}'), "nor does the one of which there is one of its length"
        assert not accepts(short, '{"a": 1, "b": {"a": [true, 1]}}')


@pytest.mark.parametrize("first", range(len(OBJECTS)))
def test_schemas_beside_schemas(first):
    dice = random.Random(first)  # noqa: S311 - a walk
    layout = {"any_whitespace": False, "separators": (",", ":")}
    for second, other in enumerate(OBJECTS):
        strict = (first + second) % 2 == 0
        one = xgr.Grammar.from_json_schema(OBJECTS[first], strict_mode=strict, **layout)
        two = xgr.Grammar.from_json_schema(other, strict_mode=dice.random() < 0.5, **layout)
        try:
            both = one & two
        except xgr.UnsupportedFeatureError as error:
            assert "order" in str(error)  # noqa: PT017 - not all have one
            continue
        except xgr.GrammarError:
            assert not any(accepts(one, text) and accepts(two, text) for text in TEXTS)
            continue
        for text in TEXTS:
            assert accepts(both, text) == (accepts(one, text) and accepts(two, text)), (other, text)
        text = walk(both, dice)
        assert text is None or (accepts(one, text) and accepts(two, text)), (other, text)


def test_each_schema_is_closed_by_its_own_options():
    name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    age = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    closed, opened = (xgr.Grammar.from_json_schema(name, strict_mode=strict) for strict in (True, False))
    with pytest.raises(xgr.GrammarError, match="nothing"):
        closed & xgr.Grammar.from_json_schema(age, strict_mode=False)
    both = opened & xgr.Grammar.from_json_schema(age, strict_mode=False)
    assert accepts(both, '{"age": 1, "name": "x", "more": []}')
    assert not accepts(both, '{"name": "x"}')
    # One allOf is closed once: what is named by either may come.
    joint = xgr.Grammar.all_of([name, age])
    assert accepts(joint, '{"name": "x", "age": 1}')
    assert not accepts(joint, '{"name": "x", "age": 1, "more": []}')
    assert accepts(xgr.Grammar.all_of([name, age], strict_mode=False), '{"age": 1, "name": "x", "more": []}')
    assert joint.report == []


def test_each_schema_of_all_of_has_its_own_draft_and_address():
    old = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "http://example.com/old.json",
        "properties": {"n": {"$ref": "old.json#/definitions/n"}},
        "definitions": {"n": {"type": "number", "minimum": 3, "exclusiveMinimum": True}},
    }
    new = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "http://example.com/new.json",
        "properties": {"n": {"$ref": "#/$defs/n"}},
        "$defs": {
            "n": {"$ref": "new.json#m"},
            "m": {"$anchor": "m", "exclusiveMaximum": 5, "type": "integer"},
        },
    }
    joint = xgr.Grammar.all_of([old, new])
    assert accepts(joint, '{"n": 4}')
    assert not accepts(joint, '{"n": 3}')
    assert not accepts(joint, '{"n": 5}')
    with pytest.raises(xgr.JSONSchemaError, match="no value"):
        xgr.Grammar.all_of([{"type": "integer"}, {"type": "string"}])
    with pytest.raises(xgr.InvalidArgumentError, match="at least one"):
        xgr.Grammar.all_of([])
    with pytest.raises(xgr.InvalidArgumentError, match="list of schemas"):
        xgr.Grammar.all_of("{}")
    with pytest.raises(xgr.GrammarError, match=r"all_of/1#/properties/n"):
        xgr.Grammar.all_of([{}, {"properties": {"n": {"$ref": "#/nowhere"}}}])


def test_values_are_taken_away_however_they_are_written():
    small = xgr.Grammar.from_json_schema({"type": "integer", "minimum": 0, "maximum": 20})
    rest = small - xgr.Grammar.from_json_schema({"multipleOf": 3}, any_whitespace=False)
    assert [number for number in range(25) if accepts(rest, str(number))] == [
        number for number in range(21) if number % 3
    ]
    objects = xgr.Grammar.from_json_schema(
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    )
    without = objects - xgr.Grammar.from_json_schema({"type": "object", "required": ["a"]}, strict_mode=False)
    assert accepts(without, '{"b": 1}')
    assert not accepts(without, '{"a": 1, "b": 1}')
    again = without & xgr.Grammar.from_json_schema({"minProperties": 1}, strict_mode=False)
    assert accepts(again, '{"b": 1}')
    assert not accepts(again, "{}")


def test_schemas_that_are_written_in_different_ways():
    plain = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    schema = plain | {"properties": plain["properties"] | {"c": {}}}
    free = xgr.Grammar.from_json_schema(schema)
    line = xgr.Grammar.from_json_schema(schema, any_whitespace=False)
    both = free & line
    assert accepts(both, '{"a": 1, "b": 2}')
    assert not accepts(both, '{"a":1,"b":2}')
    with pytest.raises(xgr.UnsupportedFeatureError, match="different white space"):
        line & xgr.Grammar.from_json_schema(schema, any_whitespace=False, indent=2)
    any_spelling = free & xgr.Grammar.from_json_schema(schema, spelling="any")
    assert accepts(any_spelling, '{"a": 1}')
    assert not accepts(any_spelling, '{"\\u0061": 1}')
    turned = {"type": "object", "properties": dict(reversed(schema["properties"].items()))}
    with pytest.raises(xgr.UnsupportedFeatureError, match="different orders"):
        free & xgr.Grammar.from_json_schema(turned)
    required = {"required": ["a", "b"]}
    with pytest.raises(xgr.UnsupportedFeatureError, match="no object is written in all"):
        xgr.Grammar.from_json_schema(schema | required) & xgr.Grammar.from_json_schema(turned | required)
    backwards = {"type": "object", "properties": dict(reversed(plain["properties"].items()))}
    few = xgr.Grammar.from_json_schema(plain) & xgr.Grammar.from_json_schema(backwards)
    assert [accepts(few, text) for text in ("{}", '{"a": 1}', '{"b": 1}', '{"a": 1, "b": 2}')] == [
        True,
        True,
        True,
        False,
    ], "what is regular needs no order that all agree on"
    in_one_order = free & xgr.Grammar.from_json_schema(turned, any_order=True)
    assert accepts(in_one_order, '{"a": 1, "b": 2}')
    assert not accepts(in_one_order, '{"b": 2, "a": 1}')


def test_several_operands_at_once():
    schema = xgr.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}})
    other = xgr.Grammar.from_json_schema({"type": "object", "minProperties": 1}, strict_mode=False)
    both = xgr.Grammar.intersect(
        schema, xgr.Grammar.from_regex(".{0,9}"), other, xgr.Grammar.from_regex("[^2]*")
    )
    chained = (schema & other) & xgr.Grammar.from_regex(".{0,9}") & xgr.Grammar.from_regex("[^2]*")
    for text, expected in [('{"a": 1}', True), ('{"a": 2}', False), ("{}", False), ('{"a": 1111}', False)]:
        assert accepts(both, text) == accepts(chained, text) == expected


FRONT_ENDS = [
    xgr.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}}),
    xgr.Grammar.from_regex("[0-9]{2}"),
    NESTED,
    LIST,
    xgr.Grammar.from_structural_tag(
        {
            "type": "structural_tag",
            "format": {
                "type": "tag", "begin": "<a>", "content": {"type": "regex", "pattern": "[xy]"}, "end": "</a>"
            },
        }
    ),
]  # fmt: skip
WORDS = ['{"a": 1}', "12", "(x)", "[1,2]", "<a>x</a>"]


@pytest.mark.parametrize("first", range(len(WORDS)))
def test_chains_of_all_front_ends(first):
    for second, word in enumerate(WORDS):
        chain = FRONT_ENDS[first].then(FRONT_ENDS[second])
        assert chain == FRONT_ENDS[first] + FRONT_ENDS[second]
        assert accepts(chain, WORDS[first] + word)
        assert not accepts(chain, WORDS[first])
        either = FRONT_ENDS[first] | FRONT_ENDS[second]
        assert accepts(either, word)
        assert accepts(either.repeat(2, 3), WORDS[first] + word)
        after_text = xgr.Grammar.from_ebnf('root ::= ""').then_until("::").then(FRONT_ENDS[second])
        assert accepts(after_text, "free text : ::" + word)
        assert not accepts(after_text, "free text" + word)
        assert accepts(FRONT_ENDS[first].then_until("!").then(FRONT_ENDS[second]), WORDS[first] + "?!" + word)


MANY_KEYS = {
    "type": "object",
    "properties": {f"k{at}": {"type": "integer"} for at in range(30)},
    "required": ["k3"],
}


@pytest.mark.parametrize("options", [{}, {"any_order": True}, {"strict_mode": False}])
def test_many_keys_beside_what_each_character_leads_back_to(options):
    """No set of keys is told from another where the regular language does not count."""
    side = xgr.Grammar.from_json_schema(MANY_KEYS, **options)
    both = side & xgr.Grammar.from_regex("[^5\\n]*")
    for text in [
        '{"k3": 1}',
        '{"k3": 5}',
        '{"k1": 4, "k3": 1}',
        '{"k3": 1, "k1": 4}',
        '{"k3": 1, "k15": 4}',
        '{"k3": 1, "x": [{"y": 1, "y": 2}]}',
        '{"k3": 1, "x": [{"y": 1}, {"y": "7"}]}',
        '{"k3": 1, "x": [{"y": 1}, {"y": "5"}]}',
        '{"k1": 4}',
        '{"k3":\n1}',
    ]:
        expected = accepts(side, text) and "5" not in text and "\n" not in text
        assert accepts(both, text) == expected, text
    assert not accepts(side & xgr.Grammar.from_regex("[^,]*"), '{"k3": 1, "k4": 1}')
    assert accepts(side & xgr.Grammar.from_regex("[^,]*"), '{"k3": 1}')
    with pytest.raises(xgr.GrammarError, match="nothing"):
        side & xgr.Grammar.from_regex("[^3]*")


def test_many_keys_beside_a_length():
    side = xgr.Grammar.from_json_schema(MANY_KEYS)
    both = side & xgr.Grammar.from_regex(".{0,40}")
    assert accepts(both, '{"k1": 4, "k3": 1}')
    assert not accepts(both, '{"k1": 4, "k3": 1, "k4": 1, "k5": 1, "k6": 1}')
    with pytest.raises(xgr.LimitExceededError, match="any order"):
        xgr.Grammar.from_json_schema(MANY_KEYS, any_order=True) & xgr.Grammar.from_regex(".{0,400}")


def test_numbers_that_each_schema_writes_in_its_way():
    number, integer = ({"type": kind} for kind in ("number", "integer"))
    both = xgr.Grammar.from_json_schema(number) & xgr.Grammar.from_json_schema(integer)
    assert accepts(both, "3")
    assert not accepts(both, "3.0")
    halves, quarters = (xgr.Grammar.from_json_schema(number | {"multipleOf": step}) for step in (2.5, 0.75))
    with pytest.raises(xgr.UnsupportedFeatureError, match="all whole"):
        xgr.Grammar.from_json_schema({"minimum": 1}) & xgr.Grammar.from_json_schema({"maximum": 1})
    listed = [xgr.Grammar.from_json_schema({"enum": numbers}) for numbers in ([1.0, 2], [1, 2])]
    few = listed[0] & listed[1]
    for text in ("1", "1.0", "2", "2.0"):
        assert accepts(few, text) == (accepts(listed[0], text) and accepts(listed[1], text)), text
    anything = [{"anyOf": [{"enum": numbers}, {"type": "array"}]} for numbers in ([1.0, 2], [1, 2])]
    with pytest.raises(xgr.UnsupportedFeatureError, match=r"1\.0 in different ways"):
        xgr.Grammar.from_json_schema(anything[0]) & xgr.Grammar.from_json_schema(anything[1])
    assert accepts(halves & quarters, "7.5")
