"""Thoughts: rows are free while they last, and the grammar starts where they end."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tokenstile as xgr
from tests.structured_output import backends  # noqa: F401 - registers some
from tokenstile.structured_output import ReasoningMarkers, RequestStatus, StructuredOutputsParams
from tokenstile.structured_output.feeding import Spelling
from tokenstile.structured_output.reasoning import ReasoningGate

TEXT = ReasoningMarkers(start="<think>", end="</think>")
TOKEN = ReasoningMarkers(start=4, end=5)


@pytest.mark.parametrize("markers", [TEXT, TOKEN], ids=["text", "token"])
def test_a_thought_and_an_answer(make_manager, begin, show, ids, markers):
    manager = make_manager(reasoning=markers)
    request = begin(manager, "r", prompt_token_ids=ids("a|<think>"))
    assert request.is_thinking
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["*"]
    assert manager.accept_tokens("r", ids("c|c|</s>|b"))
    assert request.status is RequestStatus.READY
    assert manager.accept_tokens("r", ids("</think>"))
    assert request.reasoning_ended
    assert manager.accept_tokens("r", [])
    assert manager.accept_tokens("r", ids("a"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["b c"]
    assert not manager.accept_tokens("r", ids("a"))
    assert manager.accept_tokens("r", ids("c|</s>"))
    assert request.status is RequestStatus.FINISHED


@pytest.mark.parametrize(
    ("prompt", "thinks"),
    [
        ("<think>", True),
        ("<think>|a|</think>", False),
        ("<think>|a|</think>|b|<think>", True),
        ("a|</think>", False),
    ],
)
def test_the_prompt_says_where_a_request_starts(make_manager, begin, ids, prompt, thinks):
    for markers in (TEXT, TOKEN):
        manager = make_manager(reasoning=markers)
        assert begin(manager, "r", prompt_token_ids=ids(prompt)).is_thinking is thinks


def test_without_a_marker_in_the_prompt(make_manager, begin, show, ids):
    """The model may think or not; the constraint holds if it does not."""
    manager = make_manager(reasoning=TEXT)
    begin(manager, "r")
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["a ab <think>"]
    begin(manager, "thinks")
    assert manager.accept_tokens("thinks", ids("<think>"))
    assert show(manager.grammar_bitmask(["thinks", "r"]).bitmask) == ["*", "a ab <think>"]
    assert manager.accept_tokens("r", ids("a"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["b c"]
    only_end = make_manager(reasoning=ReasoningMarkers(end="</think>"))
    assert begin(only_end, "r").is_thinking
    forced = make_manager(reasoning=ReasoningMarkers(end="</think>", starts_thinking=False))
    assert not begin(forced, "r").is_thinking


def test_several_thoughts(make_manager, begin, show, ids):
    manager = make_manager(reasoning=TEXT)
    begin(manager, "r", prompt_token_ids=ids("<think>"))
    assert manager.accept_tokens("r", ids("c|</think>|<think>|b|b|</think>"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["a ab <think>"]
    assert manager.accept_tokens("r", ids("<think>|</think>|a"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["b c"]
    assert not manager.accept_tokens("r", ids("<think>"))


def test_one_thought_only(make_manager, begin, show, ids):
    manager = make_manager(reasoning=ReasoningMarkers(start=4, end=5, blocks="one"))
    begin(manager, "r")
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["a ab <think>"]
    assert manager.accept_tokens("r", ids("<think>|</think>"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["a ab"]
    assert not manager.accept_tokens("r", ids("<think>"))


def test_thoughts_anywhere(make_manager, begin, show, ids):
    manager = make_manager(reasoning=ReasoningMarkers(start=4, end=5, blocks="anywhere"))
    request = begin(manager, "r")
    assert manager.accept_tokens("r", ids("a|<think>|c|c|</think>|b"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["b c <think>"]
    assert manager.accept_tokens("r", ids("<think>|</think>|c|</s>"))
    assert request.status is RequestStatus.FINISHED


def test_going_back_over_thoughts(make_manager, begin, show, ids):
    manager = make_manager(reasoning=ReasoningMarkers(start=4, end=5, blocks="anywhere"))
    request = begin(manager, "r")
    tokens = ids("<think>|c|</think>|a|<think>|b|</think>|b|c|</s>")
    shown = []
    for token in tokens:
        shown.append(show(manager.grammar_bitmask(["r"]).bitmask))
        assert manager.accept_tokens("r", [token])
    assert request.status is RequestStatus.FINISHED
    for expected in reversed(shown):
        manager.rollback("r", 1)
        assert show(manager.grammar_bitmask(["r"]).bitmask) == expected
    with pytest.raises(xgr.TokenstileError, match="only 0 were accepted"):
        manager.rollback("r", 1)
    assert manager.accept_tokens("r", tokens)
    manager.rollback("r", len(tokens))
    manager.rollback("r", 0)
    assert show(manager.grammar_bitmask(["r"]).bitmask) == shown[0]


def test_refused_tokens_after_a_thought_change_nothing(make_manager, begin, ids):
    manager = make_manager(reasoning=TEXT)
    request = begin(manager, "r", prompt_token_ids=ids("<think>"))
    assert not manager.accept_tokens("r", ids("c|</think>|c"))
    assert request.is_thinking
    assert manager.accept_tokens("r", ids("c|</think>|a"))


LETTERS = [*"<>/thinkabc \n", "</th", "nk>", ">a", ">\n", "k>\n\nab", "think", "ink>ab", "</s>"]


def letters(text):
    return [LETTERS.index(token) for token in text.split("|")]


@pytest.mark.parametrize(
    ("tokens", "rest"),
    [
        ("<|/|t|h|i|n|k|>", ""),
        ("</th|i|nk>", ""),
        ("a|</th|</th|i|nk>", ""),
        ("<|</th|ink>ab", "ab"),
        ("</th|i|n|k|>a", "a"),
        ("</th|i|n|k|>\n", ""),
        ("</th|i|n|k>\n\nab", "ab"),
    ],
)
def test_markers_that_are_spelled(make_manager, tokens, rest):
    manager = make_manager(LETTERS, reasoning=TEXT)
    request = manager.grammar_init(
        "r", StructuredOutputsParams(regex="ab*c"), prompt_token_ids=letters("<|think|>")
    )
    request.result(30)
    assert request.is_thinking
    tokens = letters(tokens)
    for token in tokens[:-1]:
        assert manager.accept_tokens("r", [token])
        assert request.is_thinking
    assert manager.accept_tokens("r", tokens[-1:])
    assert not request.is_thinking
    left = "abc"[len(rest) :]
    assert manager.validate_tokens("r", [LETTERS.index(letter) for letter in left]) == [
        LETTERS.index(letter) for letter in left
    ]
    manager.rollback("r", 1)
    assert request.is_thinking
    assert manager.accept_tokens("r", tokens[-1:])


def test_what_follows_a_marker_must_fit(make_manager):
    manager = make_manager(LETTERS, reasoning=TEXT)
    request = manager.grammar_init(
        "r", StructuredOutputsParams(regex="c"), prompt_token_ids=letters("<|think|>")
    )
    request.result(30)
    assert not manager.accept_tokens("r", letters("</th|ink>ab"))
    assert manager.accept_tokens("r", letters("</th|i|nk>|c"))


def test_openers_of_the_answer_end_a_thought(make_manager, begin, ids):
    manager = make_manager(reasoning=ReasoningMarkers(start=4, end=5, content_starts=(3,)))
    request = begin(manager, "r", prompt_token_ids=ids("<think>"))
    assert manager.accept_tokens("r", ids("c|ab"))
    assert not request.is_thinking
    assert manager.validate_tokens("r", ids("b|c|</s>")) == ids("b|c|</s>")


def test_drafts_across_the_end_of_a_thought(make_manager, begin, show, ids):
    manager = make_manager(num_speculative_tokens=6, reasoning=TEXT)
    begin(manager, "r", prompt_token_ids=ids("<think>"))
    begin(manager, "settled", prompt_token_ids=ids("</think>"))
    manager.accept_tokens("settled", ids("a"))
    drafts = {"r": ids("c|</think>|a|b|a|c"), "settled": ids("b|c")}
    result = manager.grammar_bitmask(["r", "settled"], drafts)
    assert show(result.bitmask) == [
        "*",
        "*",
        "a ab <think>",
        "b c",
        "b c",
        "b c",
        "b c",
        "b c",
        "b c",
        "</s>",
    ]
    assert result.num_acceptable_drafts == [4, 2]
    assert manager.get("r").is_thinking
    result = manager.grammar_bitmask(["r"], {"r": [*ids("c|</think>"), -1, -1]})
    assert show(result.bitmask) == ["*", "*", "a ab <think>", "*", "*"]
    assert result.num_acceptable_drafts == [2]


def test_drafts_that_think_again(make_manager, begin, show, ids):
    manager = make_manager(
        num_speculative_tokens=8, reasoning=ReasoningMarkers(start=4, end=5, blocks="anywhere")
    )
    begin(manager, "r")
    result = manager.grammar_bitmask(["r"], {"r": ids("a|<think>|c|</think>|c|</s>")})
    assert show(result.bitmask) == [
        "a ab <think>",
        "b c <think>",
        "*",
        "*",
        "b c <think>",
        "<think> </s>",
        "*",
    ]
    assert result.num_acceptable_drafts == [6]


def test_drafts_agree_with_accepting(make_manager, begin, ids):
    """Row by row, drafts show what accepting them one by one would."""
    chooser = random.Random(7)  # noqa: S311 - a test
    markers = ReasoningMarkers(start=4, end="</think>", blocks="anywhere")
    manager = make_manager(num_speculative_tokens=8, reasoning=markers)
    for number in range(200):
        name = str(number)
        request = begin(manager, name, "(ab|c)*", prompt_token_ids=ids("<think>" if number % 2 else ""))
        manager.accept_tokens(name, [chooser.randrange(8) for _ in range(chooser.randrange(3))])
        if request.status is not RequestStatus.READY:
            continue
        drafts = [chooser.randrange(7) for _ in range(8)]
        result = manager.grammar_bitmask([name], {name: drafts}, out=np.zeros((9, 1), dtype=np.int32))
        assert manager.validate_tokens(name, drafts) == drafts[: result.num_acceptable_drafts[0]]
        for row, token in zip(result.bitmask, drafts, strict=False):
            assert manager.grammar_bitmask([name]).bitmask[0, 0] == row[0]
            if not manager.accept_tokens(name, [token]):
                break


def test_reasoning_can_be_turned_off(make_manager, begin, show, ids):
    manager = make_manager(reasoning=TEXT)
    begin(manager, "off", reasoning=False, prompt_token_ids=ids("<think>"))
    begin(manager, "own", reasoning=ReasoningMarkers(end=2))
    assert show(manager.grammar_bitmask(["off", "own"]).bitmask) == ["a ab", "*"]


def test_wrong_markers(tiny):
    for markers, words in [
        (ReasoningMarkers(end=""), "must not be empty"),
        (ReasoningMarkers(end=99), "outside of the vocabulary"),
        (ReasoningMarkers(end=1, start=-1), "outside of the vocabulary"),
        (ReasoningMarkers(end=1, blocks="two"), "blocks must be"),
    ]:
        with pytest.raises(xgr.InvalidArgumentError, match=words):
            ReasoningGate(markers, tiny)


# Tokens that end a marker and go on, with right and with wrong beginnings of an answer.
RESTS = [
    *"<>/thinkabc \n",
    "</th",
    "nk>",
    ">a",
    ">c",
    ">\n",
    "k>\n\nab",
    "k>\n\nb",
    "x</think>ab",
    "x</think>c",
    "</s>",
]


def allowed(manager, request_id, drafts=None):
    """Return for each row of a request the tokens that it allows."""
    rows = manager.grammar_bitmask([request_id], drafts).bitmask
    return [{token for at, token in enumerate(RESTS) if int(row[at // 32]) >> (at % 32) & 1} for row in rows]


def begin_thinking(make_manager, backend, **options):
    manager = make_manager(RESTS, reasoning=TEXT, backend=backend, num_speculative_tokens=4, **options)
    thinking = [RESTS.index(token) for token in ("<", "t", "h", "i", "n", "k", ">")]
    manager.grammar_init("r", StructuredOutputsParams(regex="ab*c"), prompt_token_ids=thinking).result(30)
    assert manager.get("r").is_thinking
    return manager


@pytest.mark.parametrize("backend", ["tokenstile", "opaque"])
def test_a_marker_with_a_wrong_rest_is_not_allowed(make_manager, backend):
    manager = begin_thinking(make_manager, backend)
    wrong_at = {
        "": {"x</think>c"},
        "</thin": {"x</think>c", "k>\n\nb"},
        "</think": {"x</think>c", ">c"},
    }
    for written, wrong in wrong_at.items():
        tokens = [RESTS.index(character) for character in written]
        assert manager.accept_tokens("r", tokens)
        assert allowed(manager, "r")[0] == set(RESTS) - wrong, written
        manager.rollback("r", len(tokens))


@pytest.mark.parametrize("backend", ["tokenstile", "opaque"])
def test_rows_of_thoughts_are_exact(make_manager, backend):
    """A bit is set if and only if the token would be accepted, at every place, with drafts and without."""
    manager = begin_thinking(make_manager, backend)
    chooser = random.Random(3)  # noqa: S311 - a test
    for _ in range(60):
        written = []
        for _ in range(chooser.randrange(1, 14)):
            fits = {token for token in RESTS if manager.validate_tokens("r", [RESTS.index(token)]) != []}
            drafts = [RESTS.index(chooser.choice(sorted(fits)))]
            assert allowed(manager, "r")[0] == fits, written
            assert allowed(manager, "r", {"r": drafts})[0] == fits, written
            spelled = RESTS.index("</think>"[len(written) % 8])
            token = spelled if RESTS[spelled] in fits and chooser.random() < 0.8 else drafts[0]
            assert manager.accept_tokens("r", [token])
            written.append(RESTS[token])
            if manager.get("r").status is not RequestStatus.READY:
                break
        manager.rollback("r", len(written))


@pytest.mark.parametrize("backend", ["tokenstile", "opaque"])
def test_a_marker_with_a_right_rest_is_taken(make_manager, backend):
    manager = begin_thinking(make_manager, backend)
    for token, left in [("x</think>ab", "c"), ("k>\n\nab", "bc"), (">a", "c")]:
        before = {"k": "</thin", ">": "</think"}.get(token[0], "")
        tokens = [RESTS.index(part) for part in [*before, token, *left, "</s>"]]
        assert manager.accept_tokens("r", tokens)
        assert manager.get("r").status is RequestStatus.FINISHED
        manager.rollback("r", len(tokens))
        assert manager.get("r").is_thinking


def test_openers_of_the_answer_must_fit_it(make_manager, begin, show, ids):
    manager = make_manager(reasoning=ReasoningMarkers(start=4, end=5, content_starts=(2, 3)))
    begin(manager, "r", prompt_token_ids=ids("<think>"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["a b ab <think> </think>   </s>"]
    assert not manager.accept_tokens("r", ids("c"))
    assert manager.accept_tokens("r", ids("ab"))
    with pytest.raises(xgr.InvalidArgumentError, match="content start 99 is outside"):
        make_manager(reasoning=ReasoningMarkers(end=5, content_starts=(99,))).grammar_init(
            "r", StructuredOutputsParams(regex="a")
        )


def test_spelling_with_the_fewest_tokens():
    spelling = Spelling(xgr.TokenizerInfo(["a", "ab", "b", "bcd", "</s>"], stop_token_ids=[4]))
    assert spelling.spell(b"abcd") == [0, 3]
    assert spelling.spell(b"ab") == [1]
    assert spelling.spell(b"") == []
    assert spelling.spell(b"abc") is None
    assert spelling.spell(b"</s>") is None
