"""Captures with their places, and as they become certain."""

from __future__ import annotations

import pytest

import tokenstile as xgr
from tokenstile.testing import _get_matcher_from_grammar

LIST = """
root ::= (item ",")*
item[capture] ::= number "a"
number[capture="n"] ::= [0-9]+
"""
VOCAB = ["1", "2", "12", "a", "a,", ",", "1a", ";", "2a,1", "</s>", "x", "\x01"]


def watched(grammar, **options):
    """Give a matcher over a small vocabulary, and the list that its captures are put into."""
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(VOCAB))
    found = []
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(grammar), on_capture=found.append, **options)
    return matcher, found


def accept(matcher, *tokens):
    for token in tokens:
        assert matcher.accept_token(VOCAB.index(token)), token


def short(captures):
    return [(capture.name, capture.text) for capture in captures]


def test_spans_of_bytes_and_tokens():
    matcher, _ = watched(LIST)
    accept(matcher, "12", "1a", ",", "2a,1")
    spans = [(c.name, c.bytes, c.byte_span, c.token_span) for c in matcher.get_captures_with_spans()]
    assert spans == [
        ("n", b"121", (0, 3), (0, 2)),
        ("item", b"121a", (0, 4), (0, 2)),
        ("n", b"2", (5, 6), (3, 4)),
        ("item", b"2a", (5, 7), (3, 4)),
        ("n", b"1", (8, 9), (3, 4)),
    ]
    assert matcher.get_captures() == [(name, value) for name, value, _, _ in spans]
    everything = matcher.get_captures_with_spans(deduplicate=False)
    assert [(c.name, c.bytes) for c in everything] == matcher.get_captures(deduplicate=False)


def test_strings_are_one_step():
    matcher = _get_matcher_from_grammar(LIST)
    matcher.accept_string("12a,")
    matcher.accept_string("3")
    assert [c.token_span for c in matcher.get_captures_with_spans()] == [(0, 1), (0, 1), (1, 2)]


def test_a_capture_is_a_value():
    matcher, _ = watched(LIST)
    accept(matcher, "1a")
    first, second = matcher.get_captures_with_spans(), matcher.get_captures_with_spans()
    assert first == second
    assert first is not second
    assert len({*first, *second}) == 2
    assert first[0] != first[1]
    assert repr(first[1]) == "Capture('item', b'1a', byte_span=(0, 2), token_span=(0, 1))"
    with pytest.raises(AttributeError):
        first[0].name = "other"


def test_a_grammar_without_captures_has_none():
    matcher, found = watched('root ::= "a"')
    accept(matcher, "a", "</s>")
    assert matcher.get_captures_with_spans() == []
    assert found == []


def test_captures_are_told_as_soon_as_they_are_certain():
    matcher, found = watched(LIST)
    accept(matcher, "12")
    assert short(found) == []  # it may go on
    accept(matcher, "a")
    assert short(found) == [("n", "12"), ("item", "12a")]
    accept(matcher, ",")
    assert len(found) == 2
    accept(matcher, "2a,1")
    assert short(found)[2:] == [("n", "2"), ("item", "2a")]
    accept(matcher, "a,", "</s>")
    assert short(found)[4:] == [("n", "1"), ("item", "1a")]
    assert found == matcher.get_captures_with_spans()


def test_what_two_readings_disagree_about_waits():
    matcher, found = watched('root ::= x ";" "1" | y ";" "2"\nx[capture] ::= [a-z]+\ny[capture] ::= [a-z]+')
    accept(matcher, "a", "x", ";")
    assert found == []
    accept(matcher, "2")
    assert short(found) == [("y", "ax")]


def test_what_stays_ambiguous_is_told_at_the_end():
    matcher, found = watched('root ::= x? x? ";"\nx[capture] ::= "a" | "aa" | "aaa"')
    accept(matcher, "a", "a", ";")
    assert found == []
    accept(matcher, "</s>")
    assert found == matcher.get_captures_with_spans()
    assert found


def test_a_greedy_text_is_told_at_the_end():
    matcher, found = watched("root ::= x [12]\nx[capture] ::= [a12]+")
    accept(matcher, "a", "12")
    assert found == []
    accept(matcher, "</s>")
    assert short(found) == [("x", "a1")]


def test_completion_is_an_end_where_no_stop_token_is_needed():
    matcher, found = watched('root ::= x\nx[capture] ::= "a" [12]', terminate_without_stop_token=True)
    accept(matcher, "a", "1")
    assert short(found) == [("x", "a1")]


def test_captures_after_a_rollback_are_told_again():
    matcher, found = watched(LIST)
    accept(matcher, "1", "a,")
    assert len(found) == 2
    matcher.rollback(1)
    accept(matcher, "2", "a,")
    assert short(found) == [("n", "1"), ("item", "1a"), ("n", "12"), ("item", "12a")]
    matcher.reset()
    accept(matcher, "1a")
    assert short(found)[4:] == [("n", "1"), ("item", "1a")]


def test_a_fork_tells_the_same_callback():
    matcher, found = watched(LIST)
    accept(matcher, "1")
    fork = matcher.fork()
    accept(fork, "2", "a")
    assert short(found) == [("n", "12"), ("item", "12a")]
    accept(matcher, "a")
    assert short(found)[2:] == [("n", "1"), ("item", "1a")]


def test_validation_and_refusals_tell_nothing():
    matcher, found = watched(LIST)
    accept(matcher, "1")
    assert matcher.validate_tokens([VOCAB.index("a")]) == 1
    assert not matcher.accept_token(VOCAB.index(";"))
    assert found == []


def test_strings_and_batches_tell():
    matcher, found = watched(LIST)
    assert matcher.accept_string("1a,2")
    assert len(found) == 2
    assert xgr.BatchGrammarMatcher.batch_accept_token([matcher], [VOCAB.index("a")]) == [True]
    assert len(found) == 4
    assert xgr.BatchGrammarMatcher.batch_accept_string([matcher], [",1a"]) == [True]
    assert len(found) == 6


def test_the_callback_may_use_the_matcher_and_may_fail():
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(VOCAB))
    seen = []

    def look(capture):
        seen.append((capture.text, matcher.is_completed()))
        if capture.name == "item":
            raise KeyError(capture.text)

    matcher = xgr.GrammarMatcher(compiler.compile_grammar(LIST), on_capture=look)
    with pytest.raises(KeyError, match="1a"):
        matcher.accept_token(VOCAB.index("1a"))
    assert seen == [("1", False), ("1a", False)]
    assert matcher.accept_token(VOCAB.index(","))  # it was accepted before the callback was called
    with pytest.raises(xgr.exceptions.InvalidArgumentError, match="callable"):
        xgr.GrammarMatcher(compiler.compile_grammar(LIST), on_capture=3)


def test_captures_before_a_schema():
    key = xgr.Grammar.from_ebnf('root ::= key\nkey[capture] ::= "k="')
    grammar = xgr.Grammar.concat(
        key, xgr.Grammar.from_json_schema('{"type": "object", "required": ["city"]}')
    )
    found = []
    info = xgr.TokenizerInfo([chr(byte) for byte in range(1, 128)] + ["</s>"])
    matcher = xgr.GrammarMatcher(
        xgr.GrammarCompiler(info).compile_grammar(grammar), on_capture=found.append, max_tokens=40
    )
    assert matcher.accept_string('k={"city": "x')
    assert short(found) == [("key", "k=")]
