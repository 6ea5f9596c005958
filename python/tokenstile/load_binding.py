"""Loads the compiled part, as XGrammar's module of this name does; `tokenstile` has done so already."""

from tokenstile import _core

LIB = _core

__all__ = ["LIB", "_core"]
