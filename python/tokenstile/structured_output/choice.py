"""One of several texts, as an EBNF text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.texts import check_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["choices_as_ebnf", "read_choices"]

_FIRST_PRINTABLE = 0x20
_DELETE = 0x7F


def read_choices(spec: str) -> list[str]:
    """Return the texts of a key of kind CHOICE, which is a JSON array of them."""
    try:
        choices = json.loads(spec)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"the choices are not a JSON array: {error}") from None
    if not isinstance(choices, list) or not choices or not all(isinstance(text, str) for text in choices):
        raise InvalidArgumentError("the choices must be a JSON array of at least one text")
    return [check_text(f"choice {at}", text) for at, text in enumerate(choices)]


def choices_as_ebnf(choices: Iterable[str]) -> str:
    """Return an EBNF text that matches just the given texts.

    >>> choices_as_ebnf(["yes", "no"])
    'root ::= "yes" | "no"'
    """
    return "root ::= " + " | ".join(f'"{_escape(text)}"' for text in choices)


def _escape(text: str) -> str:
    return "".join(_escape_character(character) for character in text)


def _escape_character(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return "\\" + character
    if code < _FIRST_PRINTABLE or code == _DELETE:
        return f"\\u{code:04x}"
    return character
