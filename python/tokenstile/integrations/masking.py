"""Writing masks into scores: the last step of every logits processor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenstile.integrations.following import Follower

__all__ = ["MaskBuffer"]


class MaskBuffer:
    """A bitmask that is used again and again, for one vocabulary and any number of rows."""

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size
        self.bitmask: Any = None

    def forbid(self, scores: Any, followers: Sequence[Follower | None]) -> None:  # noqa: ANN401 - any array
        """Write minus infinity over the scores of all tokens that may not follow, row by row; ``None`` is free."""
        self.check_width(scores.shape[-1])
        bitmask = self.rows(len(followers))
        for row, follower in enumerate(followers):
            if follower is None:
                bitmask[row] = -1
            else:
                follower.fill(bitmask, row)
        self.apply(scores)

    def rows(self, count: int) -> Any:  # noqa: ANN401 - an array of numpy or torch
        """Give a bitmask with that many rows."""
        if self.bitmask is None or self.bitmask.shape[0] != count:
            self.bitmask = allocate_token_bitmask(count, self.vocab_size)
        return self.bitmask

    def apply(self, scores: Any) -> None:  # noqa: ANN401 - any array
        """Write minus infinity where the bitmask says so, and over all columns that are no tokens."""
        bitmask = self.bitmask
        device = getattr(scores, "device", "cpu")
        if hasattr(bitmask, "to") and str(device) != "cpu":
            bitmask = bitmask.to(device, non_blocking=True)
        apply_token_bitmask_inplace(scores, bitmask, vocab_size=self.vocab_size)
        if scores.shape[-1] > self.vocab_size:
            scores[..., self.vocab_size :] = float("-inf")

    @staticmethod
    def only_ends(scores: Any, stop_token_ids: Sequence[int]) -> None:  # noqa: ANN401 - any array
        """Forbid everything but stop tokens: what is left to do where a grammar cannot be followed."""
        ends = [token for token in stop_token_ids if token < scores.shape[-1]]
        # Choosing by a list copies, in numpy and in torch.
        kept = scores[..., ends]
        scores[...] = float("-inf")
        scores[..., ends] = kept

    def check_width(self, width: int) -> None:
        """Refuse scores of another vocabulary: masks would fall on the wrong tokens."""
        if width < self.vocab_size:
            raise InvalidArgumentError(
                f"the model gives {width} scores, and the grammar's vocabulary has {self.vocab_size} tokens; make the "
                "TokenizerInfo with vocab_size=, the number of the model's scores"
            )
