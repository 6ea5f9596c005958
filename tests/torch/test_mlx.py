"""The kernel for MLX and the processor for ``mlx_lm``, on real arrays of MLX, which runs on processors too."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.testing import bitmask_to_bool_mask

mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
kernels = importlib.import_module("tokenstile.kernels")
RANDOM = np.random.default_rng(7)


def expected(logits, mask, columns):
    allowed = np.asarray(bitmask_to_bool_mask(mask, columns))
    return np.where(allowed, logits[..., :columns], -np.inf)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("columns", [1, 31, 32, 33, 64, 100])
def test_types_and_widths(dtype, columns):
    logits = RANDOM.integers(-8, 8, (3, columns)).astype(np.float32)
    mask = RANDOM.integers(-(2**31), 2**31, (3, (columns + 31) // 32), dtype=np.int64).astype(np.int32)
    given = mx.array(logits).astype(getattr(mx, dtype))
    found = kernels.apply_token_bitmask_mlx(mx.array(mask), given, columns)
    assert found.dtype == given.dtype
    assert (np.array(found.astype(mx.float32)) == expected(logits, mask, columns)).all()
    assert (np.array(given.astype(mx.float32)) == logits).all(), "the logits that were given do not change"


def test_one_dimension_and_fewer_columns():
    logits, mask = np.zeros(40, np.float32), np.array([5, -1], np.int32)
    found = kernels.apply_token_bitmask_mlx(mask, mx.array(logits), 33)
    assert found.shape == (33,)
    assert np.flatnonzero(np.isfinite(np.array(found))).tolist() == [0, 2, 32]


def test_logits_that_are_infinite_are_not_added_to():
    logits = mx.array(np.array([[np.inf, np.inf]], np.float32))
    found = kernels.apply_token_bitmask_mlx(np.array([[1]], np.int32), logits, 2)
    assert np.array(found).tolist() == [[np.inf, -np.inf]]


@pytest.mark.parametrize(
    ("mask", "logits", "columns"),
    [
        (np.zeros((1, 1), np.int64), np.zeros((1, 32), np.float32), 32),
        (np.zeros((1, 1), np.int32), np.zeros((1, 32), np.int32), 32),
        (np.zeros((2, 1), np.int32), np.zeros((1, 32), np.float32), 32),
        (np.zeros((1, 1), np.int32), np.zeros((1, 40), np.float32), 33),
        (np.zeros((1, 2), np.int32), np.zeros((1, 32), np.float32), 33),
        (np.zeros((1, 1), np.int32), np.zeros((1, 32), np.float32), -1),
        (np.zeros((1, 1), np.int32), np.zeros((1, 32), np.float32), "32"),
        (np.zeros((1, 1), np.int32), np.zeros((1, 32), np.float32), True),
    ],
)
def test_refused(mask, logits, columns):
    with pytest.raises((xgr.BitmaskError, xgr.InvalidArgumentError)):
        kernels.apply_token_bitmask_mlx(mask, mx.array(logits), columns)


def test_the_arguments_are_those_of_xgrammar():
    module = importlib.import_module("tokenstile.kernels.apply_token_bitmask_mlx")
    parameters = inspect.signature(module.apply_token_bitmask_mlx).parameters
    assert list(parameters) == ["bitmask", "logits", "vocab_size"]


def test_the_module_can_be_called():
    module = importlib.import_module("tokenstile.kernels.apply_token_bitmask_mlx")
    found = module(np.array([[1]], np.int32), mx.zeros((1, 2)), 2)
    assert np.array(found).tolist() == [[0, -np.inf]]
    assert kernels.apply_token_bitmask_mlx is not None


def test_a_processor_writes_what_the_grammar_says(info, vocab):
    processors = importlib.import_module("tokenstile.contrib.mlxlm")
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "a" "b"')
    processor = processors.XGrammarLogitsProcessor(compiled)
    prompt = [3, 1, 4]
    tokens = list(prompt)
    logits = mx.array(RANDOM.standard_normal((1, len(vocab))).astype(np.float32))
    while not processor.matcher.is_terminated():
        chosen = int(mx.argmax(processor(mx.array(tokens), logits), axis=-1).item())
        tokens.append(chosen)
        processor(mx.array(tokens), logits)
    written = tokens[len(prompt) :]
    assert "".join(vocab[token] for token in written[:-1]) == "ab"
    assert written[-1] in info.stop_token_ids


def test_a_processor_says_where_an_output_strays(info, vocab):
    processors = importlib.import_module("tokenstile.contrib.mlxlm")
    processor = processors.XGrammarLogitsProcessor(
        xgr.GrammarCompiler(info).compile_grammar('root ::= "a" "b"')
    )
    logits = mx.zeros((1, len(vocab)))
    processor(mx.array([1]), logits)
    with pytest.raises(xgr.MatcherError, match="does not allow"):
        processor(mx.array([1, vocab.index("b")]), logits)
