"""Bitmasks: arrays of int32 with one bit for each token, and one row for each output.

Bit ``t % 32`` of word ``t // 32`` of a row is set if token ``t`` may come next. With torch installed a bitmask is a
torch tensor, as in XGrammar; without it, a numpy array. Torch is found without being imported, and imported when the
first bitmask is allocated.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from typing import TYPE_CHECKING, Any, Literal

from tokenstile import kernels
from tokenstile._arguments import whole_number
from tokenstile.exceptions import BitmaskError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",  # noqa: F822 - by `__getattr__`
    "get_bitmask_shape",
    "reset_token_bitmask",
]

Backend = Literal["auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"]

_WORD_BITS = 32


def _torch_is_installed() -> bool:
    if "torch" in sys.modules:
        return True
    # A folder that happens to be called torch is found too, as a namespace without an origin.
    spec = importlib.util.find_spec("torch")
    return spec is not None and spec.origin is not None


def __getattr__(name: str) -> object:
    """Give ``bitmask_dtype``: int32, of torch where that is installed."""
    if name != "bitmask_dtype":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _torch_is_installed():
        import torch  # noqa: PLC0415 - only when asked for

        return torch.int32
    import numpy as np  # noqa: PLC0415 - only when asked for

    return np.dtype(np.int32)


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    """Return the shape of a bitmask: a row for each output, a word for each 32 tokens."""
    rows, columns = whole_number("batch_size", batch_size), whole_number("vocab_size", vocab_size)
    return rows, (columns + _WORD_BITS - 1) // _WORD_BITS


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:  # noqa: ANN401 - torch is optional
    """Make a bitmask that allows everything: a torch tensor on the CPU, or a numpy array if torch is not installed."""
    shape = get_bitmask_shape(batch_size, vocab_size)
    if _torch_is_installed():
        import torch  # noqa: PLC0415 - only when asked for

        return torch.full(shape, -1, dtype=torch.int32)
    import numpy as np  # noqa: PLC0415 - only when asked for

    return np.full(shape, -1, dtype=np.int32)


def reset_token_bitmask(bitmask: Any) -> None:  # noqa: ANN401 - any array
    """Let a bitmask allow everything again."""
    if hasattr(bitmask, "fill_"):
        bitmask.fill_(-1)
        return
    import numpy as np  # noqa: PLC0415 - only when used

    array = np.asarray(bitmask)
    if not np.shares_memory(array, bitmask):
        raise BitmaskError("the bitmask's memory is not to be written from here")
    array.view(np.int32)[...] = -1


def apply_token_bitmask_inplace(
    logits: Any,  # noqa: ANN401 - any array
    bitmask: Any,  # noqa: ANN401 - any array
    *,
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
    backend: Backend = "auto",
) -> None:
    """Write minus infinity over the logits of the tokens that the bitmask forbids.

    Logits are float32, float16 or bfloat16 (on a GPU float64 too), of one or two dimensions and any strides.
    ``indices`` chooses rows, of the logits and of the bitmask alike; their numbers of rows may then differ. Where they
    are a tensor on a GPU, rows that do not exist are passed over. ``vocab_size`` restricts the work to the
    first columns. Without it, all columns are covered, and columns that the bitmask has no bit for are forbidden, with
    a warning: XGrammar leaves them as they are, so that a model can choose them.

    ``backend`` "auto" is "cpu" for arrays in the memory of the CPU, "triton" on a GPU where Triton is installed and
    "cuda" where it is not, and "torch_native" on other devices. On a GPU nothing waits: the work goes on the current
    stream.
    """
    for name, array in (("logits", logits), ("bitmask", bitmask)):
        if not getattr(array, "shape", ()):
            raise BitmaskError(
                f"{name} must be an array of one or two dimensions, not {type(array).__name__}"
            )
    devices = _device_of(logits), _device_of(bitmask)
    if devices[0] != devices[1]:
        raise InvalidArgumentError(f"logits are on {devices[0]}, and the bitmask is on {devices[1]}")
    if vocab_size is not None and whole_number("vocab_size", vocab_size) < 0:
        raise InvalidArgumentError(f"vocab_size must not be negative, not {vocab_size}")
    if vocab_size is None and logits.shape[-1] > bitmask.shape[-1] * _WORD_BITS:
        warnings.warn(
            f"the bitmask has bits for {bitmask.shape[-1] * _WORD_BITS} tokens, and the logits have "
            f"{logits.shape[-1]} columns: the others are forbidden",
            stacklevel=2,
        )
    name = kernels.automatic(devices[0]) if backend == "auto" else backend
    kernels.find(name)(logits, bitmask, vocab_size, indices)


def _device_of(array: Any) -> str:  # noqa: ANN401 - any array
    """Return the device of a torch tensor, and "cpu" for anything else."""
    torch = sys.modules.get("torch")
    return str(array.device) if torch is not None and isinstance(array, torch.Tensor) else "cpu"
