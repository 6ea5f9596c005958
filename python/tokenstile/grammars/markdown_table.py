"""Tables of Markdown, as GitHub reads them: a row of names, a row of dashes, and rows of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tokenstile._core import Grammar
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.grammars._text import counts, names_of, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

Alignment = Literal["left", "right", "center"] | None

_DASHES: dict[Alignment, str] = {None: "---", "left": ":---", "right": "---:", "center": ":---:"}

# A backslash would escape the bar at the end of the cell, so one is always followed by what it escapes.
_CELL = r"""
cell      ::= "" | inner | inner (inner | " ")* inner
inner     ::= [^|\\ \x00-\x1f\x7f] | "\\" [!-/:-@\[-`{-~]
"""


def markdown_table(
    columns: Sequence[str],
    *,
    align: Sequence[Alignment] | None = None,
    min_rows: int = 0,
    max_rows: int | None = None,
) -> Grammar:
    """Return the grammar of tables with these columns.

    ``align`` has ``"left"``, ``"right"``, ``"center"`` or ``None`` for each of them. A bar in a cell is written with a
    backslash before it, and so are those in the names.
    """
    columns = names_of(columns, "column")
    is_listed = align is None or isinstance(align, list | tuple)
    alignments = [None] * len(columns) if align is None else list(align) if is_listed else []
    if len(alignments) != len(columns) or not all(_is_alignment(found) for found in alignments):
        raise InvalidArgumentError("align has 'left', 'right', 'center' or None for each column")
    names = "| " + " | ".join(_written(name) for name in columns) + " |\n"
    dashes = "| " + " | ".join(_DASHES[found] for found in alignments) + " |\n"
    row = '"| " cell ' + '" | " cell ' * (len(columns) - 1) + r'" |\n"'
    return Grammar.from_ebnf(
        f"root ::= {quote(names + dashes)} row{counts(min_rows, max_rows)}\nrow ::= {row}\n{_CELL}"
    )


def _is_alignment(value: object) -> bool:
    return value is None or (isinstance(value, str) and value in _DASHES)


def _written(name: str) -> str:
    if not name.strip() or name != name.strip() or any(character < " " for character in name):
        raise InvalidArgumentError(
            f"{name!r} cannot be the name of a column: it is blank or has a line break"
        )
    return name.replace("\\", "\\\\").replace("|", "\\|")
