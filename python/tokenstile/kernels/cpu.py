"""The kernel for arrays in the memory of the CPU: numpy, torch, the buffer protocol, DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile._core import apply_token_bitmask_inplace_cpu

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
    rows = None if indices is None else [int(index) for index in indices]
    apply_token_bitmask_inplace_cpu(logits, bitmask, vocab_size, rows)
