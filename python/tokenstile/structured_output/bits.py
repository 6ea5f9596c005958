"""Single bits of a row, for the few tokens that are looked at one by one.

A row has 32 tokens in each int32 word, the lowest bit first; the highest bit of a word is its sign. The functions take
rows of numpy, or views of other libraries' memory as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

__all__ = ["allow_only", "allow_token", "forbid_token"]

_WORD_BITS: Final = 32


def allow_token(row: npt.NDArray[np.int32], token: int) -> None:
    """Set the bit of a token."""
    word, bit = divmod(token, _WORD_BITS)
    row.view(np.uint32)[word] |= np.uint32(1 << bit)


def forbid_token(row: npt.NDArray[np.int32], token: int) -> None:
    """Clear the bit of a token."""
    word, bit = divmod(token, _WORD_BITS)
    row.view(np.uint32)[word] &= ~np.uint32(1 << bit)


def allow_only(rows: npt.NDArray[np.int32], tokens: Iterable[int]) -> None:
    """Let all of these rows allow just the given tokens."""
    rows.fill(0)
    for token in tokens:
        word, bit = divmod(token, _WORD_BITS)
        rows.view(np.uint32)[..., word] |= np.uint32(1 << bit)
