"""`max_tokens` of a request: its output is complete within it, with its thoughts, whatever is chosen."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tokenstile as xgr
from tests.structured_output import backends  # noqa: F401 - registers some
from tests.structured_output.conftest import STOP, TOKENS
from tokenstile.structured_output import ReasoningMarkers, RequestStatus

TEXT = ReasoningMarkers(start="<think>", end="</think>")
TOKEN = ReasoningMarkers(start=4, end=5)
LONG_END = ReasoningMarkers(start="<think>", end="abc")
CONTENT = ReasoningMarkers(start="<think>", end="</think>", content_starts=(0,))
ANYWHERE = ReasoningMarkers(start=4, end=5, blocks="anywhere")


def allowed(manager, request_id):
    row = manager.grammar_bitmask([request_id]).bitmask[0]
    return [token for token in range(len(TOKENS)) if int(row[0]) >> token & 1]


@pytest.mark.parametrize("max_tokens", [3, 4, 6, 9])
def test_an_answer_is_complete_in_time(make_manager, begin, max_tokens):
    manager = make_manager()
    for seed in range(10):
        chance = random.Random(seed)  # noqa: S311 - a test
        request = begin(manager, f"r{seed}", "ab*c(ab*c)*", max_tokens=max_tokens)
        assert request.keeps_budget
        count = 0
        while request.status is RequestStatus.READY:
            assert manager.accept_tokens(f"r{seed}", [chance.choice(allowed(manager, f"r{seed}"))])
            count += 1
        assert request.status is RequestStatus.FINISHED
        assert count <= max_tokens


@pytest.mark.parametrize("prompt", ["<think>", ""])
@pytest.mark.parametrize(
    "markers",
    [TEXT, TOKEN, LONG_END, CONTENT, ANYWHERE],
    ids=["text", "token", "long", "content", "anywhere"],
)
def test_thoughts_are_ended_in_time(make_manager, begin, ids, markers, prompt):
    """A bit of a row is set if and only if the token is taken, and the output ends whatever is chosen."""
    manager = make_manager(reasoning=markers)
    for seed in range(60):
        chance, name = random.Random(seed), f"r{seed}"  # noqa: S311 - a test
        budget = 7 + seed % 8
        request = begin(manager, name, prompt_token_ids=ids(prompt), max_tokens=budget)
        assert request.keeps_budget
        count = 0
        while request.status is RequestStatus.READY:
            fits = allowed(manager, name)
            assert fits, f"a dead end after {count} of {budget}"
            for token in range(len(TOKENS)):
                if request.is_thinking and token == STOP:
                    continue
                assert (request.validate([token]) == [token]) == (token in fits), (seed, count, token)
            # A model that likes to think, and never ends a thought by itself.
            liked = [token for token in fits if token not in ids("</think>|</s>")] or fits
            tokens = [chance.choice(liked)]
            before = [allowed(manager, name), request.position]
            assert manager.accept_tokens(name, tokens)
            if chance.random() < 0.3:
                manager.rollback(name, 1)
                assert [allowed(manager, name), request.position] == before
                assert manager.accept_tokens(name, tokens)
            count += 1
        assert request.status is RequestStatus.FINISHED
        assert count <= budget


def test_drafts_in_a_thought_keep_the_budget(make_manager, begin, ids):
    """The rows along drafts are those that come without drafts."""
    manager = make_manager(reasoning=TEXT, num_speculative_tokens=6)
    drafts = ids("c|b|c|</think>|a|c")
    for budget in range(5, 12):
        name = f"r{budget}"
        request = begin(manager, name, prompt_token_ids=ids("<think>"), max_tokens=budget)
        found = manager.grammar_bitmask([name], {name: drafts})
        rows = np.array(found.bitmask)
        reached = 0
        for at, draft in enumerate(drafts):
            assert (rows[at] == manager.grammar_bitmask([name]).bitmask[0]).all()
            if request.validate([draft]) != [draft]:
                break
            assert manager.accept_tokens(name, [draft])
            reached += 1
        assert found.num_acceptable_drafts[0] == reached


def test_a_budget_that_is_too_small_is_an_error_of_the_request(make_manager, begin, ids):
    manager = make_manager(reasoning=TEXT)
    with pytest.raises(xgr.TokenBudgetError, match=r"a budget of 2 tokens is too small.*takes 3") as caught:
        begin(manager, "r", max_tokens=2)
    assert (caught.value.max_tokens, caught.value.tokens_needed) == (2, 3)
    assert manager.get("r").status is RequestStatus.FAILED
    with pytest.raises(xgr.TokenBudgetError, match="to end the thought") as caught:
        begin(manager, "thinks", prompt_token_ids=ids("<think>"), max_tokens=3)
    assert caught.value.tokens_needed == 4
    begin(manager, "fits", prompt_token_ids=ids("<think>"), max_tokens=4)
    assert allowed(manager, "fits") == ids("</think>")


def test_without_a_budget_nothing_changes(make_manager, begin, show, ids):
    manager = make_manager(reasoning=TEXT)
    request = begin(manager, "r", prompt_token_ids=ids("<think>"))
    assert not request.keeps_budget
    for _ in range(50):
        assert manager.accept_tokens("r", ids("c"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["*"]


def test_a_marker_that_no_tokens_spell_cannot_end_a_thought(make_manager, begin, ids):
    manager = make_manager(reasoning=ReasoningMarkers(start="<think>", end="[end]"))
    request = begin(manager, "r", prompt_token_ids=ids("<think>"), max_tokens=9)
    assert not request.keeps_budget


def test_requests_with_one_grammar_have_their_own_budgets(make_manager, begin):
    manager = make_manager()
    begin(manager, "short", "a*", max_tokens=1)
    begin(manager, "long", "a*", max_tokens=100)
    begin(manager, "free", "a*")
    assert allowed(manager, "short") == [STOP]
    assert allowed(manager, "long") == allowed(manager, "free") == [0, STOP]


def test_a_grammar_that_takes_no_budget_is_refused_with_one(make_manager, begin):
    manager = make_manager(["a", "b", "c", "ab", "<think>", "</think>", " ", "</s>"])
    # No token spells it, so that no budget is known to be enough.
    request = begin(manager, "r", "x|a", max_tokens=3)
    assert request.keeps_budget
    unspellable = "[^a-c <>/thinks]|[^a-c <>/thinks]"
    with pytest.raises(xgr.TokenBudgetError, match="no budget can be kept") as caught:
        begin(manager, "s", unspellable, max_tokens=3)
    assert caught.value.tokens_needed is None
    assert not begin(manager, "t", unspellable).keeps_budget


def test_other_backends_have_no_budgets(make_manager, begin):
    manager = make_manager()
    request = begin(manager, "r", backend="opaque", max_tokens=3)
    assert not request.keeps_budget
