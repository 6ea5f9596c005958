"""Arguments of the wrong type, told in our own words.

`InvalidArgumentError` is a ``TypeError``, a ``ValueError`` and a ``RuntimeError`` at once, so it is whatever XGrammar
raises in such a place.
"""

from __future__ import annotations

import operator
from typing import SupportsIndex

from tokenstile.exceptions import InvalidArgumentError

__all__ = ["flag", "whole_number", "whole_numbers"]


def whole_number(name: str, value: object) -> int:
    """Return an integer, numpy's among them; raise if it is none."""
    if isinstance(value, SupportsIndex):
        try:
            return operator.index(value)
        except TypeError:  # An array that has more than one element.
            pass
    raise InvalidArgumentError(f"{name} must be an int, not {type(value).__name__}")


def whole_numbers(name: str, values: object) -> list[int]:
    """Return the integers of a list, a tensor, or anything else that has them one by one."""
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__iter__"):
        raise InvalidArgumentError(f"{name} must be a list of ints, not {type(values).__name__}")
    return [whole_number(f"{name}[{at}]", value) for at, value in enumerate(values)]


def flag(name: str, value: object) -> bool:
    """Return a bool, or an integer as one, as XGrammar does; raise for anything else."""
    is_number = hasattr(value, "__index__") and not isinstance(value, type)
    if is_number or type(value).__name__ in {"bool", "bool_"}:
        return bool(value)
    raise InvalidArgumentError(f"{name} must be a bool, not {type(value).__name__}")
