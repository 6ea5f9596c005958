"""Tokens that are forced: cut as the tokenizer cuts, and never in place of a longer one."""

from __future__ import annotations

import pytest

import tokenstile as xgr
from tokenstile.structured_output import ReasoningMarkers, StructuredOutputsParams
from tokenstile.structured_output.jump_forward import find_forced_tokens

WORDS = ["n", "a", "m", "e", '"', ":", "name", '":', "{", "}", '{"', " ", "ab", "</s>"]


class Longest:
    """A tokenizer that takes the longest token at each place."""

    def encode(self, text, add_special_tokens=True):
        assert not add_special_tokens
        tokens = []
        while text:
            word = max((word for word in WORDS if text.startswith(word)), key=len)
            tokens.append(WORDS.index(word))
            text = text[len(word) :]
        return tokens


def spell(tokens):
    return [WORDS[token] for token in tokens]


@pytest.fixture
def forced(match):
    info = xgr.TokenizerInfo(WORDS)

    def find(grammar, encode=None, accepted=()):
        matcher = match(grammar, tokenizer_info=info)
        for token in accepted:
            assert matcher.accept_token(token)
        before = repr(matcher)
        tokens = find_forced_tokens(matcher, info, encode)
        assert repr(matcher) == before
        assert matcher.validate_tokens(tokens) == len(tokens)
        return spell(tokens)

    return find


def test_as_the_tokenizer_cuts(forced):
    encode = Longest().encode

    def plain(text):
        return encode(text, add_special_tokens=False)

    # The last token could be `":` followed by something longer only if such a token were in the vocabulary.
    assert forced(r'root ::= "{\"name\":" [a-z]', plain) == ['{"', "name", '":']
    # After `"` the model might have written `":`, so the last one is left to it.
    assert forced(r'root ::= "\"name\"" (":" | "e")', plain) == ['"', "name"]
    assert forced('root ::= "a" | "m"', plain) == []


def test_without_a_tokenizer(forced):
    assert forced('root ::= "mmm" [a-e]') == ["m", "m", "m"]
    assert forced('root ::= "{" "}" "}" "m"') == ["{", "}", "}", "m"]
    assert forced('root ::= "m"', accepted=[2, 13]) == []


def test_a_tokenizer_that_changes_the_text(forced):
    assert forced('root ::= "mm" [a-e]', lambda _: [11, 2, 2]) == ["m", "m"]
    assert forced('root ::= "mm" [a-e]', lambda _: [999]) == ["m", "m"]
    assert forced('root ::= "mm" [a-e]', lambda _: []) == ["m", "m"]


def test_through_the_manager(make_manager, monkeypatch):
    info = xgr.TokenizerInfo(WORDS)
    tokenizer = Longest()
    monkeypatch.setattr(xgr.TokenizerInfo, "from_tokenizer", lambda *_: info)
    manager = make_manager(tokenizer)
    manager.grammar_init("r", StructuredOutputsParams(regex=r'\{"name":[a-z]')).result(30)
    tokens = manager.jump_forward_tokens("r")
    assert spell(tokens) == ['{"', "name", '":']
    assert manager.accept_tokens("r", tokens)
    assert manager.metrics.value("jump_forward_tokens_total", "tokenstile") == len(tokens)


def test_not_while_a_thought_may_come(make_manager, begin, ids):
    manager = make_manager(reasoning=ReasoningMarkers(start=4, end=5))
    begin(manager, "r", "cc[ab]")
    assert manager.jump_forward_tokens("r") == []
    assert manager.accept_tokens("r", ids("c"))
    assert manager.jump_forward_tokens("r") == ids("c")
    begin(manager, "thinking", "cc[ab]", prompt_token_ids=ids("<think>"))
    assert manager.jump_forward_tokens("thinking") == []
