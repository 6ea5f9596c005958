"""Kernels that apply bitmasks to logits: one file a backend, one signature.

A kernel is called as ``kernel(logits, bitmask, vocab_size, indices)`` and writes minus infinity over the logits that
the bitmask forbids. `tokenstile.apply_token_bitmask_inplace` chooses one and explains the arguments.
`apply_token_bitmask_mlx` is another matter: arrays of MLX do not change, so it gives new ones back.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Kernel", "automatic", "find"]

# The modules are imported when they are used: some need torch.
_MODULES: Final = {
    "cpu": "tokenstile.kernels.cpu",
    "torch_native": "tokenstile.kernels.torch_native",
    "torch_compile": "tokenstile.kernels.torch_compile",
    "triton": "tokenstile.kernels.triton",
    "cuda": "tokenstile.kernels.cuda",
}


class Kernel(Protocol):
    """What a backend is."""

    def __call__(
        self,
        logits: Any,  # noqa: ANN401 - any array
        bitmask: Any,  # noqa: ANN401 - any array
        vocab_size: int | None = None,
        indices: Iterable[int] | None = None,
    ) -> None:
        """Apply ``bitmask`` to ``logits``."""


def find(backend: str) -> Kernel:
    """Return the kernel of that name."""
    if not isinstance(backend, str) or backend not in _MODULES:
        names = ", ".join(sorted(_MODULES))
        raise InvalidArgumentError(f"unknown backend {backend!r}; there are: auto, {names}")
    try:
        kernel: Kernel = import_module(_MODULES[backend]).apply_token_bitmask_inplace
    except ImportError as error:
        raise ImportError(
            f"the kernel {backend!r} needs {error.name}: pip install 'tokenstile[torch]'", name=error.name
        ) from error
    return kernel


def automatic(device: str) -> str:
    """Return the name of the fastest kernel for arrays on a device, which is "cpu" or one of torch's."""
    if device == "cpu":
        return "cpu"
    return _automatic_for_gpus() if device.startswith("cuda") else "torch_native"


@cache
def _automatic_for_gpus() -> str:
    if find_spec("triton") is not None:
        return "triton"
    return "cuda" if sys.modules["torch"].version.cuda else "torch_native"


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the kernel for MLX has arguments of its own
    """Give the kernels by XGrammar's names: ``apply_token_bitmask_inplace_cpu`` and so on."""
    if name == "apply_token_bitmask_mlx":
        return import_module(f"{__name__}.{name}").apply_token_bitmask_mlx
    backend = {"torch": "torch_native"}.get(
        suffix := name.removeprefix("apply_token_bitmask_inplace_"), suffix
    )
    if suffix == name or backend not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return find(backend)
