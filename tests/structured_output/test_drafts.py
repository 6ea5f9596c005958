"""Rows along draft tokens: the native way, the way through the contract, and a third by hand, which must agree."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile._core import batch_accept_tokens, batch_fill_drafts
from tokenstile.structured_output import DraftTree
from tokenstile.structured_output.backend import TokenstileGrammar
from tokenstile.structured_output.speculation import Outcome, acceptable_prefix, fill_rows_by_contract

REJECTED, ACCEPTED, ENDED, UNREAD = Outcome


def rows_by_hand(matcher, tokens, parents):
    """What each row must hold, by a fork for each path from the start."""
    words = -(-matcher.compiled_grammar.tokenizer_info.vocab_size // 32)
    rows = np.full((len(tokens) + 1, words), -1, dtype=np.int32)
    outcomes = []
    for row in range(len(tokens) + 1):
        path, node = [], row - 1
        while node >= 0:
            path.insert(0, tokens[node])
            node = parents[node]
        fork, outcome = matcher.fork(), ENDED if matcher.is_terminated() else ACCEPTED
        for token in path:
            if outcome is REJECTED:
                break
            if outcome in {ENDED, UNREAD} or token == -1:
                outcome = UNREAD
            elif not fork.accept_token(token):
                outcome = REJECTED
            else:
                outcome = ENDED if fork.is_terminated() else ACCEPTED
        if outcome in {ACCEPTED, REJECTED}:
            fork.fill_next_token_bitmask(rows, row)
        if row:
            outcomes.append(outcome)
    return rows, outcomes


def random_drafts(matcher, size, chooser, *, is_tree):
    """Drafts that mostly fit, with padding and wrong ids among them."""
    tokens, parents, places = [], [], [matcher.fork()]
    for at in range(chooser.randrange(12)):
        parent = chooser.randrange(-1, at) if is_tree and at else at - 1
        place = places[parent + 1].fork()
        mask = np.full((1, -(-size // 32)), 0, dtype=np.int32)
        if not place.is_terminated():
            place.fill_next_token_bitmask(mask)
        fitting = np.flatnonzero(xgr.testing.bitmask_to_bool_mask(mask, size)[0]).tolist()
        strange = [-1, -7, size, 2**62, chooser.randrange(size)]
        token = chooser.choice(fitting) if fitting and chooser.random() < 0.85 else chooser.choice(strange)
        place.accept_token(token)
        tokens.append(token)
        parents.append(parent)
        places.append(place)
    return tokens, parents


GRAMMARS = [
    'root ::= "a" ("a" "b" | "b" "a")*',
    'root ::= "(" root ")" | "x"{0,3}',
    'root ::= "{" ("\\"" [a-z]* "\\"" ":" [0-9]+ ","?)* "}"',
    'root ::= "true" | "false" | "null"',
]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("is_tree", [False, True])
def test_three_ways_agree(info, is_tree, threads):
    chooser = random.Random(f"{is_tree}")  # noqa: S311 - a test
    compiler = xgr.GrammarCompiler(info)
    compiled = [compiler.compile_grammar(grammar) for grammar in GRAMMARS]
    batch = xgr.BatchGrammarMatcher(threads)
    seen = set()
    for _ in range(20):
        matchers = [xgr.GrammarMatcher(chooser.choice(compiled)) for _ in range(40)]
        for matcher in matchers:
            for token in random_drafts(matcher, info.vocab_size, chooser, is_tree=False)[0][:5]:
                matcher.accept_token(token)
        drafts = [random_drafts(matcher, info.vocab_size, chooser, is_tree=is_tree) for matcher in matchers]
        starts = np.cumsum([0] + [len(tokens) + 1 for tokens, _ in drafts]).tolist()
        bitmask = np.full(xgr.get_bitmask_shape(starts[-1], info.vocab_size), 77, dtype=np.int32)
        before = [repr(matcher) for matcher in matchers]
        parents = [parents for _, parents in drafts] if is_tree else None
        found = batch_fill_drafts(
            batch, matchers, starts[:-1], [tokens for tokens, _ in drafts], parents, bitmask
        )
        assert [repr(matcher) for matcher in matchers] == before
        for matcher, (tokens, links), start, outcomes in zip(matchers, drafts, starts, found, strict=False):
            rows = bitmask[start : start + len(tokens) + 1]
            expected, expected_outcomes = rows_by_hand(matcher, tokens, links)
            assert (rows == expected).all()
            assert list(outcomes) == expected_outcomes
            again = np.full_like(rows, 5)
            by_contract = fill_rows_by_contract(TokenstileGrammar(matcher), DraftTree(tokens, links), again)
            assert (again == expected).all()
            assert by_contract == expected_outcomes
            seen.update(outcomes)
        assert [repr(matcher) for matcher in matchers] == before
    assert seen == set(Outcome)


def test_rows_anywhere(match):
    matcher = match("root ::= [a-c]*")
    plain = np.zeros((3, 5), dtype=np.int32)
    batch_fill_drafts(xgr.BatchGrammarMatcher(), [matcher], [0], [[97, 98]], None, plain)
    strided = np.zeros((5, 6), dtype=np.int32).T
    batch_fill_drafts(xgr.BatchGrammarMatcher(), [matcher], [2], [[97, 98]], None, strided)
    assert (strided[2:5] == plain).all()
    assert not strided[[0, 1, 5]].any()


def test_wrong_calls_are_refused(match):
    batch, matcher = xgr.BatchGrammarMatcher(), match("root ::= [a-c]*")
    mask = np.zeros((4, 5), dtype=np.int32)
    for starts, drafts, parents, words in [
        ([0, 1], [[97], [97]], None, "two matchers have the row 1"),
        ([0, 3], [[97], [97]], None, "outside the bitmask"),
        ([0], [[97], [97]], None, "starts has 1 entries for 2"),
        ([0, 2], [[97]], None, "drafts has 1 entries for 2"),
        ([0, 2], [[97], [97]], [None], "parents has 1 entries for 2"),
        ([0, 2], [[97], [97]], [None, [0]], "the parent of draft 0 is 0"),
        ([0, 2], [[97], [97]], [None, [-2]], "the parent of draft 0 is -2"),
        ([0, 2], [[97], [97]], [None, []], "1 tokens and 0 parents"),
        ([0, 2**63], [[97], [97]], None, "outside the bitmask"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            batch_fill_drafts(batch, [matcher, matcher], starts, drafts, parents, mask)
    with pytest.raises((OverflowError, TypeError, ValueError)):
        batch_fill_drafts(batch, [matcher], [-1], [[97]], None, mask)
    with pytest.raises(TypeError):
        batch_fill_drafts(batch, [matcher], [0], [["a"]], None, mask)
    with pytest.raises(TypeError):
        batch_fill_drafts(batch, ["no matcher"], [0], [[1]], None, mask)
    assert not mask.any()
    assert batch_fill_drafts(batch, [], [], [], None, mask) == []


def test_accepting_is_all_or_nothing(match, stop):
    batch = xgr.BatchGrammarMatcher()
    matchers = [match('root ::= "ab" "c"*') for _ in range(5)]
    a, b, c = b"abc"
    tokens = [[a, b, c], [a, b, a], [], [a, b, stop, a, 2**70], [2**70]]
    assert batch_accept_tokens(batch, matchers, tokens) == [True, False, True, True, False]
    assert [matcher.is_terminated() for matcher in matchers] == [False, False, False, True, False]
    assert [matcher.validate_tokens([a]) for matcher in matchers] == [0, 1, 1, 0, 1]
    assert batch_accept_tokens(batch, matchers[3:4], [[a]]) == [True]
    assert batch_accept_tokens(batch, [], []) == []
    with pytest.raises(RuntimeError, match="tokens has 1 entries for 2"):
        batch_accept_tokens(batch, matchers[:2], [[a]])


def test_drafts_of_a_batch(make_manager, begin, show, ids):
    manager = make_manager(max_num_seqs=8, num_speculative_tokens=3)
    begin(manager, "fits")
    begin(manager, "wrong")
    begin(manager, "padded")
    begin(manager, "ends", "a")
    begin(manager, "plain")
    manager.grammar_init("free", None)
    drafts = {
        "fits": ids("a|b|c"),
        "wrong": ids("a|a|b"),
        "padded": [0, -1, -1],
        "ends": ids("a|</s>|b"),
        "free": [0, 1],
    }
    result = manager.grammar_bitmask(["plain", "fits", "free", "wrong", "padded", "ends"], drafts)
    assert result.counts == [1, 4, 3, 4, 4, 4]
    rows = {
        name: show(result.bitmask[start : start + count])
        for name, start, count in zip(result.request_ids, result.starts, result.counts, strict=True)
    }
    assert rows == {
        "plain": ["a ab"],
        "fits": ["a ab", "b c", "b c", "</s>"],
        "free": ["*", "*", "*"],
        "wrong": ["a ab", "b c", "b c", "b c"],
        "padded": ["a ab", "b c", "*", "*"],
        "ends": ["a", "</s>", "*", "*"],
    }
    assert dict(zip(result.request_ids, result.num_acceptable_drafts, strict=True)) == {
        "plain": 0,
        "fits": 3,
        "free": 2,
        "wrong": 1,
        "padded": 1,
        "ends": 2,
    }
    assert manager.validate_tokens("fits", ids("a")) == ids("a")


def test_batch_order(make_manager, begin, show, ids):
    manager = make_manager(num_speculative_tokens=2)
    begin(manager, "first")
    begin(manager, "second", "b|c")
    result = manager.grammar_bitmask(["first", "second"], {"first": ids("a|b")})
    ordered = result.in_batch_order([("second", 1), ("stranger", 2), ("first", 3)])
    assert show(ordered) == ["b c", "*", "*", "a ab", "b c", "b c"]
    assert show(result.in_batch_order([("first", 1)])) == ["a ab"]
    assert result.in_batch_order([]).shape == (0, 1)
    with pytest.raises(xgr.InvalidArgumentError, match="has 1 rows, and the batch wants 2"):
        result.in_batch_order([("second", 2)])
    ordered[:] = 0
    assert show(result.bitmask[:1]) == ["a ab"], "the rows of the batch are copies"


def test_trees_by_links():
    #      0
    #    1   2
    #   3     4
    tree = DraftTree.from_links([1, 3, 4, -1, -1], [-1, 2, -1, -1, -1], [9, 5, 6, 7, 8])
    assert tree == DraftTree([5, 6, 7, 8], [-1, -1, 0, 1])
    assert DraftTree.from_links([-1], [-1], [9]) == DraftTree([], [])
    for links in [
        ([1, 0], [-1, -1], [0, 0]),
        ([1, -1], [-1, 1], [0, 0]),
        ([-1, -1], [-1, -1], [0, 0]),
        ([5, -1], [-1, -1], [0, 0]),
        ([1], [-1, -1], [0, 0]),
    ]:
        with pytest.raises(xgr.InvalidArgumentError):
            DraftTree.from_links(*links)
    with pytest.raises(xgr.InvalidArgumentError, match="the parent of draft 1 is 1"):
        DraftTree([1, 2], [-1, 1])
    with pytest.raises(xgr.InvalidArgumentError, match="2 tokens and 1 parents"):
        DraftTree([1, 2], [-1])


def test_a_tree_in_a_batch(make_manager, begin, show, ids):
    manager = make_manager(num_speculative_tokens=4)
    begin(manager, "r")
    begin(manager, "chain")
    tree = DraftTree(ids("a|ab|c|a"), [-1, -1, 0, 0])
    result = manager.grammar_bitmask(["r", "chain"], {"r": tree, "chain": ids("a")})
    assert show(result.bitmask) == ["a ab", "b c", "b c", "</s>", "b c", "a ab", "b c"]
    assert result.num_acceptable_drafts == [3, 1]
    assert list(result.draft_outcomes[0]) == [1, 1, 1, 0]


def test_acceptable_prefix():
    assert acceptable_prefix([]) == 0
    assert acceptable_prefix([1, 1, 2, 3]) == 3
    assert acceptable_prefix(b"\x01\x00\x01") == 1


def test_ten_thousand_drafts(match):
    matcher = match("root ::= [a]*")
    count = 10_000
    mask = np.zeros((count + 1, 5), dtype=np.int32)
    [outcomes] = batch_fill_drafts(xgr.BatchGrammarMatcher(), [matcher], [0], [[97] * count], None, mask)
    assert outcomes == b"\x01" * count
    assert (mask == mask[0]).all()
