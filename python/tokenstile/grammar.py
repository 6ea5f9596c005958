"""Grammars: text in, a checked grammar out, without a vocabulary."""

from tokenstile._core import Grammar

__all__ = ["Grammar"]
