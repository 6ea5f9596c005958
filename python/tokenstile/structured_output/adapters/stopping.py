"""Stop tokens for libraries that know one end token, or none.

llguidance and outlines-core follow the text; what ends it is seen to here: a stop token fits where the text may end, is
never given to the library, and can be taken back like any token.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenstile.structured_output.bits import allow_token, forbid_token
from tokenstile.structured_output.contract import StructuredOutputGrammar

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

__all__ = ["GrammarWithOwnStops"]


class GrammarWithOwnStops(StructuredOutputGrammar):
    """A grammar of another library, with stop tokens of our own."""

    def __init__(
        self, vocab_size: int, stop_token_ids: Collection[int], default_stop_token_ids: Collection[int]
    ) -> None:
        self.vocab_size = vocab_size
        self.stop_token_ids = frozenset(token for token in stop_token_ids if 0 <= token < vocab_size)
        self.default_stop_token_ids = frozenset(default_stop_token_ids)
        self._terminated = False

    @abstractmethod
    def _read(self, token: int) -> bool:
        """Let the library read a token; nothing has changed if it does not fit."""

    @abstractmethod
    def _unread(self, count: int) -> None:
        """Let the library take tokens back."""

    @abstractmethod
    def _may_end(self) -> bool:
        """Tell whether the text may end here."""

    @abstractmethod
    def _fill_row(self, row: npt.NDArray[np.int32]) -> None:
        """Let the library fill a row; the bits of stop tokens do not matter."""

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:  # noqa: ARG002 - the contract's
        """Take tokens, all of them or none."""
        for count, token in enumerate(tokens):
            if self._terminated:
                return True
            if not self._accept(token):
                self.rollback(count)
                return False
        return True

    def _accept(self, token: int) -> bool:
        if token in self.stop_token_ids:
            self._terminated = self._may_end()
            return self._terminated
        is_text = 0 <= token < self.vocab_size and token not in self.default_stop_token_ids
        return is_text and self._read(token)

    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix that would be accepted."""
        count = 0
        for token in tokens:
            if self._terminated or not self._accept(token):
                break
            count += 1
        self.rollback(count)
        return list(tokens[:count])

    def rollback(self, num_tokens: int) -> None:
        """Take back the last accepted tokens."""
        if num_tokens > 0:
            self._unread(num_tokens - int(self._terminated))
            self._terminated = False

    def fill_bitmask(self, bitmask: Any, index: int) -> None:  # noqa: ANN401 - any array
        """Write the mask of the tokens that can come next over row ``index``."""
        row = np.asarray(bitmask)[index]
        self._fill_row(row)
        may_end = self._may_end()
        for token in self.stop_token_ids | self.default_stop_token_ids:
            is_end = may_end and token in self.stop_token_ids
            (allow_token if is_end else forbid_token)(row, token)

    def is_terminated(self) -> bool:
        """Tell whether a stop token was accepted."""
        return self._terminated
