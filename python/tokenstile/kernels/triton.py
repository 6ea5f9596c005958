"""The kernel in Triton, for GPUs: one launch for a batch, whatever the rows look like.

What runs on the GPU is in `tokenstile.kernels.triton_program`.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import torch
import triton

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.kernels import device_rows
from tokenstile.kernels.triton_program import apply

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
    if rows.logits.device.type in {"cpu", "meta"} and isinstance(apply, triton.JITFunction):
        raise InvalidArgumentError(
            f"the kernel 'triton' is for GPUs, and the logits are on {rows.logits.device}"
        )
    blocks = rows.blocks_of(_GROUPS)
    with _on(rows.logits.device):
        apply[(rows.count * blocks,)](
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
        "FORBIDDEN": _signed(
            sum(device_rows.negative_infinity(dtype) << (bits * lane) for lane in range(lanes))
        ),
    }


def _signed(value: int) -> int:
    """Return the number of 64 bits that Triton writes ``value`` as."""
    return value - (1 << _HALF_BITS) if value >> (_HALF_BITS - 1) else value
