"""The kernel in CUDA C++, for NVIDIA's GPUs: `apply_token_bitmask.cu`, compiled by NVRTC at its first use.

It does what the Triton kernel does, and needs no Triton and no compiler on the machine. Compiling takes some tenths of
a second for each type of element and device, once in a process.

PERF: `auto` takes it only where Triton is missing, because it is a little slower: on an H200 with 64 rows of 128,000
logits and few tokens allowed it needs 1.56 times what the bandwidth of the memory would allow, and Triton 1.46. Figures
and the command are in `docs/gpu.md`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import torch

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.kernels import device_rows, nvrtc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenstile.kernels.device_rows import DeviceRows

__all__ = ["apply_token_bitmask_inplace"]

_THREADS: Final = 128
_GROUPS_PER_THREAD: Final = 2
_ELEMENTS: Final = {2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


class _Rows(ctypes.Structure):
    """The argument of the kernel, as `apply_token_bitmask.cu` declares it."""

    _fields_ = (
        ("logits", ctypes.c_void_p),
        ("bitmask", ctypes.c_void_p),
        ("indices", ctypes.c_void_p),
        ("logits_stride", ctypes.c_int64),
        ("bitmask_stride", ctypes.c_int64),
        ("logits_rows", ctypes.c_int64),
        ("bitmask_rows", ctypes.c_int64),
        ("columns", ctypes.c_int32),
        ("bitmask_bytes", ctypes.c_int32),
        ("blocks", ctypes.c_int32),
    )


def apply_token_bitmask_inplace(
    logits: Any,  # noqa: ANN401 - a torch tensor
    bitmask: Any,  # noqa: ANN401 - a torch tensor
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
) -> None:
    """Apply ``bitmask`` to ``logits``."""
    device_rows.applied_by(_launch, logits, bitmask, vocab_size, indices)


def _launch(rows: DeviceRows) -> None:
    device = rows.logits.device
    if device.type != "cuda" or torch.version.hip is not None:
        raise InvalidArgumentError(f"the kernel 'cuda' is for NVIDIA's GPUs, and the logits are on {device}")
    blocks = rows.blocks_of(_GROUPS_PER_THREAD * _THREADS)
    argument = _Rows(
        logits=rows.logits.data_ptr(),
        bitmask=rows.bitmask.data_ptr(),
        indices=None if rows.indices is None else rows.indices.data_ptr(),
        logits_stride=rows.logits.stride(0) * rows.logits.element_size(),
        bitmask_stride=rows.bitmask.stride(0) * 4,
        logits_rows=rows.logits.shape[0],
        bitmask_rows=rows.bitmask.shape[0],
        columns=rows.columns,
        bitmask_bytes=rows.bitmask.shape[1] * 4,
        blocks=blocks,
    )
    stream = torch.cuda.current_stream(device).cuda_stream
    _function(rows.logits.dtype, device.index).launch(rows.count * blocks, _THREADS, stream, argument)


@cache
def _function(dtype: Any, device: int) -> nvrtc.Function:  # noqa: ANN401 - a torch dtype
    source = (
        resources.files("tokenstile.kernels").joinpath("apply_token_bitmask.cu").read_text(encoding="utf-8")
    )
    return nvrtc.compile_function(source, "apply_token_bitmask", device, definitions(dtype))


def definitions(dtype: Any) -> dict[str, str]:  # noqa: ANN401 - a torch dtype
    """Return the macros that make the source a kernel for logits of this type."""
    return {
        "ELEMENT": _ELEMENTS[dtype.itemsize],
        "NEGATIVE_INFINITY": f"{device_rows.negative_infinity(dtype):#x}u",
        "THREADS": str(_THREADS),
        "GROUPS_PER_THREAD": str(_GROUPS_PER_THREAD),
    }
