"""What a request asks for, as a kind of grammar and its text.

Two requests with equal keys, for one tokenizer, can share a compiled grammar; so the key is what compilations are
shared by. It is a plain tuple, as in vLLM.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

__all__ = ["GrammarType", "StructuredOutputKey", "StructuredOutputOptions"]


class GrammarType(Enum):
    """The kinds of grammars that a request can bring."""

    JSON = "json"
    """A JSON Schema; its text is the schema as JSON."""
    JSON_OBJECT = "json_object"
    """Any JSON object; its text is empty."""
    REGEX = "regex"
    """A regular expression."""
    CHOICE = "choice"
    """One of several texts; its text is a JSON array of them."""
    GRAMMAR = "grammar"
    """An EBNF text, or a Lark text if no line of it has ``::=``."""
    STRUCTURAL_TAG = "structural_tag"
    """A structural tag as JSON."""
    LARK = "lark"
    """A Lark text."""

    JSON_SCHEMA = "json"  # noqa: PIE796 - another name of it
    EBNF = "grammar"  # noqa: PIE796 - another name of it


StructuredOutputOptions = GrammarType
"""vLLM's name of `GrammarType`."""


class StructuredOutputKey(NamedTuple):
    """A kind of grammar and its text."""

    grammar_type: GrammarType
    grammar_spec: str
