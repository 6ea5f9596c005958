# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# ruff: noqa: ANN001, ANN201, ANN202, N803, N806, PLR0917, SIM102 - Triton has its own types, and its own if

"""What the Triton kernel does on the GPU.

`tokenstile.kernels.device_rows` says what a group is and why. A program does some groups of one row. A group is two
numbers of 64 bits, which Triton makes one store of 16 bytes because both hang on the same condition: that of the whole
group, on purpose. It does so only where it sees that the address is a multiple of 16, hence the hint.

PERF: measured on an H200, 256 rows of 128,256 logits in bfloat16 with few allowed: 21 us in groups of 16 bytes, 34 us
in groups of 8, 111 us with a condition for each logit, which makes a store of each. Filling all logits takes 21 us.
"""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["apply"]


@triton.jit
def _bits(bitmask, bitmask_bytes, first, is_inside, IS_ALIGNED: tl.constexpr, LANES: tl.constexpr):
    """Return the bits of the groups that begin at ``first``; columns that the bitmask has no bit for have zero."""
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
def apply(
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
    """Apply the bitmask to some groups of a row; the first program of a row does its edges too."""
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
