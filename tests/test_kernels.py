"""The CPU kernel on numpy arrays, against a plain reference."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import tokenstile as xgr
from tokenstile import kernels
from tokenstile.testing import bitmask_to_bool_mask

DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16]
RANDOM = np.random.default_rng(5)


def random_mask(rows, columns):
    words = (columns + 31) // 32
    mask = RANDOM.integers(-(2**31), 2**31, (rows, words), dtype=np.int64).astype(np.int32)
    mask[RANDOM.random((rows, words)) < 0.3] = 0
    mask[RANDOM.random((rows, words)) < 0.3] = -1
    return mask


def reference(logits, mask, columns=None, rows=None):
    result = logits.copy()
    allowed = bitmask_to_bool_mask(mask, logits.shape[-1])
    for row in range(len(logits)) if rows is None else rows:
        for column in range(logits.shape[-1] if columns is None else columns):
            if column >= allowed.shape[-1] or not allowed[row, column]:
                result[row, column] = -np.inf
    return result


def bits(values):
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 31, 32, 33, 64, 100])
def test_types_and_widths(dtype, columns):
    logits = RANDOM.standard_normal((3, columns)).astype(dtype)
    mask = random_mask(3, columns)
    expected = reference(logits, mask)
    xgr.apply_token_bitmask_inplace(logits, mask)
    assert (bits(logits) == bits(expected)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_dimension(dtype):
    logits = RANDOM.standard_normal(70).astype(dtype)
    mask = random_mask(1, 70)
    expected = reference(logits[None], mask)[0]
    xgr.apply_token_bitmask_inplace(logits, mask[0], backend="cpu")
    assert (bits(logits) == bits(expected)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["rows", "columns", "reversed", "transposed"])
def test_strides(dtype, name):
    base = RANDOM.standard_normal((80, 160)).astype(dtype)
    logits = {
        "rows": base[::7, :70],
        "columns": base[:4, : 2 * 70 : 2],
        "reversed": base[::-9, 69::-1],
        "transposed": base.T[:5, :70],
    }[name]
    mask = np.asfortranarray(random_mask(2 * len(logits), 70))[::2]
    expected = reference(logits, mask)
    outside = base.copy()
    xgr.apply_token_bitmask_inplace(logits, mask)
    assert (bits(logits) == bits(expected)).all()
    changed = np.count_nonzero(bits(base) != bits(outside))
    assert changed == np.count_nonzero(bits(expected) == bits(np.array(-np.inf, dtype)))


def test_indices():
    logits = RANDOM.standard_normal((5, 70)).astype(np.float32)
    mask = random_mask(3, 70)
    expected = reference(logits, mask, rows=[2, 0])
    xgr.apply_token_bitmask_inplace(logits, mask, indices=np.array([2, 0]))
    assert (bits(logits) == bits(expected)).all()
    xgr.apply_token_bitmask_inplace(logits, mask, indices=[])
    assert (bits(logits) == bits(expected)).all()


def test_vocab_size():
    logits = RANDOM.standard_normal((2, 200)).astype(np.float32)
    mask = random_mask(2, 70)
    expected = reference(logits, mask, columns=65)
    xgr.apply_token_bitmask_inplace(logits, mask, vocab_size=65)
    assert (bits(logits) == bits(expected)).all()


def test_columns_without_a_bit_are_forbidden_with_a_warning():
    logits = np.zeros((2, 100), dtype=np.float32)
    mask = np.full((2, 2), -1, dtype=np.int32)
    with pytest.warns(UserWarning, match="64 tokens"):
        xgr.apply_token_bitmask_inplace(logits, mask)
    assert (logits[:, :64] == 0).all()
    assert np.isneginf(logits[:, 64:]).all()


def test_wider_masks_are_fine():
    logits = np.zeros((1, 10), dtype=np.float32)
    xgr.apply_token_bitmask_inplace(logits, np.zeros((1, 4), dtype=np.int32))
    assert np.isneginf(logits).all()


@pytest.mark.parametrize(
    ("logits", "mask", "options"),
    [
        (np.zeros((2, 32), np.float64), np.zeros((2, 1), np.int32), {}),
        (np.zeros((2, 32), np.int32), np.zeros((2, 1), np.int32), {}),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int64), {}),
        (np.zeros((2, 32), np.float32), np.zeros((3, 1), np.int32), {}),
        (np.zeros((1, 2, 32), np.float32), np.zeros((2, 1), np.int32), {}),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int32), {"vocab_size": 33}),
        (np.zeros((2, 64), np.float32), np.zeros((2, 1), np.int32), {"vocab_size": 33}),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int32), {"indices": [2]}),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int32), {"indices": [-1]}),
        (np.broadcast_to(np.float32(0), (2, 32)), np.zeros((2, 1), np.int32), {}),
        (np.zeros((2, 32), np.float32), np.zeros((2, 1), np.int32), {"backend": "abacus"}),
    ],
)
def test_refused(logits, mask, options):
    before = logits.copy()
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own message
        xgr.apply_token_bitmask_inplace(logits, mask, **options)
    assert (logits == before).all()


def test_kernels_for_gpus_say_what_they_need():
    for backend in ("cuda", "triton"):
        with pytest.raises((ImportError, ValueError), match=r"tokenstile\[torch\]|torch tensors"):
            xgr.apply_token_bitmask_inplace(np.zeros(32, np.float32), np.zeros(1, np.int32), backend=backend)


def test_kernels_by_name():
    logits = np.zeros((1, 32), dtype=np.float32)
    kernels.apply_token_bitmask_inplace_cpu(logits, np.zeros((1, 1), dtype=np.int32))
    assert np.isneginf(logits).all()


def test_a_mask_of_a_matcher(match, vocab):
    mask = xgr.allocate_token_bitmask(1, len(vocab))
    match('root ::= "a"').fill_next_token_bitmask(mask)
    logits = np.zeros((1, len(vocab)), dtype=np.float32)
    xgr.apply_token_bitmask_inplace(logits, mask)
    assert np.flatnonzero(np.isfinite(logits[0])).tolist() == [vocab.index("a")]


def test_kernels_by_name_are_modules_too():
    # In a process of its own: whether the module was imported before must not matter.
    code = """
import numpy as np
from tokenstile import kernels
logits, mask = np.zeros(2, dtype=np.float32), np.array([1], dtype=np.int32)
kernels.apply_token_bitmask_inplace_cpu(logits, mask)
from tokenstile.kernels.apply_token_bitmask_inplace_cpu import apply_token_bitmask_inplace_cpu
again = np.zeros(2, dtype=np.float32)
apply_token_bitmask_inplace_cpu(again, mask)
third = np.zeros(2, dtype=np.float32)
kernels.apply_token_bitmask_inplace_cpu(third, mask)
assert logits.tolist() == again.tolist() == third.tolist() == [0, float("-inf")]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_kernel_for_mlx_says_what_it_needs():
    code = """
import sys
sys.modules["mlx"] = sys.modules["mlx.core"] = None
from tokenstile import kernels
try:
    kernels.apply_token_bitmask_mlx
except ImportError as error:
    assert "tokenstile[mlx]" in str(error), error
else:
    raise AssertionError("it is there without mlx")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
