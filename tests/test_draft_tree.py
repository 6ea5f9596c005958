"""`traverse_draft_tree`: a mask for each node, the matcher as it was."""

from __future__ import annotations

import numpy as np
import pytest

import tokenstile as xgr


def tree(*columns):
    return tuple(np.array(column, dtype=np.int64) for column in columns)


@pytest.fixture
def matcher(match, tiny):
    return match('root ::= "a" ("a" "b" | "b" "a"){0,3}', tokenizer_info=tiny)


def expected_masks(matcher, paths):
    """Masks after each path of tokens, by hand; zero where a path does not fit or has ended."""
    masks = np.zeros((len(paths), 1), dtype=np.int32)
    for row, path in enumerate(paths):
        copy = matcher.fork()
        if all(copy.accept_token(token) for token in path) and not copy.is_terminated():
            copy.fill_next_token_bitmask(masks, row)
    return masks


def test_a_tree(matcher):
    assert matcher.accept_token(0)
    #       0
    #     / | \
    #    1  2  3        tokens a b </s>
    #   / \     \
    #  4   5     6      tokens b a a
    children = [1, 4, -1, 6, -1, -1, -1]
    siblings = [-1, 2, 3, -1, 5, -1, -1]
    tokens = [0, 0, 1, 3, 1, 0, 0]
    paths = [[], [0], [1], [3], [0, 1], [0, 0], [3, 0]]
    expected = expected_masks(matcher, paths)
    expected[6] = 7  # The child of a node that ended the output is not visited.
    masks = np.full((7, 1), 7, dtype=np.int32)
    before = matcher._debug_print_internal_state()
    assert matcher.traverse_draft_tree(*tree(children, siblings, tokens), masks)
    assert (masks == expected).all()
    assert (masks[[3, 5]] == 0).all()
    assert matcher._debug_print_internal_state() == before


def test_children_of_rejected_nodes_are_not_visited(matcher):
    masks = np.full((3, 1), 7, dtype=np.int32)
    assert matcher.traverse_draft_tree(*tree([1, 2, -1], [-1, -1, -1], [0, 1, 0]), masks)
    assert masks[1, 0] == 0
    assert masks[2, 0] == 7


def test_strided_arrays(matcher):
    base = np.array([[1, -1, 0, 9], [2, -1, 0, 9], [-1, -1, 1, 9]], dtype=np.int64)
    masks = np.zeros((1, 3), dtype=np.int32).T
    assert matcher.traverse_draft_tree(base[:, 0], base[:, 1], base[:, 2], masks)
    assert (masks == expected_masks(matcher, [[], [0], [0, 1]])).all()


def test_a_chain_of_100000_nodes(match):
    matcher = match("root ::= [a]*")
    count = 100_000
    children = np.arange(1, count + 1, dtype=np.int64)
    children[-1] = -1
    masks = np.zeros((count, 5), dtype=np.int32)
    tokens = np.full(count, ord("a"), dtype=np.int64)
    assert matcher.traverse_draft_tree(children, np.full(count, -1, dtype=np.int64), tokens, masks)
    assert masks.any(axis=1).all()
    with pytest.raises(RuntimeError):
        matcher.rollback()


def test_siblings_by_the_100000(match):
    matcher = match("root ::= [a]*")
    count = 100_000
    siblings = np.arange(1, count + 1, dtype=np.int64)
    siblings[0], siblings[-1] = -1, -1
    children = np.full(count, -1, dtype=np.int64)
    children[0] = 1
    masks = np.zeros((count, 5), dtype=np.int32)
    assert matcher.traverse_draft_tree(children, siblings, np.full(count, ord("a"), dtype=np.int64), masks)
    assert masks.any(axis=1).all()


def test_time_threshold(match):
    matcher = match("root ::= [a]*")
    count = 10_000
    children = np.arange(1, count + 1, dtype=np.int64)
    children[-1] = -1
    masks = np.zeros((count, 5), dtype=np.int32)
    arrays = children, np.full(count, -1, dtype=np.int64), np.full(count, ord("a"), dtype=np.int64)
    assert matcher.traverse_draft_tree(*arrays, masks, 0.0) is False
    with pytest.raises(RuntimeError):
        matcher.rollback()
    assert matcher.traverse_draft_tree(*arrays, masks, time_threshold=1000.0) is True


def test_temperatures(match):
    matcher = match('root ::= "a" hot\nhot[temperature=0.5] ::= [b-z]+')
    # What was there before does not stay.
    temperatures = np.full(3, 9, dtype=np.float32)
    arrays = tree([1, -1, -1], [-1, 2, -1], [0, ord("a"), ord("x")])
    assert matcher.traverse_draft_tree(*arrays, np.zeros((3, 5), dtype=np.int32), temperatures=temperatures)
    assert temperatures.tolist() == [-1, 0.5, -1]


@pytest.mark.parametrize(
    "arrays",
    [
        tree([1, 0], [-1, -1], [0, 0]),
        tree([1, -1], [-1, 1], [0, 0]),
        tree([0], [-1], [0]),
        tree([1, -1], [-1, 5], [0, 0]),
        tree([7, -1], [-1, -1], [0, 0]),
        tree([1, 2**62], [-1, -1], [0, 0]),
        # A ring that a walk would not come to, as the token before it does not fit.
        tree([1, 1], [-1, -1], [0, 99]),
        tree([-1], [-1, -1], [0, 0]),
        tree([-1, -1, -1], [-1, -1, -1], [0, 0, 0]),
        tuple(array.astype(np.int32) for array in tree([-1, -1], [-1, -1], [0, 0])),
        tuple(array[None] for array in tree([-1, -1], [-1, -1], [0, 0])),
    ],
)
def test_wrong_trees_are_refused(matcher, arrays):
    before = matcher._debug_print_internal_state()
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own message
        matcher.traverse_draft_tree(*arrays, np.zeros((2, 1), dtype=np.int32))
    assert matcher._debug_print_internal_state() == before


def test_an_empty_tree(matcher):
    assert matcher.traverse_draft_tree(*tree([], [], []), np.zeros((0, 1), dtype=np.int32))


def test_token_ids_out_of_range_are_rejected_nodes(matcher):
    masks = np.full((3, 1), 7, dtype=np.int32)
    assert matcher.traverse_draft_tree(*tree([1, -1, -1], [-1, 2, -1], [0, -5, 2**40]), masks)
    assert masks[1:, 0].tolist() == [0, 0]


def test_a_matcher_of_xgrammar_examples(tiny):
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(tiny).compile_grammar('root ::= "ab" "a"'))
    masks = np.zeros((2, 1), dtype=np.int32)
    assert matcher.traverse_draft_tree(*tree([1, -1], [-1, -1], [0, 2]), masks)
    assert masks[:, 0].tolist() == [0b101, 0b001]


def test_the_root_has_no_siblings(matcher):
    masks = np.zeros((2, 1), dtype=np.int32)
    with pytest.raises(ValueError, match="node 0 is the root"):
        matcher.traverse_draft_tree(*tree([-1, -1], [1, -1], [0, 0]), masks)
