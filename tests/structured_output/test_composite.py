"""Composites move all of their parts, or none."""

from __future__ import annotations

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.structured_output import BackendContext, CompositeGrammar, GrammarType, TokenstileBackend
from tokenstile.structured_output.contract import StructuredOutputGrammar

TOKENS = ["a", "b", "c", "ab", "</s>"]


class Forgetful(StructuredOutputGrammar):
    """A grammar of another library: it takes back few tokens, and raises when it is told to."""

    def __init__(self, inner, most=2):
        self.inner, self.most, self.raises = inner, most, False

    def accept_tokens(self, request_id, tokens):
        if self.raises:
            raise OSError("no tokens today")
        return self.inner.accept_tokens(request_id, tokens)

    def rollback(self, num_tokens):
        if num_tokens > self.most:
            raise RuntimeError(f"only {self.most} are remembered")
        self.inner.rollback(num_tokens)

    def validate_tokens(self, tokens):
        return self.inner.validate_tokens(tokens)

    def fill_bitmask(self, bitmask, index):
        self.inner.fill_bitmask(bitmask, index)

    def is_terminated(self):
        return self.inner.is_terminated()

    def reset(self):
        self.inner.reset()

    def fresh(self, stop_token_ids=None):
        return Forgetful(self.inner.fresh(stop_token_ids), self.most)


@pytest.fixture
def parts():
    backend = TokenstileBackend(BackendContext(xgr.TokenizerInfo(TOKENS)))
    first, second = (backend.compile_grammar(GrammarType.REGEX, regex) for regex in ("[ab]*c", "a[abc]*"))
    return first, Forgetful(second)


def allowed(composite):
    row = np.zeros((1, 1), dtype=np.int32)
    composite.fill_next_token_bitmask(row)
    return [token for at, token in enumerate(TOKENS) if int(row[0, 0]) >> at & 1]


def test_a_step_back_that_one_part_cannot_take_is_taken_by_none(parts):
    composite = CompositeGrammar(parts)
    assert not composite.is_exact
    for token in (0, 1, 2):
        assert composite.accept_token(token)
    with pytest.raises(RuntimeError, match="only 2 are remembered"):
        composite.rollback(3)
    assert allowed(composite) == ["</s>"], "all parts are where they were"
    composite.rollback(1)
    assert allowed(composite) == ["a", "b", "c", "ab"]
    assert composite.accept_token(2)
    assert composite.accept_token(4)
    assert composite.is_terminated()
    composite.rollback(2)
    assert allowed(composite) == ["a", "b", "c", "ab"]


def test_the_order_of_the_parts_does_not_matter(parts):
    composite = CompositeGrammar(parts[::-1])
    for token in (0, 1, 2, 4):
        assert composite.accept_token(token)
    with pytest.raises(RuntimeError):
        composite.rollback(4)
    assert composite.is_terminated()


def test_only_what_was_accepted_is_taken_back(parts):
    composite = CompositeGrammar(parts)
    assert composite.accept_token(0)
    with pytest.raises(xgr.InvalidArgumentError, match="the composite has accepted 1"):
        composite.rollback(2)
    composite.rollback(0)
    composite.rollback(-1)
    assert allowed(composite) == ["a", "b", "c", "ab"]
    composite.reset()
    with pytest.raises(xgr.InvalidArgumentError, match="has accepted 0"):
        composite.rollback(1)
    assert allowed(composite) == ["a", "ab"]


def test_a_token_that_one_part_raises_for_is_taken_by_none(parts):
    composite = CompositeGrammar(parts)
    assert composite.accept_token(0)
    parts[1].raises = True
    with pytest.raises(OSError, match="no tokens today"):
        composite.accept_token(1)
    parts[1].raises = False
    assert not composite.accept_token(4)
    composite.rollback(1)
    assert allowed(composite) == ["a", "ab"], "the part before it went back"


def test_compiled_grammars_and_matchers_are_put_together():
    info = xgr.TokenizerInfo(TOKENS)
    compiler = xgr.GrammarCompiler(info)
    first, second = compiler.compile_regex("[ab]*c"), compiler.compile_regex("a[abc]*")
    matcher = xgr.GrammarMatcher(second)
    composite = CompositeGrammar([first, matcher])
    assert composite.is_exact
    assert isinstance(composite, StructuredOutputGrammar)
    assert composite.validate_tokens([3, 2, 4, 0]) == [3, 2, 4]
    assert composite.accept_tokens("r", [0, 2])
    assert not composite.accept_tokens("r", [4, 0][::-1])
    assert composite.accept_tokens("r", [4, 0]), "what comes after the end is ignored"
    fresh = composite.fresh()
    assert allowed(fresh) == ["a", "ab"]
    assert allowed(CompositeGrammar([fresh, compiler.compile_regex("ab.*")])) == ["a", "ab"]
    assert matcher.accept_token(0), "the matcher that was given did not move"
    assert composite.is_terminated()
    assert (
        CompositeGrammar([compiler.compile_regex("ab"), compiler.compile_regex("ab|c")]).jump_forward_string()
        == "ab"
    )
    with pytest.raises(xgr.InvalidArgumentError, match="not of str"):
        CompositeGrammar(["a"])


def test_what_has_no_intersection_is_refused_with_the_reason():
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS))
    nested = [compiler.compile_grammar(f'root ::= "a" root "{end}" | "c"') for end in "bc"]
    with pytest.raises(xgr.UnsupportedFeatureError, match="only one side"):
        CompositeGrammar(nested)


def test_json_objects_are_put_together_exactly():
    tokens = [*map(chr, range(32, 127)), "</s>"]
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1]))
    anything = compiler.compile_json_schema({"type": "object"}, strict_mode=False)
    number = compiler.compile_json_schema({"properties": {"n": {"type": "integer"}}}, strict_mode=False)
    short = compiler.compile_regex(".{0,9}")
    for parts in ([anything, short], [anything, number], [number, short, anything]):
        assert CompositeGrammar(parts).is_exact
    three = CompositeGrammar([anything, compiler.compile_regex(".{3}")])
    for character in "{ }":
        row = np.zeros((1, 3), dtype=np.int32)
        three.fill_bitmask(row, 0)
        assert [tokens[at] for at in range(95) if int(row[0, at // 32]) >> at % 32 & 1] == [character]
        assert three.accept_token(tokens.index(character))
