"""Matching: which tokens can come next, for one output or for a batch of them.

The functions of `tokenstile.bitmask` are here too, because XGrammar has them in the module of this name.
"""

from __future__ import annotations

from tokenstile import bitmask
from tokenstile._core import BatchGrammarMatcher, Capture, CompiledGrammar, GrammarMatcher
from tokenstile.bitmask import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)

__all__ = [
    "BatchGrammarMatcher",
    "Capture",
    "CompiledGrammar",
    "GrammarMatcher",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",  # noqa: F822 - by `__getattr__`
    "get_bitmask_shape",
    "reset_token_bitmask",
]


def __getattr__(name: str) -> object:
    if name == "bitmask_dtype":
        return bitmask.bitmask_dtype
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
