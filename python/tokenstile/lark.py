"""Lark texts as EBNF, for those who want to see or keep the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile._core import Grammar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["lark_to_ebnf"]


def lark_to_ebnf(
    lark_string: str,
    *,
    tokenizer_info: TokenizerInfo | None = None,
    named_grammars: Mapping[str, Grammar | str] | None = None,
) -> str:
    """Return the EBNF text of the grammar of a Lark text; the arguments are those of ``Grammar.from_lark``."""
    grammar = Grammar.from_lark(lark_string, tokenizer_info=tokenizer_info, named_grammars=named_grammars)
    return str(grammar)
