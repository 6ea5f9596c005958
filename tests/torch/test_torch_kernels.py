"""Kernels on torch tensors: every backend gives what the plain reference gives."""

from __future__ import annotations

import pytest
import torch

import tokenstile as xgr
from tokenstile import kernels

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
BACKENDS = ["auto", "cpu", "torch_native"]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(11)


def random_mask(rows, columns):
    words = (columns + 31) // 32
    mask = torch.randint(-(2**31), 2**31, (rows, words), dtype=torch.int64).to(torch.int32)
    mask[torch.rand(rows, words) < 0.3] = 0
    mask[torch.rand(rows, words) < 0.3] = -1
    return mask


def reference(logits, mask, columns=None, rows=None):
    result = logits.clone()
    for row in range(logits.shape[0]) if rows is None else rows:
        for column in range(logits.shape[1] if columns is None else columns):
            word = mask[row, column // 32].item() if column // 32 < mask.shape[1] else 0
            if not (word >> (column % 32)) & 1:
                result[row, column] = float("-inf")
    return result


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 32, 33, 100])
def test_types_and_widths(backend, dtype, columns):
    logits = torch.randn(3, columns).to(dtype)
    mask = random_mask(3, columns)
    expected = reference(logits, mask)
    xgr.apply_token_bitmask_inplace(logits, mask, backend=backend)
    assert torch.equal(logits, expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["rows", "columns", "transposed"])
def test_strides(backend, dtype, name):
    base = torch.randn(80, 160).to(dtype)
    logits = {"rows": base[::7, :70], "columns": base[:4, :140:2], "transposed": base.T[:5, :70]}[name]
    mask = random_mask(2 * len(logits), 70)[::2]
    expected = reference(logits, mask)
    untouched = base.clone()
    xgr.apply_token_bitmask_inplace(logits, mask, backend=backend)
    assert torch.equal(logits, expected)
    assert (base != untouched).sum() == torch.isneginf(expected).sum()


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_dimension_indices_and_vocab_size(backend):
    logits, mask = torch.randn(1, 70), random_mask(1, 70)
    expected = reference(logits, mask)
    row = logits[0]
    xgr.apply_token_bitmask_inplace(row, mask[0], backend=backend)
    assert torch.equal(row, expected[0])

    logits, mask = torch.randn(5, 70), random_mask(3, 70)
    for indices in ([2, 0], torch.tensor([2, 0], dtype=torch.int32)):
        found = logits.clone()
        xgr.apply_token_bitmask_inplace(found, mask, indices=indices, vocab_size=50, backend=backend)
        assert torch.equal(found, reference(logits, mask, columns=50, rows=[2, 0]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_without_a_bit(backend):
    logits = torch.zeros(2, 100)
    with pytest.warns(UserWarning, match="64 tokens"):
        xgr.apply_token_bitmask_inplace(logits, torch.full((2, 2), -1, dtype=torch.int32), backend=backend)
    assert (logits[:, :64] == 0).all()
    assert torch.isneginf(logits[:, 64:]).all()


def test_device_mismatch():
    with pytest.raises(ValueError, match="meta"):
        xgr.apply_token_bitmask_inplace(
            torch.zeros(2, 32), torch.zeros(2, 1, dtype=torch.int32, device="meta")
        )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("logits", "mask", "options"),
    [
        (torch.zeros(2, 32, dtype=torch.int32), torch.zeros(2, 1, dtype=torch.int32), {}),
        (torch.zeros(2, 32), torch.zeros(2, 1, dtype=torch.int64), {}),
        (torch.zeros(2, 32), torch.zeros(3, 1, dtype=torch.int32), {}),
        (torch.zeros(1, 2, 32), torch.zeros(2, 1, dtype=torch.int32), {}),
        (torch.zeros(2, 32), torch.zeros(2, 1, dtype=torch.int32), {"vocab_size": 33}),
    ],
)
def test_refused(backend, logits, mask, options):
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own message
        xgr.apply_token_bitmask_inplace(logits, mask, backend=backend, **options)


def test_other_devices_go_by_torch():
    logits = torch.zeros(2, 32, device="meta")
    xgr.apply_token_bitmask_inplace(logits, torch.zeros(2, 1, dtype=torch.int32, device="meta"))


def test_kernels_by_name():
    for name in ("cpu", "torch"):
        logits = torch.zeros(1, 32)
        getattr(kernels, f"apply_token_bitmask_inplace_{name}")(logits, torch.zeros(1, 1, dtype=torch.int32))
        assert torch.isneginf(logits).all()


@pytest.mark.filterwarnings("ignore")  # torch's compiler warns about itself
def test_torch_compile():
    for columns in (64, 100):
        logits, mask = torch.randn(3, columns), random_mask(3, columns)
        expected = reference(logits, mask)
        xgr.apply_token_bitmask_inplace(logits, mask, backend="torch_compile")
        assert torch.equal(logits, expected)
