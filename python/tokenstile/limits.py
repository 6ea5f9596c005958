"""What strangers' input may cost.

The defaults are ones that a server can live with. Each limit ends in a `tokenstile.exceptions.LimitExceededError`
while a grammar is compiled, and its ``help`` names the field to raise. Once generation has begun no limit ends it:
caches are bounded, and a full cache makes the work slower, not wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from tokenstile.exceptions import InvalidArgumentError

__all__ = ["Limits"]

_HIGHEST_DEPTH: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on grammars and on the work of compiling them.

    >>> Limits(max_rules=1000).max_rules
    1000
    """

    max_source_bytes: int = 32 << 20
    """Bytes of grammar text."""
    max_rules: int = 500_000
    """Rules in a grammar."""
    max_exprs: int = 5_000_000
    """Distinct expressions in a grammar."""
    max_depth: int = 1_000
    """Nesting of groups, in grammars and in regexes; at most 10,000."""
    max_states: int = 200_000
    """States of any one automaton that is built ahead of time; all together may have eight times as many."""
    max_nodes: int = 5_000_000
    """Nodes of the whole machine that a grammar becomes."""
    max_compile_time: float = 30.0
    """Seconds for one compilation; ``math.inf`` for no limit."""
    max_cache_bytes: int = 128 << 20
    """Bytes of run-time tables that one compiled grammar may keep."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            allowed = (int, float) if field.name == "max_compile_time" else int
            if isinstance(value, bool) or not isinstance(value, allowed):
                raise InvalidArgumentError(f"{field.name} must be a number, not {type(value).__name__}")
            if not value > 0:
                raise InvalidArgumentError(f"{field.name} must be positive, not {value}")
        if self.max_depth > _HIGHEST_DEPTH:
            raise InvalidArgumentError(f"max_depth must be at most {_HIGHEST_DEPTH}, not {self.max_depth}")
