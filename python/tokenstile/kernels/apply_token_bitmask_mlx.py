"""The kernel for MLX, Apple's library of arrays.

MLX's arrays do not change, so this one gives new logits back; for the same reason it is not among the backends of
`tokenstile.apply_token_bitmask_inplace`. Name, module and arguments are XGrammar's. It runs wherever MLX does: on the
GPU of a Mac, and on processors under Linux, which is where its tests run.
"""

from __future__ import annotations

import sys
from typing import Any

try:
    import mlx.core as mx
except ImportError as error:
    raise ImportError("the kernel for MLX needs mlx: pip install 'tokenstile[mlx]'", name="mlx") from error

from tokenstile.exceptions import BitmaskError, InvalidArgumentError
from tokenstile.kernels.callable_module import CallableModule

__all__ = ["apply_token_bitmask_mlx"]

_WORD_BITS = 32


def apply_token_bitmask_mlx(bitmask: Any, logits: Any, vocab_size: int) -> Any:  # noqa: ANN401 - arrays of MLX
    """Return the first ``vocab_size`` logits, those of forbidden tokens being minus infinity.

    ``bitmask`` is an array of int32, of shape ``(batch, words)`` or ``(words,)``, as `GrammarMatcher` fills it; a numpy
    array is copied. ``logits`` have a column for each token.
    """
    masks, rows = mx.array(bitmask), mx.array(logits)
    _check(masks, rows, vocab_size)
    return _masked(masks.view(mx.uint32), rows[..., :vocab_size])


def _check(masks: Any, rows: Any, vocab_size: int) -> None:  # noqa: ANN401 - arrays of MLX
    if isinstance(vocab_size, bool) or not isinstance(vocab_size, int):
        raise InvalidArgumentError(f"vocab_size must be an int, not {type(vocab_size).__name__}")
    if masks.dtype not in (mx.int32, mx.uint32):
        raise BitmaskError(f"the elements of the bitmask must be int32, not {masks.dtype}")
    if not mx.issubdtype(rows.dtype, mx.floating):
        raise BitmaskError(f"the logits must be floating point, not {rows.dtype}")
    if masks.ndim not in (1, 2) or masks.shape[:-1] != rows.shape[:-1]:
        raise BitmaskError(
            f"the bitmask has the shape {masks.shape}, and the logits have {rows.shape}: the rows differ"
        )
    if not 0 <= vocab_size <= min(rows.shape[-1], masks.shape[-1] * _WORD_BITS):
        raise BitmaskError(f"vocab_size is {vocab_size}, more than the logits or the bitmask have")


def _mask(words: Any, rows: Any) -> Any:  # noqa: ANN401 - arrays of MLX
    bits = mx.right_shift(mx.expand_dims(words, -1), mx.arange(_WORD_BITS, dtype=mx.uint32))
    allowed = mx.bitwise_and(bits, mx.array(1, dtype=mx.uint32)).astype(mx.bool_).flatten(-2)
    return mx.where(allowed[..., : rows.shape[-1]], rows, mx.array(float("-inf"), dtype=rows.dtype))


_masked = mx.compile(_mask)
sys.modules[__name__].__class__ = CallableModule
