"""JSON lines: a JSON text on each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile._core import Grammar
from tokenstile.config import get_default_spelling
from tokenstile.grammars._text import counts
from tokenstile.grammars.json import RULES

if TYPE_CHECKING:
    from tokenstile.json_schema import Schema, Spelling


def json_lines(
    schema: Schema | None = None,
    *,
    min_lines: int = 0,
    max_lines: int | None = None,
    spelling: Spelling | None = None,
) -> Grammar:
    """Return the grammar of texts of which each line is JSON.

    ``schema`` is that of every line; without it, any value will do. Each line ends with a line feed. ``spelling`` is as
    in `tokenstile.Grammar.from_json_schema`: in the canonical one a value of any kind has the separators of
    ``json.dumps``, all of them with their space or all without.
    """
    counts(min_lines, max_lines)
    if schema is not None:
        line = Grammar.from_json_schema(schema, any_whitespace=False, strict_mode=False, spelling=spelling)
    elif (spelling or get_default_spelling()) == "any":
        line = Grammar.from_ebnf(f"root ::= value{RULES}blank ::= [ \\t]*\n")
    else:
        spaced, compact = (
            Grammar.from_json_schema(
                True, any_whitespace=False, separators=separators, strict_mode=False, spelling=spelling
            )
            for separators in ((", ", ": "), (",", ":"))
        )
        line = spaced | compact
    return (line + Grammar.from_ebnf(r'root ::= "\n"')).repeat(min_lines, max_lines)
