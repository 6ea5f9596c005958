"""Grammars: text in, a checked grammar out, without a vocabulary.

XGrammar's module of this name also has the structural tags' classes, so they can be imported from here. They need
Pydantic, and are loaded when somebody asks for them. The helpers that XGrammar's callers import from it in spite of
their underscore are in `tokenstile.grammar_arguments`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tokenstile import _core
from tokenstile._core import Grammar
from tokenstile.base import XGRObject
from tokenstile.grammar_arguments import (
    _convert_instance_to_str,
    _convert_named_grammars_to_lists,
    _get_structural_tag_str_from_args,
)
from tokenstile.json_schema import schema_text as _convert_schema_to_str

if TYPE_CHECKING:
    from tokenstile.structural_tag import StructuralTag, StructuralTagItem

__all__ = [
    "Grammar",
    "StructuralTag",
    "StructuralTagItem",
    "XGRObject",
    "_convert_instance_to_str",
    "_convert_named_grammars_to_lists",
    "_convert_schema_to_str",
    "_core",
    "_get_structural_tag_str_from_args",
]


def __getattr__(name: str) -> object:
    if name in {"StructuralTag", "StructuralTagItem"}:
        return getattr(import_module("tokenstile.structural_tag"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
