"""The kernel in Triton, for GPUs: one launch for a batch, whatever the rows look like.

`tokenstile.kernels.device_rows` says what a group is and why. A program does some groups of one row. A group is two
numbers of 64 bits, which Triton makes one store of 16 bytes because both hang on the same condition: the condition is
that of the whole group, on purpose.

PERF: measured on an H200, see docs/gpu.md. With stores of 8 bytes it takes 1.7 times as long, with one for each logit
(what a plain ``tl.store`` with a mask of its own for each element compiles to) five times.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import torch
import triton
import triton.language as tl

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.kernels import device_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenstile.kernels.device_rows import DeviceRows

__all__ = ["apply_token_bitmask_inplace"]

_HALF_BITS: Final = 64
_GROUPS: Final = 256
_WARPS: Final = 4


def apply_token_bitmask_inplace(
    logits: Any,  # noqa: ANN401 - a torch tensor
    bitmask: Any,  # noqa: ANN401 - a torch tensor
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
) -> None:
    """Apply ``bitmask`` to ``logits``."""
    device_rows.applied_by(_launch, logits, bitmask, vocab_size, indices)


def _launch(rows: DeviceRows) -> None:
    # Triton's interpreter, which the tests use where there is no GPU, takes tensors of the CPU.
    if rows.logits.device.type == "cpu" and isinstance(_apply, triton.JITFunction):
        raise InvalidArgumentError("the kernel 'triton' is for GPUs, and the logits are on the CPU")
    blocks = triton.cdiv(triton.cdiv(rows.columns, rows.lanes), _GROUPS)
    with _on(rows.logits.device):
        _apply[(rows.count * blocks,)](
            rows.logits,
            rows.bitmask,
            rows.bitmask if rows.indices is None else rows.indices,
            rows.logits.shape[0],
            rows.bitmask.shape[0],
            rows.columns,
            rows.bitmask.shape[1] * 4,
            rows.logits.stride(0),
            rows.bitmask.stride(0) * 4,
            rows.misalignment,
            blocks,
            HAS_INDICES=rows.indices is not None,
            IS_ALIGNED=rows.is_aligned,
            HAS_EDGES=not (rows.is_aligned and rows.columns % rows.lanes == 0),
            GROUPS=_GROUPS,
            **_constants(rows.logits.dtype),
            num_warps=_WARPS,
        )


def _on(device: Any) -> Any:  # noqa: ANN401 - a device of torch, a context manager
    """Return the context in which Triton launches on ``device``."""
    is_other = device.type == "cuda" and device.index != torch.cuda.current_device()
    return torch.cuda.device(device) if is_other else nullcontext()


@cache
def _constants(dtype: Any) -> dict[str, int]:  # noqa: ANN401 - a torch dtype
    """Return the numbers by which the bits of half a group become the half that keeps their elements.

    Multiplying by ``SPREAD`` puts copies of the bits side by side so that bit ``i`` comes to lie at the lowest place of
    element ``i``, ``LOWEST`` has these places alone, and multiplying by ``ELEMENT`` fills the elements.
    """
    bits = 8 * dtype.itemsize
    lanes = _HALF_BITS // bits
    return {
        "SIZE": dtype.itemsize,
        "SPREAD": sum(1 << ((bits - 1) * lane) for lane in range(lanes)),
        "LOWEST": sum(1 << (bits * lane) for lane in range(lanes)),
        "ELEMENT": _signed((1 << bits) - 1),
        "FORBIDDEN": _signed(sum(device_rows.negative_infinity(dtype) << (bits * lane) for lane in range(lanes))),
    }


def _signed(value: int) -> int:
    """Return the number of 64 bits that Triton writes ``value`` as."""
    return value - (1 << _HALF_BITS) if value >> (_HALF_BITS - 1) else value


@triton.jit
def _bits(bitmask, bitmask_bytes, first, is_inside, IS_ALIGNED: tl.constexpr, LANES: tl.constexpr):
    """The bits of the groups that begin at the columns ``first``; columns that the bitmask has no bit for have zero."""
    ALL: tl.constexpr = (1 << LANES) - 1
    at = first >> 3
    bits = tl.load(bitmask + at, mask=is_inside & (at < bitmask_bytes), other=0).to(tl.int32)
    if not IS_ALIGNED:
        next_byte = tl.load(bitmask + at + 1, mask=is_inside & (at + 1 < bitmask_bytes), other=0).to(tl.int32)
        bits |= next_byte << 8
    return tl.where(is_inside, (bits >> (first & 7)) & ALL, ALL)


@triton.jit
def _apply_edges(logits, bitmask, bitmask_bytes, columns, head, LANES: tl.constexpr):
    """Write the elements before the first whole group of a row and after the last, one by one."""
    lane = tl.arange(0, 2 * LANES)
    tail = columns - (columns - head) % LANES
    column = tl.where(lane < LANES, lane, tail + lane - LANES)
    is_edge = tl.where(lane < LANES, lane < head, column < columns)
    at = column >> 3
    byte = tl.load(bitmask + at, mask=is_edge & (at < bitmask_bytes), other=0).to(tl.int32)
    tl.store(logits + column, float("-inf"), mask=is_edge & ((byte >> (column & 7)) & 1 == 0))


@triton.jit
def _apply(
    logits,
    bitmask,
    indices,
    logits_rows,
    bitmask_rows,
    columns,
    bitmask_bytes,
    logits_stride,
    bitmask_stride,
    misalignment,
    blocks,
    HAS_INDICES: tl.constexpr,
    IS_ALIGNED: tl.constexpr,
    HAS_EDGES: tl.constexpr,
    GROUPS: tl.constexpr,
    SIZE: tl.constexpr,
    SPREAD: tl.constexpr,
    LOWEST: tl.constexpr,
    ELEMENT: tl.constexpr,
    FORBIDDEN: tl.constexpr,
):
    LANES: tl.constexpr = 16 // SIZE
    HALF: tl.constexpr = LANES // 2
    ALL: tl.constexpr = (1 << LANES) - 1
    block = tl.program_id(0) % blocks
    row = (tl.program_id(0) // blocks).to(tl.int64)
    if HAS_INDICES:
        row = tl.load(indices + row)
        if (row < 0) | (row >= logits_rows) | (row >= bitmask_rows):
            return
    logits += row * logits_stride
    bitmask = bitmask.to(tl.pointer_type(tl.uint8), bitcast=True) + row * bitmask_stride
    head = 0
    if not IS_ALIGNED:
        start = misalignment + row * logits_stride * SIZE
        head = tl.minimum(((16 - start % 16) % 16 // SIZE).to(tl.int32), columns)
    group = block * GROUPS + tl.arange(0, GROUPS)
    first = head + group * LANES
    bits = _bits(bitmask, bitmask_bytes, first, first + LANES <= columns, IS_ALIGNED, LANES)

    half = tl.arange(0, 2)[None, :]
    bits = tl.broadcast_to(bits[:, None], (GROUPS, 2))
    allowed = ((bits >> (half * HALF)) & ((1 << HALF) - 1)).to(tl.int64)
    keep = ((allowed * SPREAD) & LOWEST) * ELEMENT
    halves = (logits + head).to(tl.pointer_type(tl.int64), bitcast=True) + group[:, None] * 2 + half
    halves = tl.multiple_of(halves, (8, 16))
    before = tl.load(halves, mask=(bits != 0) & (bits != ALL), other=0)
    tl.store(halves, (before & keep) | (FORBIDDEN & ~keep), mask=bits != ALL)
    if HAS_EDGES:
        if block == 0:
            _apply_edges(logits, bitmask, bitmask_bytes, columns, head, LANES)
