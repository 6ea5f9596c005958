"""Dates and times of ISO 8601, in the extended form, that exist: 2024-02-29 does, 2023-02-29 does not."""

from __future__ import annotations

from tokenstile._core import Grammar
from tokenstile.exceptions import InvalidArgumentError

_DATE = r"""
date   ::= year "-" ("01" | "03" | "05" | "07" | "08" | "10" | "12") "-" ([0-2] [0-9] & ~"00" | "3" [01])
         | year "-" ("04" | "06" | "09" | "11") "-" ([0-2] [0-9] & ~"00" | "30")
         | year "-02-" ([01] [0-9] & ~"00" | "2" [0-8])
         | leap "-02-29"
year   ::= [0-9]{4} & ~"0000"
leap   ::= [0-9]{2} fourth | fourth "00"
fourth ::= "0" [48] | [2468] [048] | [13579] [26]
"""

_TIME = r"""
time   ::= [01] [0-9] seconds | "2" [0-3] seconds
seconds ::= ":" [0-5] [0-9] ":" [0-5] [0-9] fraction?
fraction ::= "." [0-9]{1,6}
offset ::= "Z" | [+\-] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]
"""


def iso_date() -> Grammar:
    """Return the grammar of the dates from 0001-01-01 to 9999-12-31."""
    return Grammar.from_ebnf("root ::= date" + _DATE)


def iso_time(*, offset: bool | None = None) -> Grammar:
    """Return the grammar of times of the day, ``hh:mm:ss``, with up to six decimals.

    ``offset`` tells whether the offset from UTC must be there (``True``), must not (``False``), or may (``None``).
    """
    return Grammar.from_ebnf(f"root ::= time {_offset(offset)}" + _TIME)


def iso_datetime(*, offset: bool | None = None) -> Grammar:
    """Return the grammar of a date and a time with ``T`` between them; ``offset`` is that of `iso_time`."""
    return Grammar.from_ebnf(f'root ::= date "T" time {_offset(offset)}' + _DATE + _TIME)


def _offset(offset: bool | None) -> str:
    if offset is not None and not isinstance(offset, bool):
        raise InvalidArgumentError(f"offset is True, False or None, not {offset!r}")
    return {True: "offset", False: "", None: "offset?"}[offset]
