"""Following sequences: what is remembered is a shortcut, and changes no answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenstile as xgr
from tokenstile.integrations.following import Follower, Generation, Rows
from tokenstile.integrations.masking import MaskBuffer

TOKENS = ["a", "b", "ab", "ba", "(", ")", "()", "</s>"]
STOP = 7
COMPILED = xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS)).compile_grammar(
    'root ::= item*\nitem ::= "a" "b"? | "(" root ")"'
)
OTHER = xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS)).compile_grammar('root ::= "b"+')
TOKEN_IDS = st.integers(-1, len(TOKENS))


def mask(follower):
    bitmask = np.zeros((1, 1), dtype=np.int32)
    follower.fill(bitmask, 0)
    return int(bitmask[0, 0])


def afresh(tokens, grammar=COMPILED):
    """Say what may follow tokens by reading them from the first on."""
    matcher = xgr.GrammarMatcher(grammar)
    if all(matcher.accept_token(token) for token in tokens) and not matcher.is_terminated():
        bitmask = np.zeros((1, 1), dtype=np.int32)
        matcher.fill_next_token_bitmask(bitmask)
        return int(bitmask[0, 0])
    return 1 << STOP


@settings(deadline=None)
@given(st.lists(st.lists(TOKEN_IDS, max_size=8), max_size=8))
def test_a_follower_goes_anywhere(sequences):
    follower = Follower(xgr.GrammarMatcher(COMPILED))
    for tokens in sequences:
        twin = follower.fork()
        follower.move_to(tokens)
        assert mask(follower) == afresh(tokens)
        # A fork is on its own.
        assert mask(twin) == afresh(twin.tokens)


@settings(deadline=None)
@given(st.data())
def test_rows_are_exchanged_cut_and_continued(data):
    rows = Rows([COMPILED, OTHER], 6)
    sequences = [[] for _ in range(6)]
    for _ in range(data.draw(st.integers(1, 8))):
        grown = []
        for row in range(6):
            source = sequences[data.draw(st.sampled_from(range(row - row % 3, row - row % 3 + 3)))]
            kept = source[: data.draw(st.integers(0, len(source)))]
            grown.append(kept + data.draw(st.lists(TOKEN_IDS, max_size=1)))
        sequences = grown
        followers = rows.move_to(sequences)
        for row, follower in enumerate(followers):
            assert mask(follower) == afresh(sequences[row], [COMPILED, OTHER][row // 3])


def test_rows_that_nobody_wrote():
    rows = Rows([COMPILED], 2)
    rows.move_to([[0], [0]])
    with pytest.raises(xgr.MatcherError, match="row 1"):
        rows.move_to([[0, 1], [0, 1, 0]])
    with pytest.raises(xgr.InvalidArgumentError, match="2 rows under way"):
        rows.move_to([[0]])
    # Nothing has moved.
    assert [follower.tokens for follower in rows.followers] == [[0], [0]]


def test_prompts_are_copied():
    """llama.cpp writes all sequences into one buffer."""
    generation = Generation([COMPILED])
    buffer = np.array([[5, 5, 0, 0]])
    generation.follow(buffer[:, :2])
    buffer[0, 2] = 4
    assert [follower.tokens for follower in generation.follow(buffer[:, :3])] == [[4]]
    buffer[0, 0] = 6
    assert [follower.tokens for follower in generation.follow(buffer[:, :3])] == [[]]


def test_the_highest_bit_of_a_word():
    tokens = [f"t{number}" for number in range(31)] + ["</s>"]
    compiled = xgr.GrammarCompiler(xgr.TokenizerInfo(tokens)).compile_regex("t0")
    follower = Follower(xgr.GrammarMatcher(compiled))
    follower.move_to([5])
    assert follower.strayed
    assert mask(follower) == -(1 << 31)


def test_columns_that_are_no_tokens():
    scores = np.zeros((2, 40), dtype=np.float32)
    follower = Follower(xgr.GrammarMatcher(COMPILED))
    MaskBuffer(len(TOKENS)).forbid(scores, [follower, None])
    assert np.flatnonzero(scores[0] == 0).tolist() == [0, 2, 4, 6, STOP]
    assert np.flatnonzero(scores[1] == 0).tolist() == list(range(len(TOKENS)))


@settings(deadline=None)
@given(st.integers(2, 9), st.integers(0, 1000))
def test_outputs_are_complete_in_time(max_tokens, seed):
    """Rows of several outputs, whatever is chosen, end within so many tokens; nothing of it shows without a budget."""
    chance = np.random.default_rng(seed)
    generation = Generation([COMPILED, OTHER], max_tokens)
    prompts = np.zeros((2, 3), dtype=np.int64)
    sequences = prompts
    for _ in range(max_tokens):
        chosen = []
        for follower in generation.follow(sequences):
            allowed = [token for token in range(len(TOKENS)) if mask(follower) >> token & 1]
            chosen.append([chance.choice(allowed)])
        sequences = np.concatenate([sequences, np.array(chosen)], axis=1)
    followers = generation.follow(sequences)
    assert all(follower.matcher.is_terminated() for follower in followers)
    assert all(follower.matcher.tokens_left is None for follower in Generation([COMPILED]).follow(prompts))


def test_a_budget_that_is_too_small_is_known_at_once():
    with pytest.raises(xgr.TokenBudgetError) as caught:
        Generation([COMPILED, OTHER], 1)
    assert caught.value.tokens_needed == 2
