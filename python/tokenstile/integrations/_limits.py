"""What one request may cost a server: the time that its grammar takes to compile."""

from __future__ import annotations

import math
import os

from tokenstile.exceptions import InvalidArgumentError

__all__ = ["COMPILE_SECONDS", "time_limit"]

COMPILE_SECONDS = "TOKENSTILE_COMPILE_TIMEOUT_S"
"""The environment variable with the most seconds that one grammar may take to compile; 0 is no limit."""

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
