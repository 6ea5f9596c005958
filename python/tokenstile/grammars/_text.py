"""Writing EBNF: strings in their quotes, alternatives, and arguments that must be what they are said to be."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_TIMES = 2**32 - 2
_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+*/=<>.,:;()[]{}|&%$!?@#~'`"
)


def quote(text: str) -> str:
    """Return the literal of EBNF that stands for a text."""
    if not all(_is_scalar(character) for character in text):
        raise InvalidArgumentError(f"{text!r} has half of a surrogate pair, which no text has")
    return '"' + "".join(c if c in _PLAIN else f"\\U{ord(c):08x}" for c in text) + '"'


def one_of(texts: Iterable[str]) -> str:
    """Return the group of EBNF that stands for any one of the texts."""
    return "(" + " | ".join(quote(text) for text in texts) + ")"


def names_of(names: object, what: str) -> list[str]:
    """Return a list of names, of which there must be one at least; raise for anything else, a string included."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InvalidArgumentError(f"the {what}s must be a list of str, not {type(names).__name__}")
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"the name of a {what} must be a str, not {type(name).__name__}")
    if not found:
        raise InvalidArgumentError(f"there must be a {what} at least")
    return found


def check_names(names: Sequence[str], what: str) -> None:
    """Raise unless all are identifiers of Python and no keywords, and none comes twice."""
    for name in names:
        if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
            raise InvalidArgumentError(f"{name!r} cannot be the name of a {what}")
    check_unique(names, what)


def check_unique(names: Sequence[str], what: str) -> None:
    """Raise if a name comes twice."""
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f"a {what} is there twice")


def counts(least: int, most: int | None) -> str:
    """Return the quantifier of EBNF for a number of times."""
    for count in (least,) if most is None else (least, most):
        if isinstance(count, bool) or not isinstance(count, int):
            raise InvalidArgumentError(f"a number of times is an int, not {type(count).__name__}")
        if count > _MOST_TIMES:
            raise InvalidArgumentError(
                f"{count} is more than the {_MOST_TIMES} times that a grammar can count"
            )
    if least < 0 or (most is not None and most < least):
        raise InvalidArgumentError(f"{least} to {most} is no number of times")
    return f"{{{least},}}" if most is None else f"{{{least}, {most}}}"


def _is_scalar(character: str) -> bool:
    return not "\ud800" <= character <= "\udfff"
