"""The kernel of `tokenstile.kernels.torch_native`, compiled by torch, which fuses it into one pass."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from tokenstile.kernels import torch_native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["apply_token_bitmask_inplace"]


@cache
def _compiled() -> Callable[..., None]:
    compiled: Callable[..., None] = torch.compile(torch_native.apply_token_bitmask_inplace, dynamic=True)
    return compiled


def apply_token_bitmask_inplace(
    logits: Any,  # noqa: ANN401 - a torch tensor
    bitmask: Any,  # noqa: ANN401 - a torch tensor
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
) -> None:
    """Apply ``bitmask`` to ``logits``."""
    chosen = None if indices is None else torch.as_tensor(indices, dtype=torch.int64, device=logits.device)
    _compiled()(logits, bitmask, vocab_size, chosen)
