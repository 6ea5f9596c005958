"""JSON lines: a JSON text on each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile._core import Grammar
from tokenstile.grammars._text import counts
from tokenstile.grammars.json import RULES

if TYPE_CHECKING:
    from tokenstile.json_schema import Schema


def json_lines(schema: Schema | None = None, *, min_lines: int = 0, max_lines: int | None = None) -> Grammar:
    """Return the grammar of texts of which each line is JSON.

    ``schema`` is that of every line; without it, any value will do. Each line ends with a line feed.
    """
    counts(min_lines, max_lines)
    if schema is None:
        line = Grammar.from_ebnf(f"root ::= value{RULES}blank ::= [ \\t]*\n")
    else:
        line = Grammar.from_json_schema(schema, any_whitespace=False, strict_mode=False)
    return (line + Grammar.from_ebnf(r'root ::= "\n"')).repeat(min_lines, max_lines)
