"""Kernels that apply bitmasks to logits: one file a backend, one signature.

A kernel is called as ``kernel(logits, bitmask, vocab_size, indices)`` and writes minus infinity over the logits that
the bitmask forbids. `tokenstile.apply_token_bitmask_inplace` chooses one and explains the arguments.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Kernel", "find"]

# The modules are imported when they are used: some need torch.
_MODULES: Final = {
    "cpu": "tokenstile.kernels.cpu",
    "torch_native": "tokenstile.kernels.torch_native",
    "torch_compile": "tokenstile.kernels.torch_compile",
}
# Names that XGrammar has, for kernels that this release does not.
_ABSENT: Final = frozenset({"cuda", "triton"})


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
    if backend in _ABSENT:
        raise NotImplementedError(f"this release has no {backend!r} kernel; leave backend at 'auto'")
    if backend not in _MODULES:
        names = ", ".join(sorted(_MODULES))
        raise InvalidArgumentError(f"unknown backend {backend!r}; there are: auto, {names}")
    kernel: Kernel = import_module(_MODULES[backend]).apply_token_bitmask_inplace
    return kernel


def __getattr__(name: str) -> Kernel:
    """Give the kernels by XGrammar's names: ``apply_token_bitmask_inplace_cpu`` and so on."""
    backend = {"torch": "torch_native"}.get(
        suffix := name.removeprefix("apply_token_bitmask_inplace_"), suffix
    )
    if suffix == name or backend not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return find(backend)
