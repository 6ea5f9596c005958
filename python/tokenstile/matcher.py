"""Matching: which tokens can come next, for one output or for a batch of them.

The functions of `tokenstile.bitmask` are here too, because XGrammar has them in the module of this name.
"""

from __future__ import annotations

from tokenstile import _core, bitmask
from tokenstile._core import BatchGrammarMatcher, Capture, CompiledGrammar, GrammarMatcher
from tokenstile.base import XGRObject
from tokenstile.bitmask import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)

__all__ = [
    "_FULL_MASK",  # noqa: F822 - by `__getattr__`
    "BatchGrammarMatcher",
    "Capture",
    "CompiledGrammar",
    "GrammarMatcher",
    "XGRObject",
    "_core",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",  # noqa: F822 - by `__getattr__`
    "get_bitmask_shape",
    "reset_token_bitmask",
]


def __getattr__(name: str) -> object:
    if name == "bitmask_dtype":
        return bitmask.bitmask_dtype
    if name == "_FULL_MASK":
        return bitmask.allocate_token_bitmask(1, 1)[0, 0]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
