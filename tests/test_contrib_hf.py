"""The logits processor of transformers, on arrays of numpy: the library itself is not needed."""

from __future__ import annotations

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.contrib.hf import LogitsProcessor

TOKENS = ["a", "b", "ab", "</s>"]
STOP = 3


@pytest.fixture
def compiler():
    return xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS))


def scores(rows):
    return np.zeros((rows, len(TOKENS)), dtype=np.float32)


def allowed(row):
    return [token for token, score in enumerate(row) if score == 0]


def test_outputs_follow_their_grammars(compiler):
    grammars = [compiler.compile_grammar('root ::= "a" "b"'), compiler.compile_grammar('root ::= "b"+')]
    processor = LogitsProcessor(grammars)
    ids = [[0], [0]]
    result = processor(np.array(ids), scores(2))
    assert [allowed(row) for row in result] == [[0, 2], [1]]
    ids = [[0, 2], [0, 1]]
    assert [allowed(row) for row in processor(np.array(ids), scores(2))] == [[STOP], [1, STOP]]
    ids = [[0, 2, STOP], [0, 1, 1]]
    # What is finished is not restricted any more: padding follows.
    assert [allowed(row) for row in processor(np.array(ids), scores(2))] == [[0, 1, 2, STOP], [1, STOP]]
    assert processor.batch_size == len(processor.matchers) == 2
    assert processor.full_vocab_size == len(TOKENS)


def test_one_grammar_for_all(compiler):
    processor = xgr.hf.LogitsProcessor(compiler.compile_grammar('root ::= "a"'))
    assert [allowed(row) for row in processor(np.array([[0]] * 3), scores(3))] == [[0]] * 3
    with pytest.raises(xgr.MatcherError, match="make a new one"):
        processor(np.array([[0, 0]]), scores(1))
    with pytest.raises(xgr.MatcherError, match="output 1"):
        processor(np.array([[0, 0], [0, 1], [0, 0]]), scores(3))


def test_wrong_arguments(compiler):
    grammar = compiler.compile_grammar('root ::= "a"')
    for wrong, words in [
        (5, "not of int"),
        (None, "not of NoneType"),
        ([], "the list is empty"),
        (["a"], "item 0 is str"),
        ([grammar, None], "item 1 is NoneType"),
    ]:
        with pytest.raises(
            xgr.InvalidArgumentError, match=f"made of one CompiledGrammar, or of a list .*{words}"
        ):
            LogitsProcessor(wrong)
    with pytest.raises(xgr.InvalidArgumentError, match="2 grammars for 3"):
        LogitsProcessor([grammar, grammar])(np.array([[0]] * 3), scores(3))
