"""The kernel of plain torch operations, for any device that torch knows.

The words of the mask are spread to booleans by shifts, and the forbidden logits are filled. It takes memory for one
boolean a logit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tokenstile.exceptions import BitmaskError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["apply_token_bitmask_inplace", "check", "forbidden"]

_WORD_BITS = 32


def apply_token_bitmask_inplace(
    logits: Any,  # noqa: ANN401 - a torch tensor
    bitmask: Any,  # noqa: ANN401 - a torch tensor
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
) -> None:
    """Apply ``bitmask`` to ``logits``."""
    check(logits, bitmask, vocab_size, has_indices=indices is not None)
    rows = logits if logits.dim() > 1 else logits.unsqueeze(0)
    masks = bitmask if bitmask.dim() > 1 else bitmask.unsqueeze(0)
    columns = logits.shape[-1] if vocab_size is None else vocab_size
    if indices is None:
        rows[:, :columns].masked_fill_(forbidden(masks, columns), float("-inf"))
        return
    chosen = torch.as_tensor(indices, dtype=torch.int64, device=logits.device)
    part = rows[chosen, :columns]
    rows[chosen, :columns] = part.masked_fill(forbidden(masks[chosen], columns), float("-inf"))


def forbidden(masks: Any, columns: int) -> Any:  # noqa: ANN401 - torch tensors
    """Return which of the first ``columns`` tokens each row of ``masks`` forbids."""
    bits = torch.arange(_WORD_BITS, device=masks.device, dtype=torch.int32)
    spread = (torch.bitwise_right_shift(masks.unsqueeze(-1), bits) & 1) == 0
    spread = spread.reshape(masks.shape[0], -1)[:, :columns]
    missing = columns - spread.shape[1]
    return torch.nn.functional.pad(spread, (0, missing), value=True) if missing > 0 else spread


def check(logits: Any, bitmask: Any, vocab_size: int | None, *, has_indices: bool) -> None:  # noqa: ANN401
    """Refuse tensors that do not fit each other."""
    if bitmask.dtype != torch.int32:
        raise BitmaskError(f"the elements of the bitmask must be int32, not {bitmask.dtype}")
    if not logits.is_floating_point():
        raise BitmaskError(f"the logits must be floating point, not {logits.dtype}")
    if logits.dim() not in (1, 2) or bitmask.dim() not in (1, 2):
        raise BitmaskError("the logits and the bitmask must have one or two dimensions")
    row_counts = [array.shape[0] if array.dim() > 1 else 1 for array in (logits, bitmask)]
    if row_counts[0] != row_counts[1] and not has_indices:
        raise BitmaskError(f"the logits have {row_counts[0]} rows, and the bitmask has {row_counts[1]}")
    if vocab_size is not None and vocab_size > min(logits.shape[-1], bitmask.shape[-1] * _WORD_BITS):
        raise BitmaskError(f"vocab_size is {vocab_size}, more than the logits or the bitmask have")
