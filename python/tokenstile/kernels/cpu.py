"""The kernel for arrays in the memory of the CPU: numpy, torch, the buffer protocol, DLPack."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tokenstile._arguments import whole_number, whole_numbers
from tokenstile._core import apply_token_bitmask_inplace_cpu
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["apply_token_bitmask_inplace"]


def apply_token_bitmask_inplace(
    logits: Any,  # noqa: ANN401 - any array
    bitmask: Any,  # noqa: ANN401 - any array
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
) -> None:
    """Apply ``bitmask`` to ``logits``."""
    rows = None if indices is None else whole_numbers("indices", indices)
    columns = None if vocab_size is None else whole_number("vocab_size", vocab_size)
    if columns is not None and not 0 <= columns <= sys.maxsize:
        raise InvalidArgumentError(f"vocab_size must be between 0 and {sys.maxsize}, not {columns}")
    apply_token_bitmask_inplace_cpu(logits, bitmask, columns, rows)
