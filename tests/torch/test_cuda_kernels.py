"""The kernels for GPUs against plain references: every type, width, alignment, stride and choice of rows.

Without a GPU, the Triton kernel is run by Triton's interpreter if ``TRITON_INTERPRET=1`` is set, which
`test_triton_interpreter` sees to; the others are skipped.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

import tokenstile as xgr
from tokenstile import kernels
from tokenstile.kernels import device_rows

HAS_GPU = torch.cuda.is_available()
IS_INTERPRETED = not HAS_GPU and os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if HAS_GPU else "cpu"
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
NEEDS_GPU = pytest.mark.skipif(not HAS_GPU, reason="needs a GPU that torch can use")
NEEDS_GPU_OR_INTERPRETER = pytest.mark.skipif(
    not HAS_GPU and not IS_INTERPRETED, reason="needs a GPU that torch can use, or TRITON_INTERPRET=1"
)
BACKENDS = [
    pytest.param("triton", marks=NEEDS_GPU_OR_INTERPRETER),
    pytest.param("cuda", marks=NEEDS_GPU),
    pytest.param("auto", marks=NEEDS_GPU),
]
ON_EACH = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


def random_mask(rows, columns, device=DEVICE):
    """Words of all kinds: mixed, all set, none set."""
    words = (columns + 31) // 32
    mask = torch.randint(-(2**31), 2**31, (rows, words), dtype=torch.int64).to(torch.int32)
    mask[torch.rand(rows, words) < 0.3] = 0
    mask[torch.rand(rows, words) < 0.3] = -1
    return mask.to(device)


def reference(logits, mask, columns=None, rows=None):
    """Return what must come out, on the CPU: numpy unpacks the bits."""
    result = logits.detach().cpu().clone()
    columns = logits.shape[1] if columns is None else columns
    bits = np.unpackbits(mask.cpu().contiguous().numpy().view(np.uint8), axis=1, bitorder="little")
    allowed = np.zeros((len(mask), columns), dtype=bool)
    allowed[:, : bits.shape[1]] = bits[:, :columns]
    for row in range(len(logits)) if rows is None else rows:
        result[row, :columns][torch.from_numpy(~allowed[row])] = float("-inf")
    return result


def same(found, expected):
    return torch.equal(found.cpu(), expected)


def placed(rows, columns, dtype, offset, gap):
    """Logits that begin ``offset`` elements into their memory, with ``gap`` between rows; and the memory."""
    memory = torch.randn(offset + rows * (columns + gap) + 16).to(dtype).to(DEVICE)
    return memory[offset : offset + rows * (columns + gap)].view(rows, columns + gap)[:, :columns], memory


@ON_EACH
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 2, 7, 8, 9, 31, 32, 33, 64, 100, 2048, 4099])
def test_types_widths_and_places(backend, dtype, columns):
    for offset, gap in ((0, 0), (1, 0), (0, 1), (3, 2), (0, 8), (8, 16)):
        logits, memory = placed(3, columns, dtype, offset, gap)
        mask = random_mask(3, columns)
        expected, before = reference(logits, mask), memory.clone()
        xgr.apply_token_bitmask_inplace(logits, mask, backend=backend)
        assert same(logits, expected), (offset, gap)
        assert (memory != before).sum() == torch.isneginf(expected).sum(), "written outside of the logits"


@ON_EACH
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_real_vocabulary(backend, dtype, share):
    rows, columns = (5, 128256) if HAS_GPU else (2, 5000)
    logits = torch.randn(rows, columns).to(dtype).to(DEVICE)
    bits = np.random.default_rng(3).random((rows, (columns + 31) // 32 * 32)) < share
    mask = torch.from_numpy(np.packbits(bits, axis=1, bitorder="little").view(np.int32)).to(DEVICE)
    expected = reference(logits, mask)
    for _ in range(2):
        xgr.apply_token_bitmask_inplace(logits, mask, backend=backend)
        assert same(logits, expected)
    assert torch.isneginf(expected).float().mean().item() == pytest.approx(1 - share, abs=0.01)


@ON_EACH
def test_values_that_are_kept_are_kept_bit_by_bit(backend):
    for dtype, integer in ((torch.bfloat16, torch.int16), (torch.float32, torch.int32)):
        bits = torch.randint(-(2**15), 2**15, (2, 999)).to(integer).to(DEVICE)  # not-a-numbers among them
        mask = random_mask(2, 999)
        expected = reference(bits.view(dtype), mask).view(integer)
        xgr.apply_token_bitmask_inplace(bits.view(dtype), mask, backend=backend)
        assert same(bits, expected)


@ON_EACH
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["rows", "columns", "transposed", "one column"])
def test_strides(backend, dtype, name):
    base = torch.randn(80, 160).to(dtype).to(DEVICE)
    logits = {
        "rows": base[::7, :70],
        "columns": base[:4, :140:2],
        "transposed": base.T[:5, :70],
        "one column": base[:, 3:4],
    }[name]
    mask = random_mask(2 * len(logits), logits.shape[1])[::2]
    expected, before = reference(logits, mask), base.clone()
    xgr.apply_token_bitmask_inplace(logits, mask, backend=backend)
    assert same(logits, expected)
    assert (base != before).sum() == torch.isneginf(expected).sum()


@ON_EACH
def test_a_bitmask_of_any_strides(backend):
    logits, mask = torch.randn(4, 100, device=DEVICE), random_mask(4, 100)
    for strided in (
        mask.T.contiguous().T,
        torch.stack([mask, mask], dim=2)[:, :, 1],
        torch.cat([mask, mask], dim=1),
    ):
        found = logits.clone()
        xgr.apply_token_bitmask_inplace(found, strided, backend=backend)
        assert same(found, reference(logits, mask))
    found = logits.clone()
    xgr.apply_token_bitmask_inplace(found, mask[:1].expand(4, -1), backend=backend)
    assert same(found, reference(logits, mask[:1].repeat(4, 1)))


@ON_EACH
def test_one_dimension(backend):
    logits, mask = torch.randn(70, device=DEVICE), random_mask(1, 70)
    expected = reference(logits[None], mask)[0]
    xgr.apply_token_bitmask_inplace(logits, mask[0], backend=backend)
    assert same(logits, expected)


@ON_EACH
@pytest.mark.parametrize("dtype", DTYPES)
def test_indices(backend, dtype):
    logits, mask = torch.randn(6, 101).to(dtype).to(DEVICE), random_mask(4, 101)
    choices = [
        [],
        [0],
        [2, 0],
        [3, 3, 1],
        np.array([2, 0]),
        (0, 1, 2, 3),
        torch.tensor([2, 0], dtype=torch.int32),
    ]
    choices += [torch.tensor([3, 1], device=DEVICE), torch.tensor([3, 1], device=DEVICE, dtype=torch.int32)]
    for indices in choices:
        found = logits.clone()
        xgr.apply_token_bitmask_inplace(found, mask, indices=indices, backend=backend)
        assert same(found, reference(logits, mask, rows=[int(index) for index in indices])), indices


@ON_EACH
def test_indices_on_the_gpu_of_rows_that_do_not_exist_are_passed_over(backend):
    logits, mask = torch.randn(6, 100, device=DEVICE), random_mask(4, 100)
    found = logits.clone()
    indices = torch.tensor([2, -1, 4, 5, 6, 2**40, 0, -(2**40)], device=DEVICE)
    kernels.find(backend if backend != "auto" else "triton")(found, mask, None, indices)
    assert same(found, reference(logits, mask, rows=[2, 0]))


@ON_EACH
def test_vocab_size(backend):
    logits, mask = torch.randn(2, 200, device=DEVICE).bfloat16(), random_mask(2, 96)
    for columns in (0, 1, 7, 8, 65, 96):
        found = logits.clone()
        xgr.apply_token_bitmask_inplace(found, mask, vocab_size=columns, backend=backend)
        assert same(found, reference(logits, mask, columns=columns))


@ON_EACH
def test_columns_without_a_bit_are_forbidden_with_a_warning(backend):
    for columns in (65, 71, 72, 100, 5000):
        logits = torch.zeros(2, columns, device=DEVICE).half()
        with pytest.warns(UserWarning, match="64 tokens"):
            xgr.apply_token_bitmask_inplace(
                logits, torch.full((2, 2), -1, dtype=torch.int32, device=DEVICE), backend=backend
            )
        assert (logits[:, :64] == 0).all()
        assert torch.isneginf(logits[:, 64:]).all()


@ON_EACH
def test_nothing_to_do(backend):
    for rows, columns in ((0, 100), (2, 0), (0, 0)):
        logits = torch.zeros(rows, columns, device=DEVICE)
        xgr.apply_token_bitmask_inplace(logits, random_mask(rows, columns), backend=backend)
    wide = torch.zeros(1, 10, device=DEVICE)
    xgr.apply_token_bitmask_inplace(
        wide, torch.zeros(1, 9, dtype=torch.int32, device=DEVICE), backend=backend
    )
    assert torch.isneginf(wide).all()


def refused_cases():
    mask = torch.zeros(2, 1, dtype=torch.int32, device=DEVICE)
    logits = torch.zeros(2, 32, device=DEVICE)
    yield "no floats", logits.int(), mask, {}
    yield "eight bits", logits.to(torch.float8_e4m3fn), mask, {}
    yield "words of 64 bits", logits, mask.long(), {}
    yield "rows that do not fit", logits, mask[:1], {}
    yield "three dimensions", logits[None], mask, {}
    yield "more than there is", logits, mask, {"vocab_size": 33}
    yield "less than nothing", logits, mask, {"vocab_size": -1}
    yield "a row too many", logits, mask, {"indices": [2]}
    yield "a row too few", logits, mask, {"indices": [-1]}
    yield "indices that are none", logits, mask, {"indices": torch.zeros(1, device=DEVICE)}
    yield "one row as two", logits[:1].expand(2, 32), mask, {}
    yield "one logit as many", logits[0, :1].expand(32), mask[:1], {}
    yield "rows that overlap", logits.view(-1)[:40].as_strided((2, 32), (8, 1)), mask, {}


@ON_EACH
@pytest.mark.parametrize(
    ("name", "logits", "mask", "options"),
    list(refused_cases()),
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_refused(backend, name, logits, mask, options):
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own message
        xgr.apply_token_bitmask_inplace(logits, mask, backend=backend, **options)
    assert not torch.isneginf(logits.float()).any(), name


@NEEDS_GPU
@ON_EACH
def test_in_a_graph_and_on_a_stream(backend):
    logits, mask = torch.randn(3, 5000, device=DEVICE).bfloat16(), random_mask(3, 5000)
    work = logits.clone()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        xgr.apply_token_bitmask_inplace(work, mask, backend=backend)
    stream.synchronize()
    assert same(work, reference(logits, mask))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        xgr.apply_token_bitmask_inplace(work, mask, backend=backend)
    for _ in range(3):
        mask.copy_(random_mask(3, 5000))
        work.copy_(logits)
        graph.replay()
        assert same(work, reference(logits, mask))


def test_more_than_a_launch_can_do():
    def rows(count, columns):
        logits = torch.empty(count, columns, dtype=torch.bfloat16, device="meta")
        return device_rows.DeviceRows(logits, None, columns, None)

    assert rows(2**31 - 1, 2048).blocks_of(256) == 1
    with pytest.raises(ValueError, match="too many"):
        rows(2**31 - 1, 2049).blocks_of(256)
    wide = torch.zeros(1).as_strided((1, 2**30 + 1), (1, 0))
    with pytest.raises(ValueError, match="is the most"):
        kernels.find("cuda")(wide, torch.zeros(1, 1, dtype=torch.int32))


@NEEDS_GPU
@ON_EACH
def test_from_another_thread(backend):
    from concurrent.futures import ThreadPoolExecutor

    logits, mask = torch.randn(3, 5000, device=DEVICE), random_mask(3, 5000)
    with ThreadPoolExecutor(4) as pool:
        copies = [logits.clone() for _ in range(32)]
        torch.cuda.synchronize()
        list(pool.map(lambda it: xgr.apply_token_bitmask_inplace(it, mask, backend=backend), copies))
    torch.cuda.synchronize()
    assert all(same(copy, reference(logits, mask)) for copy in copies)


@NEEDS_GPU
@ON_EACH
def test_rows_beyond_the_reach_of_32_bits(backend):
    rows, columns = 17000, 131072  # 2.2e9 logits
    logits = torch.zeros(rows, columns, dtype=torch.float16, device=DEVICE)
    mask = torch.full((rows, columns // 32), -1, dtype=torch.int32, device=DEVICE)
    mask[-1, 5] = 0
    xgr.apply_token_bitmask_inplace(logits, mask, backend=backend)
    forbidden = torch.isneginf(logits[-1]).nonzero().flatten().tolist()
    assert forbidden == list(range(160, 192))
    assert (logits[:-1].view(torch.int16).amin().item(), logits[:-1].view(torch.int16).amax().item()) == (
        0,
        0,
    )


def test_the_cuda_source_compiles():
    """NVRTC needs no GPU: what it refuses is found on any machine that has it."""
    from importlib import resources

    from tokenstile.kernels import cuda, nvrtc

    if torch.version.cuda is None:
        pytest.skip("this build of torch has no CUDA")
    source = (
        resources.files("tokenstile.kernels").joinpath("apply_token_bitmask.cu").read_text(encoding="utf-8")
    )
    for dtype in DTYPES:
        macros = [f"-D{name}={value}" for name, value in cuda.definitions(dtype).items()]
        image = nvrtc.compile_image(source, ["--gpu-architecture=sm_90", "--std=c++17", *macros])
        assert image.startswith(b"\x7fELF")
    with pytest.raises(RuntimeError, match="NVRTC refused"):
        nvrtc.compile_image("this is not C++", ["--gpu-architecture=sm_90"])


@pytest.mark.skipif(IS_INTERPRETED, reason="the interpreter takes tensors of the CPU")
@pytest.mark.parametrize("backend", ["triton", "cuda"])
def test_tensors_of_the_cpu_are_refused(backend):
    with pytest.raises(ValueError, match=r"CPU|cpu"):
        xgr.apply_token_bitmask_inplace(
            torch.zeros(2, 32), torch.zeros(2, 1, dtype=torch.int32), backend=backend
        )
    with pytest.raises(ValueError, match="meta"):
        kernels.find(backend)(torch.zeros(2, 32), torch.zeros(2, 1, dtype=torch.int32, device="meta"))
    with pytest.raises(ValueError, match="torch tensors"):
        xgr.apply_token_bitmask_inplace(np.zeros((2, 32)), np.zeros((2, 1), np.int32), backend=backend)
