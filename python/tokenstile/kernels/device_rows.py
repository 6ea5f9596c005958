"""What the kernels for GPUs have in common: which logits they take, and where the rows are.

Both kernels work on groups of 16 bytes, the widest store there is. The bits of a group say which of three things
happens: all set, and the group is not touched; none set, and minus infinity is written without a look at what was
there; else the group is read, changed and written. So the memory that moves is the bitmask and the forbidden logits,
little more. A row may begin anywhere: the elements before its first whole group and after its last are written one by
one. What must be so:

1. The elements of a row lie side by side. Logits that are strided otherwise go by `tokenstile.kernels.torch_native`.
2. No two elements share memory, or a group that is read and written by two would lose a write.
3. Rows that a tensor of indices on the GPU names are not known here, for reading them would wait for the GPU. The
   kernels check them, and pass over those that do not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from tokenstile.exceptions import BitmaskError, InvalidArgumentError
from tokenstile.kernels import torch_native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["GROUP_BYTES", "DeviceRows", "applied_by", "negative_infinity"]

GROUP_BYTES = 16
# What the kernels count in 32 bits: the columns of a row, with room for a block more, and the blocks of a launch.
_MOST_COLUMNS = 1 << 30
_MOST_BLOCKS = (1 << 31) - 1
_ELEMENTS = frozenset({torch.float64, torch.float32, torch.float16, torch.bfloat16})


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """Logits and bitmasks of a batch, checked, with two dimensions each and no gaps in a row."""

    logits: Any
    bitmask: Any
    columns: int
    """The columns to cover."""
    indices: Any
    """None, or the rows to cover: int64 on the GPU."""

    @property
    def count(self) -> int:
        """The number of rows to cover."""
        return int(self.logits.shape[0] if self.indices is None else self.indices.shape[0])

    @property
    def lanes(self) -> int:
        """The elements of a group."""
        return GROUP_BYTES // int(self.logits.element_size())

    def blocks_of(self, groups: int) -> int:
        """Return how many blocks of so many groups cover a row."""
        blocks = -(-self.columns // (groups * self.lanes))
        if self.count * blocks > _MOST_BLOCKS:
            raise BitmaskError(f"{self.count} rows of {self.columns} columns are too many for one launch")
        return blocks

    @property
    def misalignment(self) -> int:
        """The bytes from the last border of a group to the first row."""
        return int(self.logits.data_ptr()) % GROUP_BYTES

    @property
    def is_aligned(self) -> bool:
        """Whether every row begins with a whole group."""
        return self.misalignment == 0 and (
            self.logits.shape[0] == 1 or self.logits.stride(0) % self.lanes == 0
        )


def applied_by(
    launch: Callable[[DeviceRows], None],
    logits: Any,  # noqa: ANN401 - a torch tensor
    bitmask: Any,  # noqa: ANN401 - a torch tensor
    vocab_size: int | None,
    indices: Iterable[int] | None,
) -> None:
    """Check the arguments, and apply ``bitmask`` to ``logits`` by one call of ``launch``."""
    _check(logits, bitmask)
    torch_native.check(logits, bitmask, vocab_size, has_indices=indices is not None)
    matrix = logits if logits.dim() > 1 else logits.unsqueeze(0)
    if matrix.shape[1] > 1 and matrix.stride(1) != 1:
        torch_native.apply_token_bitmask_inplace(logits, bitmask, vocab_size, indices)
        return
    masks = bitmask if bitmask.dim() > 1 else bitmask.unsqueeze(0)
    rows = DeviceRows(
        matrix,
        masks if masks.shape[1] <= 1 or masks.stride(1) == 1 else masks.contiguous(),
        matrix.shape[1] if vocab_size is None else vocab_size,
        None if indices is None else _indices(indices, min(matrix.shape[0], masks.shape[0]), logits.device),
    )
    if rows.count > 0 and rows.columns > 0:
        launch(rows)


@cache
def negative_infinity(dtype: Any) -> int:  # noqa: ANN401 - a torch dtype
    """Return the bits of minus infinity."""
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    bits = torch.tensor(float("-inf"), dtype=dtype).view(integer).item()
    return int(bits % (1 << (8 * dtype.itemsize)))


def _check(logits: Any, bitmask: Any) -> None:  # noqa: ANN401 - torch tensors
    for name, array in (("logits", logits), ("bitmask", bitmask)):
        if not isinstance(array, torch.Tensor):
            raise BitmaskError(
                f"this kernel takes torch tensors, and the {name} are a {type(array).__name__}"
            )
    if logits.device != bitmask.device:
        raise InvalidArgumentError(f"logits are on {logits.device}, and the bitmask is on {bitmask.device}")
    if logits.dim() > 0 and logits.shape[-1] > _MOST_COLUMNS:
        raise BitmaskError(f"the logits have {logits.shape[-1]} columns; {_MOST_COLUMNS} is the most")
    if logits.is_floating_point() and logits.dtype not in _ELEMENTS:
        names = ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in _ELEMENTS))
        raise BitmaskError(f"the elements of the logits must be {names}, not {logits.dtype}")
    matrix = logits if logits.dim() != 1 else logits.unsqueeze(0)
    if matrix.dim() == 2 and _overlaps(matrix):  # noqa: PLR2004 - rows and columns
        raise BitmaskError("elements of the logits share memory: an expanded tensor must be copied first")


def _overlaps(logits: Any) -> bool:  # noqa: ANN401 - a torch tensor
    """Return whether two elements might be the same memory; strides of torch are never negative."""
    (rows, columns), (row_stride, column_stride) = logits.shape, logits.stride()
    if rows <= 1 or columns == 0:
        return bool(columns > 1 and column_stride == 0)
    if columns == 1:
        return bool(row_stride == 0)
    apart = row_stride > (columns - 1) * column_stride or column_stride > (rows - 1) * row_stride
    return not (apart and row_stride > 0 and column_stride > 0)


def _indices(indices: Any, rows: int, device: Any) -> Any:  # noqa: ANN401 - torch is not typed
    """Return the indices on the device, checked if they can be read without waiting for it."""
    if isinstance(indices, torch.Tensor) and indices.device == device:
        if indices.dim() != 1 or indices.is_floating_point() or indices.dtype == torch.bool:
            raise InvalidArgumentError("indices must be integers in one dimension")
        return indices.to(torch.int64).contiguous()
    numbers = [int(index) for index in indices]
    for number in numbers:
        if not 0 <= number < rows:
            raise InvalidArgumentError(
                f"there is no row {number}: the logits and the bitmask have {rows} in common"
            )
    host = torch.tensor(numbers, dtype=torch.int64)
    return host.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else host.to(device)
