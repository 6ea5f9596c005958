"""How long texts and lists, and how large numbers of a request may be.

Requests come from strangers. The body as a whole is bounded before, in bytes and in values; these bounds say what of
that may be where, so that what is wrong is found early and the work on what is right is bounded. Each list ends at its
first wrong entry: nobody reads a million messages that all say the same.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from pydantic import Field

__all__ = ["Count", "Few", "Int64", "Label", "Line", "Many", "TokenId", "check_fields"]

_MOST_FIELDS: Final = 64
_MOST_LABELS: Final = 256
_MOST_CHARACTERS: Final = 4096
_FEW: Final = 4096
_LARGEST: Final = (1 << 31) - 1

Item = TypeVar("Item")

Label = Annotated[str, Field(max_length=_MOST_LABELS)]
"""A name."""
Line = Annotated[str, Field(max_length=_MOST_CHARACTERS)]
"""A text that is looked at as a whole."""
Count = Annotated[int, Field(ge=1, le=_LARGEST)]
"""A number of something."""
TokenId = Annotated[int, Field(ge=0, le=_LARGEST)]
"""The number of a token."""
Int64 = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
"""Any number of 64 bits."""
Few = Annotated[list[Item], Field(max_length=_FEW, fail_fast=True)]
"""A list of things that each take work."""
Many = Annotated[list[Item], Field(fail_fast=True)]
"""A list that the body bounds."""


def check_fields(data: object) -> object:
    """Refuse an object with more fields than any has that the API knows."""
    if isinstance(data, dict) and len(data) > _MOST_FIELDS:
        raise ValueError(f"it has {len(data)} fields, and may have {_MOST_FIELDS}")
    return data
