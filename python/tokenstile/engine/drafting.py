"""Guessing the next tokens, for the model to check several at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NgramDrafter"]


@dataclass(frozen=True, slots=True)
class NgramDrafter:
    """Guesses that a text repeats itself: what followed the last tokens when they last occurred follows them again.

    JSON is full of keys that come again, and answers quote their questions. It costs no model.
    """

    num_tokens: int
    """The most tokens to guess."""
    longest: int = 4
    """How many of the last tokens are looked for at first; then fewer, down to `shortest`."""
    shortest: int = 2

    def propose(self, tokens: Sequence[int]) -> list[int]:
        """Give the tokens that may follow, or none."""
        for size in range(min(self.longest, len(tokens) - 1), self.shortest - 1, -1):
            wanted = list(tokens[-size:])
            for start in range(len(tokens) - size - 1, -1, -1):
                if list(tokens[start : start + size]) == wanted:
                    return list(tokens[start + size : start + size + self.num_tokens])
        return []
