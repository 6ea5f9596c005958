"""The kernel ``cuda``, where XGrammar has its own of this name, which takes no ``vocab_size``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tokenstile.kernels import find
from tokenstile.kernels.callable_module import CallableModule

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["apply_token_bitmask_inplace_cuda"]


def apply_token_bitmask_inplace_cuda(
    logits: Any,  # noqa: ANN401 - a torch tensor
    bitmask: Any,  # noqa: ANN401 - a torch tensor
    indices: Iterable[int] | None = None,
) -> None:
    """Apply ``bitmask`` to ``logits``."""
    find("cuda")(logits, bitmask, None, indices)


sys.modules[__name__].__class__ = CallableModule
