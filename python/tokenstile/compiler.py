"""Compiling: a grammar and a tokenizer in, a grammar that matchers can follow out.

Compiling is lazy: it checks the grammar and lays out its machine, and leaves the tables to be filled while they are
used. They are shared by all matchers of the grammar.

What a compiler takes can be imported from here too, because XGrammar's module of this name has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile import _core, grammar
from tokenstile._core import CancelToken, CompiledGrammar, Grammar, GrammarCompiler
from tokenstile.base import XGRObject
from tokenstile.grammar_arguments import _convert_named_grammars_to_lists, _get_structural_tag_str_from_args
from tokenstile.json_schema import schema_text as _convert_schema_to_str
from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from tokenstile.structural_tag import StructuralTag, StructuralTagItem

__all__ = [
    "CancelToken",
    "CompiledGrammar",
    "Grammar",
    "GrammarCompiler",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "XGRObject",
    "_convert_named_grammars_to_lists",
    "_convert_schema_to_str",
    "_core",
    "_get_structural_tag_str_from_args",
]


def __getattr__(name: str) -> object:
    if name in {"StructuralTag", "StructuralTagItem"}:
        return getattr(grammar, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
