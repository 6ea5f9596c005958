"""What became of each keyword of a JSON Schema.

A keyword is enforced exactly, or it is an annotation, or the schema is refused: nothing is dropped in silence. The
report says which, keyword by keyword. `tokenstile.Grammar.report` has it for a grammar, and `tokenstile.check_schema`
for a schema alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["SPELLING", "Finding", "Outcome", "SchemaWarning"]


class Outcome(StrEnum):
    """What became of a keyword."""

    EXACT = "exact"
    """The grammar allows what the keyword allows."""
    ANNOTATION = "annotation"
    """The keyword says nothing about which values are valid."""
    NARROWED = "narrowed"
    """Every text that the grammar allows is valid, but some valid ones are not allowed."""
    WIDENED = "widened"
    """The keyword could not be enforced and was dropped, because ``on_unsupported="warn"`` asked for it."""
    REFUSED = "refused"
    """The keyword cannot be enforced exactly, and the schema is refused."""


SPELLING: Final = "spelling"
"""The keyword of the last finding of a report, which is about no keyword: the spelling, and what that gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What became of one keyword.

    >>> Finding(pointer="", keyword="title", outcome=Outcome.ANNOTATION, note="").outcome == "annotation"
    True
    """

    pointer: str
    """The JSON Pointer of the schema that has the keyword."""
    keyword: str
    """The keyword."""
    outcome: Outcome
    """What became of it."""
    note: str
    """More about it, for people; may be empty."""


class SchemaWarning(UserWarning):
    """A schema does less than it seems to.

    Its grammar allows more, because ``on_unsupported="warn"`` asked for it; or `tokenstile.check_schema` found a name
    that looks like a keyword with a typing error, and says nothing.
    """
