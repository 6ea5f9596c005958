"""Every door into the memory of other libraries: what is written is what should be, and nothing beside it.

Each array lies between canaries, which stay as they were. Under AddressSanitizer (``make test-asan``) each also ends
where an allocation of its own ends, so that a write beyond it is seen at once.
"""

from __future__ import annotations

import array
import ctypes

import numpy as np
import pytest

import tokenstile as xgr

CANARY = 0x5A
AROUND = 256


class Guarded:
    """Memory of exactly so many bytes from ``malloc``, of which the middle is used."""

    def __init__(self, size: int, around: int) -> None:
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype = ctypes.c_void_p
        self.size, self.around = size, around
        self.address = self.libc.malloc(ctypes.c_size_t(size + 2 * around))
        self.all = np.ctypeslib.as_array((ctypes.c_ubyte * (size + 2 * around)).from_address(self.address))
        self.all[:] = CANARY

    @property
    def middle(self) -> np.ndarray:
        return self.all[self.around : self.around + self.size]

    def check(self) -> None:
        assert (self.all[: self.around] == CANARY).all()
        assert (self.all[self.around + self.size :] == CANARY).all()

    def __del__(self) -> None:
        self.all = None
        self.libc.free(ctypes.c_void_p(self.address))


class Plain:
    """An exporter of ``DLPack`` that is no numpy array."""

    def __init__(self, base: np.ndarray, **options: object) -> None:
        self.base, self.options = base, options

    def __dlpack__(self) -> object:
        return self.base.__dlpack__(**self.options)


class Subclass(np.ndarray):
    pass


# From an array of numpy to what is passed.
DOORS = {
    "numpy": lambda base: base,
    "a subclass of numpy's": lambda base: base.view(Subclass),
    "memoryview": memoryview,
    "dlpack": Plain,
    "versioned dlpack": lambda base: Plain(base, max_version=(1, 0)),
}


@pytest.fixture
def words(info):
    return xgr.get_bitmask_shape(1, info.vocab_size)[1]


@pytest.fixture
def compiled(info):
    return xgr.GrammarCompiler(info, cache_enabled=False).compile_builtin_json_grammar()


@pytest.fixture
def expected(compiled, words):
    mask = np.zeros((1, words), dtype=np.int32)
    xgr.GrammarMatcher(compiled).fill_next_token_bitmask(mask)
    return mask[0]


@pytest.fixture(params=[0, AROUND], ids=["exact", "canaries"])
def around(request):
    return request.param


def rows_of(guarded, rows, words, offset=0):
    """An array of int32 in the middle of the memory."""
    return guarded.middle[offset : offset + rows * words * 4].view(np.int32).reshape(rows, words)


@pytest.fixture
def matchers(compiled, info, expected):  # noqa: ARG001 - the mask is known once it is expected
    """One whose mask was asked for before, and one of a grammar that nobody has used."""
    fresh = xgr.GrammarCompiler(info, cache_enabled=False).compile_builtin_json_grammar()
    return [xgr.GrammarMatcher(compiled), xgr.GrammarMatcher(fresh)]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("offset", [0, 1])
def test_one_row(matchers, expected, around, door, offset):
    words = len(expected)
    for matcher in matchers:
        guarded = Guarded(2 * words * 4 + offset, around)
        base = rows_of(guarded, 2, words, offset)
        base[0] = -7
        matcher.fill_next_token_bitmask(DOORS[door](base), 1)
        assert np.array_equal(base[1], expected)
        assert (base[0] == -7).all()
        guarded.check()


LAYOUTS = {
    "reversed rows": lambda base: base[::-1],
    "reversed words": lambda base: base[:, ::-1],
    "columns": lambda base: base.reshape(base.shape[::-1]).T,
    "every second row": lambda base: base[::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides(matchers, expected, around, layout):
    words = len(expected)
    for matcher in matchers:
        guarded = Guarded(4 * words * 4, around)
        base = rows_of(guarded, 4, words)
        base[:] = -7
        view = LAYOUTS[layout](base)
        last = len(view) - 1
        matcher.fill_next_token_bitmask(view, last)
        assert np.array_equal(view[last], expected)
        view[last] = -7
        assert (base == -7).all()
        guarded.check()


def test_buffers_of_other_kinds(compiled, words, expected):
    for buffer in (array.array("i", [0] * words), (ctypes.c_int32 * words)()):
        xgr.GrammarMatcher(compiled).fill_next_token_bitmask(buffer)
        assert np.array_equal(np.array(buffer, dtype=np.int32), expected)


@pytest.mark.parametrize("count", [3, 40])
@pytest.mark.parametrize("door", DOORS)
def test_a_batch(compiled, matchers, expected, around, door, count):  # noqa: PLR0917 - fixtures
    words = len(expected)
    guarded = Guarded((count + 1) * words * 4, around)
    base = rows_of(guarded, count + 1, words)
    base[:] = -7
    matchers = [*(xgr.GrammarMatcher(compiled) for _ in range(count - 2)), *matchers]
    indices = [*range(1, count), 0]
    xgr.BatchGrammarMatcher(4).batch_fill_next_token_bitmask(matchers, DOORS[door](base), indices)
    assert (base[:count] == expected).all()
    assert (base[count] == -7).all()
    guarded.check()


def test_temperatures(compiled, around):
    guarded = Guarded(3 * 8, around)
    temperatures = guarded.middle.view(np.float32)[::2]
    matchers = [xgr.GrammarMatcher(compiled, default_temperature=0.5), xgr.GrammarMatcher(compiled)]
    xgr.BatchGrammarMatcher.batch_fill_temperature(matchers, temperatures, [2, 0])
    assert temperatures.tolist()[::2] == [-1.0, 0.5]
    guarded.check()


def test_a_draft_tree(compiled, words, expected, around):
    guarded = Guarded(3 * words * 4, around)
    base = rows_of(guarded, 3, words)
    warm = Guarded(3 * 4, around)
    temperatures = warm.middle.view(np.float32)
    matcher = xgr.GrammarMatcher(compiled, default_temperature=0.25)
    links = [np.array(values, dtype=np.int64) for values in ([1, -1, -1], [-1, 2, -1], [0, 0, 0])]
    assert matcher.traverse_draft_tree(*links, base, temperatures=temperatures)
    assert np.array_equal(base[0], expected)
    assert temperatures[0] == 0.25
    guarded.check()
    warm.check()


def test_drafts_of_a_batch(matchers, words, expected, around):
    from tokenstile._core import batch_fill_drafts

    guarded = Guarded(6 * words * 4, around)
    base = rows_of(guarded, 6, words)
    base[:] = -7
    outcomes = batch_fill_drafts(xgr.BatchGrammarMatcher(2), matchers, [1, 4], [[-1], []], None, base)
    assert [len(each) for each in outcomes] == [1, 0]
    assert np.array_equal(base[1], expected)
    assert np.array_equal(base[4], expected)
    assert (base[[0, 3, 5]] == -7).all()
    guarded.check()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("columns", [1, 31, 32, 33, 500])
def test_logits(around, dtype, columns):
    from tokenstile._core import apply_token_bitmask_inplace_cpu

    size = np.dtype(dtype).itemsize
    guarded = Guarded(3 * columns * size, around)
    logits = guarded.middle.view(dtype).reshape(3, columns)
    logits[:] = 1
    words = (columns + 31) // 32
    mask = np.full((3, words), 0x55555555, dtype=np.int32)
    apply_token_bitmask_inplace_cpu(logits, mask, None, [0, 2])
    allowed = np.arange(columns) % 2 == 0
    assert (np.isneginf(logits[[0, 2]]) == ~allowed).all()
    assert (logits[1] == 1).all()
    guarded.check()


def test_many_logits_are_done_in_portions():
    """Others may run in between, and all rows are done."""
    from tokenstile._core import apply_token_bitmask_inplace_cpu

    logits = np.zeros((40, 40_000), dtype=np.float32)
    mask = np.zeros((40, 1250), dtype=np.int32)
    mask[:, 3] = 1
    apply_token_bitmask_inplace_cpu(logits, mask)
    assert (np.isneginf(logits).sum(axis=1) == 39_999).all()
    assert (logits[:, 96] == 0).all()


def test_arrays_that_change_between_two_calls(compiled, words, expected):
    mask = np.zeros((2, words), dtype=np.int32)
    matcher = xgr.GrammarMatcher(compiled)
    matcher.fill_next_token_bitmask(mask, 1)
    mask.resize((1, words), refcheck=False)
    with pytest.raises(xgr.BitmaskError, match="row 1 is outside"):
        matcher.fill_next_token_bitmask(mask, 1)
    mask.shape = (words,)
    mask[:] = 0
    matcher.fill_next_token_bitmask(mask)
    assert np.array_equal(mask, expected)
    mask.dtype = np.float32
    with pytest.raises(xgr.BitmaskError, match="int32"):
        matcher.fill_next_token_bitmask(mask)
