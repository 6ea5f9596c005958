"""Settings of the process.

XGrammar parses with native recursion and bounds its depth here. Tokenstile does not recurse on the input once a
grammar is compiled, and bounds nesting while it compiles by ``Limits.max_depth``; so the recursion depth is kept for
code that sets it, with XGrammar's range and default, and changes nothing.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tokenstile import _core
from tokenstile._arguments import whole_number
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenstile.json_schema import Spelling

__all__ = [
    "get_cache_limit_bytes",
    "get_default_spelling",
    "get_max_recursion_depth",
    "get_serialization_version",
    "max_recursion_depth",
    "set_cache_limit_bytes",
    "set_default_spelling",
    "set_max_recursion_depth",
]

_HIGHEST_RECURSION_DEPTH: Final = 1_000_000
_USUAL_RECURSION_DEPTH: Final = 10_000


def _depth_of_the_environment() -> int:
    """Return what XGrammar makes of its variable: no more than the highest, and the usual where it is no depth."""
    try:
        depth = int(os.environ.get("XGRAMMAR_MAX_RECURSION_DEPTH", ""))
    except ValueError:
        depth = 0
    return min(depth, _HIGHEST_RECURSION_DEPTH) if depth > 0 else _USUAL_RECURSION_DEPTH


_recursion_depth = _depth_of_the_environment()


def get_max_recursion_depth() -> int:
    """Return the depth that was set; at first 10,000, or that of the variable ``XGRAMMAR_MAX_RECURSION_DEPTH``."""
    return _recursion_depth


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """Keep a recursion depth between 1 and 1,000,000."""
    global _recursion_depth  # noqa: PLW0603 - a setting of the process, as in XGrammar
    max_recursion_depth = whole_number("the recursion depth", max_recursion_depth)
    if not 1 <= max_recursion_depth <= _HIGHEST_RECURSION_DEPTH:
        raise InvalidArgumentError(
            f"the recursion depth must be between 1 and {_HIGHEST_RECURSION_DEPTH}, not {max_recursion_depth}"
        )
    _recursion_depth = max_recursion_depth


@contextmanager
def max_recursion_depth(temp_depth: int) -> Iterator[None]:
    """Set the recursion depth inside a ``with`` block, and put the old one back after it."""
    before = get_max_recursion_depth()
    set_max_recursion_depth(temp_depth)
    try:
        yield
    finally:
        set_max_recursion_depth(before)


def get_serialization_version() -> str:
    """Return the version that serialized objects carry; objects of another version are refused."""
    return _core.SERIALIZATION_VERSION


def get_cache_limit_bytes() -> int:
    """Return how many bytes all compilers without a ``cache_limit_bytes`` of their own may hold together."""
    return _core.get_cache_limit_bytes()


def set_cache_limit_bytes(limit: int) -> None:
    """Bound the memory that all compilers without a ``cache_limit_bytes`` of their own may hold together."""
    limit = whole_number("the cache limit, a number of bytes,", limit)
    if limit < 0:
        raise InvalidArgumentError(f"the cache limit must not be negative, not {limit}")
    _core.set_cache_limit_bytes(min(limit, sys.maxsize))


def get_default_spelling() -> Spelling:
    """Return the spelling of JSON values where a caller names none.

    It is that of the environment variable ``TOKENSTILE_SPELLING`` until another is set.
    """
    return _core.get_default_spelling()


def set_default_spelling(spelling: Spelling) -> None:
    """Set the spelling of JSON values for callers that name none: ``"canonical"`` or ``"any"``."""
    _core.set_default_spelling(spelling)
