"""What one request may cost a server: the time to compile its grammar, and the white space in its JSON.

A model that has lost its way in JSON often goes on with white space, which is allowed there, until its tokens are
used up.
"""

from __future__ import annotations

import math
import os

from tokenstile.exceptions import InvalidArgumentError

__all__ = ["COMPILE_SECONDS", "MOST_WHITE_SPACE", "time_limit", "white_space_limit"]

COMPILE_SECONDS = "TOKENSTILE_COMPILE_TIMEOUT_S"
"""The environment variable with the most seconds that one grammar may take to compile; 0 is no limit."""

MOST_WHITE_SPACE = "TOKENSTILE_MAX_WHITESPACE"
"""The environment variable with the most characters of white space between two parts of JSON; unset is any number."""

_DEFAULT_SECONDS = 10.0


def time_limit() -> float | None:
    """Return how many seconds a grammar may take to compile, ``None`` for any number."""
    text = os.environ.get(COMPILE_SECONDS, "")
    try:
        seconds = float(text) if text else _DEFAULT_SECONDS
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise InvalidArgumentError(f"{COMPILE_SECONDS} is a number of seconds, not {text!r}")
    return seconds if seconds > 0 else None


def white_space_limit() -> int | None:
    """Return how many characters of white space may stand between two parts of JSON, ``None`` for any number."""
    text = os.environ.get(MOST_WHITE_SPACE, "")
    if text and not (text.isascii() and text.isdigit()):
        raise InvalidArgumentError(f"{MOST_WHITE_SPACE} is a number of characters, not {text!r}")
    return int(text) if text else None
