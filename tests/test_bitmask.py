"""Bitmask buffers: every layout is written right, and every wrong one is refused."""

from __future__ import annotations

import array
import ctypes

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.testing import bitmask_to_bool_mask, bool_mask_to_bitmask

WORDS = 5
SIZE = 143
GUARD = 0x5A5A5A5A


@pytest.fixture(scope="module")
def matcher(info):
    assert info.vocab_size == SIZE
    return xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar('root ::= [a-c] | "true"'))


@pytest.fixture(scope="module")
def expected(matcher):
    mask = np.zeros((1, WORDS), dtype=np.int32)
    assert matcher.fill_next_token_bitmask(mask)
    assert mask.any()
    return mask[0].copy()


LAYOUTS = {
    "contiguous": lambda base: base[:3, :WORDS].copy(),
    "one row": lambda base: base[0, :WORDS],
    "wider rows": lambda base: base[:3, 2 : 2 + WORDS],
    "every second row": lambda base: base[1::2, :WORDS],
    "reversed rows": lambda base: base[::-1, :WORDS],
    "every second column": lambda base: base[:4, : 2 * WORDS : 2],
    "reversed columns": lambda base: base[:4, WORDS - 1 :: -1] if WORDS > 1 else base,
    "transposed": lambda base: base.T[:4, :WORDS],
    "fortran order": lambda base: np.asfortranarray(base[:4, :WORDS]),
    "row of a transposed": lambda base: base.T[2, :WORDS],
    "uint32": lambda base: base[:3, :WORDS].view(np.uint32),
    "a type with notes": lambda base: base[:3, :WORDS].view(np.dtype(np.int32, metadata={"kind": "mask"})),
    "a subclass": lambda base: base[:3, :WORDS].view(type("Mask", (np.ndarray,), {})),
    "three-dimensional slice": lambda base: base.reshape(3, 4, 12)[1][:, :WORDS],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(matcher, expected, name):
    base = np.full((12, 12), GUARD, dtype=np.int32)
    view = LAYOUTS[name](base)
    rows = view.shape[0] if view.ndim == 2 else 1
    for index in range(rows):
        view[...] = GUARD
        before = base.copy()
        assert matcher.fill_next_token_bitmask(view, index)
        row = view[index] if view.ndim == 2 else view
        assert (np.asarray(row).view(np.int32) == expected).all() or (row.astype(np.int32) == expected).all()
        row[...] = GUARD
        assert (base == before).all(), "nothing else was written"


def test_unaligned_memory(matcher, expected):
    raw = bytearray(1 + 4 * WORDS)
    view = np.frombuffer(raw, dtype=np.int32, count=WORDS, offset=1)
    assert matcher.fill_next_token_bitmask(view)
    assert (view == expected).all()
    assert raw[0] == 0


@pytest.mark.parametrize("kind", ["array", "memoryview", "ctypes", "dlpack", "versioned dlpack"])
def test_other_buffers(matcher, expected, kind):
    base = np.zeros((2, WORDS), dtype=np.int32)

    class Exporter:
        def __init__(self, **options):
            self.options = options

        def __dlpack__(self):
            return base.__dlpack__(**self.options)

    if kind == "array":
        buffer = array.array("i", [0] * WORDS)
        matcher.fill_next_token_bitmask(buffer)
        found = np.array(buffer)
    elif kind == "ctypes":
        buffer = (ctypes.c_int32 * WORDS)()
        matcher.fill_next_token_bitmask(buffer)
        found = np.array(buffer)
    else:
        options = {"max_version": (1, 0)} if kind.startswith("versioned") else {}
        buffer = memoryview(base) if kind == "memoryview" else Exporter(**options)
        matcher.fill_next_token_bitmask(buffer, 1)
        found = base[1]
        assert not base[0].any()
    assert (found == expected).all()


WRONG = {
    "too few words": np.zeros((1, WORDS - 1), dtype=np.int32),
    "too many words": np.zeros((1, WORDS + 1), dtype=np.int32),
    "no dimension": np.zeros((), dtype=np.int32),
    "three dimensions": np.zeros((1, 1, WORDS), dtype=np.int32),
    "int64": np.zeros((1, WORDS), dtype=np.int64),
    "int16": np.zeros((1, WORDS), dtype=np.int16),
    "float32": np.zeros((1, WORDS), dtype=np.float32),
    "bool": np.zeros((1, WORDS), dtype=np.bool_),
    "other byte order": np.zeros((1, WORDS), dtype=np.dtype(np.int32).newbyteorder()),
    "objects": np.zeros((1, WORDS), dtype=object),
    "structures": np.zeros((1, WORDS), dtype=[("a", np.int32)]),
    "no rows": np.zeros((0, WORDS), dtype=np.int32),
    "list": [0] * WORDS,
    "bytes": bytes(4 * WORDS),
    "string": "mask",
    "nothing": None,
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("error", [RuntimeError, ValueError])
def test_wrong_buffers_are_refused(matcher, name, error):
    with pytest.raises(error):
        matcher.fill_next_token_bitmask(WRONG[name])


def test_read_only_buffers_are_refused(matcher):
    mask = np.zeros((1, WORDS), dtype=np.int32)
    mask.flags.writeable = False
    for buffer in (mask, memoryview(mask), bytes(20)):
        with pytest.raises(xgr.BitmaskError, match=r"read-only|int32"):
            matcher.fill_next_token_bitmask(buffer)
    assert not mask.any()


def test_expanded_arrays_are_refused(matcher):
    for shape, strides in (((3, WORDS), (0, 4)), ((2, WORDS), (4, 0))):
        expanded = np.lib.stride_tricks.as_strided(np.zeros(WORDS, np.int32), shape, strides)
        assert expanded.flags.writeable
        with pytest.raises(xgr.BitmaskError, match="expanded"):
            matcher.fill_next_token_bitmask(expanded)


@pytest.mark.parametrize("index", [-1, 2, 100, 2**62])
def test_rows_out_of_range_are_refused(matcher, index):
    with pytest.raises(RuntimeError, match="row"):
        matcher.fill_next_token_bitmask(np.zeros((2, WORDS), dtype=np.int32), index)
    with pytest.raises(RuntimeError, match="row"):
        matcher.fill_next_token_bitmask(np.zeros(WORDS, dtype=np.int32), index)


def test_broken_exporters(matcher):
    class Broken:
        def __init__(self, result):
            self.result = result

        def __dlpack__(self):
            if isinstance(self.result, Exception):
                raise self.result
            return self.result

    for result in (None, 3, "capsule", BufferError("no"), RecursionError("no")):
        with pytest.raises((TypeError, BufferError, RecursionError)):
            matcher.fill_next_token_bitmask(Broken(result))


def test_shape_allocate_and_reset():
    assert xgr.get_bitmask_shape(3, 64) == (3, 2)
    assert xgr.get_bitmask_shape(3, 65) == (3, 3)
    assert xgr.get_bitmask_shape(0, 0) == (0, 0)
    mask = xgr.allocate_token_bitmask(2, 100)
    assert tuple(mask.shape) == (2, 4)
    assert mask.dtype == xgr.bitmask_dtype
    assert (mask == -1).all()
    mask[1] = 0
    xgr.reset_token_bitmask(mask)
    assert (mask == -1).all()


def test_allocates_numpy_without_torch():
    mask = xgr.allocate_token_bitmask(2, 100)
    assert isinstance(mask, np.ndarray)
    unsigned = np.zeros((2, 3), dtype=np.uint32)[:, ::2]
    xgr.reset_token_bitmask(unsigned)
    assert (unsigned == 0xFFFFFFFF).all()


def test_bool_masks():
    bits = np.random.default_rng(3).random((4, 77)) < 0.5
    mask = bool_mask_to_bitmask(bits)
    assert mask.dtype == np.int32
    assert mask.shape == (4, 3)
    assert (bitmask_to_bool_mask(mask, 77) == bits).all()
    assert bitmask_to_bool_mask(mask)[:, 77:].all()
