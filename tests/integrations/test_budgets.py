"""What the plug-ins have in common: how long a thought was is told to the matcher of the answer."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.integrations.budgets import VLLM_SWITCH, count_thought, is_switched_on, room_for_thought

TOKENS = ["a", "b", "ab", "</s>"]
COMPILED = xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS)).compile_grammar('root ::= "a"+ "b"')


class Request:
    """What the plug-ins keep of a request."""

    def __init__(self, max_tokens):
        self.matcher = xgr.GrammarMatcher(COMPILED, max_tokens=max_tokens)
        self.thought_tokens = 0


def allowed(request):
    row = np.zeros((1, 1), dtype=np.int32)
    request.matcher.fill_next_token_bitmask(row)
    return [TOKENS[token] for token in range(len(TOKENS)) if int(row[0, 0]) >> token & 1]


def test_a_thought_takes_its_tokens_from_the_answer():
    request = Request(9)
    assert room_for_thought(request.matcher) == 7
    assert allowed(request) == ["a", "ab"]
    count_thought(request, 7, "r")
    assert request.matcher.tokens_left == 2
    assert allowed(request) == ["ab"]
    # The engine went back, and the thought was shorter then.
    count_thought(request, 2, "r")
    assert request.matcher.tokens_left == 7
    count_thought(request, 0, "r")
    assert request.matcher.tokens_left == 9


def test_a_thought_that_took_too_much_leaves_the_grammar_and_no_budget(caplog):
    request = Request(9)
    with caplog.at_level(logging.WARNING):
        count_thought(request, 8, "r")
    assert "the answer of r may be cut off: its thought took 8 tokens" in caplog.text
    assert request.matcher.tokens_left is None
    assert allowed(request) == ["a", "ab"]
    count_thought(request, 3, "r")
    assert request.matcher.tokens_left is None


def test_without_a_budget_nothing_is_counted():
    request = Request(None)
    count_thought(request, 100, "r")
    assert room_for_thought(request.matcher) is None
    assert request.thought_tokens == 0


@pytest.mark.parametrize(("value", "is_on"), [("on", True), ("1", True), ("off", False), ("", False)])
def test_the_switch(monkeypatch, value, is_on):
    monkeypatch.setenv(VLLM_SWITCH, value)
    assert is_switched_on(VLLM_SWITCH) is is_on
    monkeypatch.delenv(VLLM_SWITCH)
    assert not is_switched_on(VLLM_SWITCH)
    monkeypatch.setenv(VLLM_SWITCH, "perhaps")
    with pytest.raises(xgr.InvalidArgumentError, match="on or off"):
        is_switched_on(VLLM_SWITCH)
