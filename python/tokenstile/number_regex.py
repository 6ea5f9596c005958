r"""Regular expressions of the numbers between two bounds, for tests and for those who write patterns.

>>> integers(12, 345)
'^(1[2-9]|[2-9]\\d|[12]\\d{2}|3[0-3]\\d|34[0-5])$'

Numbers are written as JSON has them, without an exponent and without leading zeros. JSON Schema does not come through
here: it has sets of numbers of its own, which know exponents and multiples.

A number is a sign, a whole part and the digits after the point. Bounds are compared digit by digit: up to the place at
which a number leaves a bound its digits are those of the bound, and after it they are free. What is left after the
point is a *tail*, which may be empty; a tail is described by the expressions for those that are not, and by whether the
empty one, which is zero, is among them.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import NamedTuple

from tokenstile.exceptions import InvalidArgumentError

__all__ = ["decimals", "integers"]

# The work recurses over the digits.
_LARGEST = 10**300


def integers(low: int | None, high: int | None) -> str:
    """Return the expression of the whole numbers from ``low`` to ``high``, both included; ``None`` is no bound."""
    low, high = (None if bound is None else _whole_number(bound) for bound in (low, high))
    parts = []
    if low is None or low < 0:
        nearest = 1 if high is None or high > -1 else -high
        parts += [f"-{part}" for part in _wholes(nearest, None if low is None else -low)]
    if high is None or high >= 0:
        parts += _wholes(0 if low is None else max(low, 0), high)
    return _anchored(parts, low, high)


def decimals(
    low: float | None, high: float | None, *, without_low: bool = False, without_high: bool = False
) -> str:
    r"""Return the expression of the decimal numbers from ``low`` to ``high``, of any number of digits.

    >>> decimals(0.5, 1, without_high=True)
    '^(0\\.(?:[6-9]\\d*|5\\d+|5))$'
    """
    bottom, top = _bound(low, without=without_low), _bound(high, without=without_high)
    parts = []
    if bottom is None or bottom.value < 0 or (bottom.value == 0 and bottom.included):
        nearest = (
            _ZERO if top is None or top.value > 0 or (top.value == 0 and top.included) else top.negated()
        )
        if nearest.value >= 0:
            parts += [
                f"-{part}" for part in _magnitudes(nearest, None if bottom is None else bottom.negated())
            ]
    if top is None or top.value >= 0:
        parts += _magnitudes(_ZERO if bottom is None or bottom.value < 0 else bottom, top)
    return _anchored(parts, low, high)


class _Bound(NamedTuple):
    value: Decimal
    included: bool

    @property
    def whole(self) -> int:
        return int(self.value)

    @property
    def tail(self) -> str:
        return f"{self.value:f}".partition(".")[2].rstrip("0")

    def negated(self) -> _Bound:
        return _Bound(-self.value, self.included)


class _Tails(NamedTuple):
    expressions: list[str]
    has_empty: bool


_ZERO = _Bound(Decimal(0), included=True)
_ALL_TAILS = _Tails([r"\d+"], has_empty=True)


def _whole_number(bound: object) -> int:
    if isinstance(bound, bool) or not isinstance(bound, int):
        raise InvalidArgumentError(f"the bounds must be integers or None, not {type(bound).__name__}")
    if abs(bound) >= _LARGEST:
        raise InvalidArgumentError("the bounds must have 300 digits at most")
    return bound


def _bound(bound: object, *, without: bool) -> _Bound | None:
    if bound is None:
        return None
    is_number = not isinstance(bound, float) or math.isfinite(bound)
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not is_number:
        raise InvalidArgumentError(f"the bounds must be finite numbers or None, not {bound!r}")
    if abs(bound) >= _LARGEST:
        raise InvalidArgumentError("the bounds must have 300 digits at most")
    return _Bound(Decimal(repr(bound)), not without)


def _anchored(parts: list[str], low: object, high: object) -> str:
    if not parts:
        raise InvalidArgumentError(f"there is no number between {low} and {high}")
    return f"^({'|'.join(parts)})$"


def _magnitudes(low: _Bound, high: _Bound | None) -> list[str]:
    """Return the expressions of the numbers without a sign from ``low``, which is not negative, to ``high``."""
    if high is None:
        above = _number(low.whole, _tails_above(low.tail, included=low.included))
        return above + [f"{whole}{_ANY_TAIL}" for whole in _wholes(low.whole + 1, None)]
    if high.value < low.value:
        return []
    if low.whole == high.whole:
        return _number(low.whole, _tails_between(low.tail, high.tail, low.included, high.included))
    between = [f"{whole}{_ANY_TAIL}" for whole in _wholes(low.whole + 1, high.whole - 1)]
    below = _number(high.whole, _tails_below(high.tail, included=high.included))
    return _number(low.whole, _tails_above(low.tail, included=low.included)) + between + below


_ANY_TAIL = r"(?:\.\d+)?"


def _number(whole: int, tails: _Tails) -> list[str]:
    """Return the expressions of the numbers with that whole part and one of those tails."""
    tail = rf"\.(?:{'|'.join(tails.expressions)})" if tails.expressions else ""
    if tail and tails.has_empty:
        return [f"{whole}(?:{tail})?"]
    return [f"{whole}{tail}"] if tail or tails.has_empty else []


def _after(digit: str, tails: _Tails) -> list[str]:
    """Return the expressions of the tails that begin with a digit and go on with one of those."""
    return [digit + expression for expression in tails.expressions] + [digit] * tails.has_empty


def _tails_above(bound: str, *, included: bool) -> _Tails:
    if not bound:
        return _ALL_TAILS if included else _Tails([r"0*[1-9]\d*"], has_empty=False)
    larger = [rf"{_digits(int(bound[0]) + 1, 9)}\d*"] if bound[0] != "9" else []
    return _Tails(larger + _after(bound[0], _tails_above(bound[1:], included=included)), has_empty=False)


def _tails_below(bound: str, *, included: bool) -> _Tails:
    if not bound:
        return _Tails(["0+"] if included else [], included)
    smaller = [rf"{_digits(0, int(bound[0]) - 1)}\d*"] if bound[0] != "0" else []
    return _Tails(smaller + _after(bound[0], _tails_below(bound[1:], included=included)), has_empty=True)


def _tails_between(low: str, high: str, with_low: bool, with_high: bool) -> _Tails:
    if not high:
        return _tails_below(high, included=with_low and with_high)
    has_empty = not low and with_low
    first, last = int(low[:1] or 0), int(high[0])
    if first == last:
        tails = _tails_between(low[1:], high[1:], with_low, with_high)
        return _Tails(_after(high[0], tails), has_empty)
    between = [rf"{_digits(first + 1, last - 1)}\d*"] if last - first > 1 else []
    above = _after(str(first), _tails_above(low[1:], included=with_low))
    return _Tails(between + above + _after(high[0], _tails_below(high[1:], included=with_high)), has_empty)


def _wholes(low: int, high: int | None) -> list[str]:
    """Return the expressions of the whole numbers from ``low``, which is not negative, to ``high``."""
    if high is None:
        if low <= 1:
            return ["0"] * (low == 0) + [r"[1-9]\d*"]
        length = len(str(low))
        return [*_of_one_length(str(low), "9" * length), rf"[1-9]\d{{{length},}}"]
    parts: list[str] = []
    while low <= high:
        last = min(high, 10 ** len(str(low)) - 1)
        parts += _of_one_length(str(low), str(last))
        low = last + 1
    return parts


def _of_one_length(low: str, high: str) -> list[str]:
    """Return the expressions of the strings of digits between two of the same length."""
    rest = len(low) - 1
    if rest < 0:
        return [""]
    if low[0] == high[0]:
        return [low[0] + part for part in _of_one_length(low[1:], high[1:])]
    first, last = int(low[0]), int(high[0])
    below, above = [], []
    if low[1:] != "0" * rest:
        below = [low[0] + part for part in _of_one_length(low[1:], "9" * rest)]
        first += 1
    if high[1:] != "9" * rest:
        above = [high[0] + part for part in _of_one_length("0" * rest, high[1:])]
        last -= 1
    return below + ([_digits(first, last) + _any_digits(rest)] if first <= last else []) + above


def _any_digits(count: int) -> str:
    return "" if count == 0 else r"\d" if count == 1 else rf"\d{{{count}}}"


def _digits(first: int, last: int) -> str:
    if (first, last) == (0, 9):
        return r"\d"
    return str(first) if first == last else f"[{first}{last}]" if last == first + 1 else f"[{first}-{last}]"
