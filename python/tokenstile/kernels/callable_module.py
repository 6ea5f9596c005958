"""Modules that can be called as the function of their name can.

XGrammar has each kernel in a module of the kernel's name; here `tokenstile.kernels` gives the kernels themselves by
these names. Once such a module is imported its name in the package is the module, so the module does what the kernel
does.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

__all__ = ["CallableModule"]


class CallableModule(ModuleType):
    """A module that has a function of its own name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - those of the kernel
        """Call that function."""
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)
