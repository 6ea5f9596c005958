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
    with pytest.raises(xgr.UnsupportedFeatureError, match="any order"):
        xgr.Grammar.from_json_schema({"type": "object"}, strict_mode=False) & xgr.Grammar.from_regex("[^x]*")
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
