"""What the engine asks of a model.

A model has a number of slots, each with a sequence of tokens that it has read. It is fed the next tokens of several
sequences at once, and gives logits for the last of them. It can forget the end of a sequence, when guesses were wrong,
and a whole sequence, when its request is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["Feed", "Model"]


@dataclass(frozen=True, slots=True)
class Feed:
    """The next tokens of one sequence."""

    slot: int
    position: int
    """How many tokens of the sequence the model has read before."""
    tokens: list[int]
    num_logits: int
    """For how many of the last tokens logits are wanted."""


class Model(Protocol):
    """A model with slots for sequences."""

    tokenizer_info: TokenizerInfo
    max_length: int
    """The most tokens of a sequence."""
    num_slots: int

    def encode(self, text: str) -> list[int]:
        """Give the tokens of a text; names of special tokens in it stand for these tokens."""
        ...

    def forward(self, feeds: Sequence[Feed]) -> Any:  # noqa: ANN401 - numpy's types take long to write
        """Read tokens. Gives a float32 array with a row for each wanted token, in their order."""
        ...

    def truncate(self, slot: int, length: int) -> None:
        """Forget all but the first tokens of a sequence."""
        ...
