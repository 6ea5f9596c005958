"""XGrammar's logits processor for ``generate`` of transformers, by its name and with its attributes.

New code is better served by `tokenstile.integrations.transformers`, which may be used again, and knows beams and
assisted decoding. The work is the same, and is in `tokenstile.integrations.following`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile.exceptions import InvalidArgumentError, MatcherError
from tokenstile.integrations.following import Rows, compiled_grammars
from tokenstile.integrations.masking import MaskBuffer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenstile._core import CompiledGrammar, GrammarMatcher

try:
    from transformers import LogitsProcessor as _Base
except ImportError:  # It is only asked to be callable, so arrays of any kind will do.
    _Base = object

__all__ = ["LogitsProcessor"]


class LogitsProcessor(_Base):  # type: ignore[misc,unused-ignore] # a base that may not be installed
    """Holds the outputs of one call of ``generate`` to grammars.

    Given one compiled grammar, all outputs follow it; given a list, each output follows its own. A processor belongs to
    one call: it remembers how far each output has come. An output that is finished is not restricted any more.
    """

    compiled_grammars: list[CompiledGrammar]
    full_vocab_size: int
    """The number of tokens that the grammars were compiled for."""
    prefilled: bool
    """Whether it was called before."""
    batch_size: int

    def __init__(self, compiled_grammar: CompiledGrammar | Sequence[CompiledGrammar]) -> None:
        self.compiled_grammars = compiled_grammars(compiled_grammar)
        self.full_vocab_size = self.compiled_grammars[0].tokenizer_info.vocab_size
        self.prefilled = False
        self.batch_size = 0
        self._rows: Rows | None = None
        self._masks = MaskBuffer(self.full_vocab_size)
        self._prompt_length = 0

    @property
    def matchers(self) -> list[GrammarMatcher]:
        """One for each output, made at the first call."""
        return [follower.matcher for follower in self._rows.followers] if self._rows else []

    @property
    def token_bitmask(self) -> Any:  # noqa: ANN401 - an array of numpy or torch
        """The masks of the last call."""
        return self._masks.bitmask

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ANN401 - arrays of any library
        """Forbid, in ``scores``, the tokens that cannot follow ``input_ids``, and return the scores."""
        rows = self._rows or self._begin(input_ids)
        if len(input_ids) != self.batch_size:
            raise MatcherError(
                f"this processor has {self.batch_size} outputs under way, and was called with {len(input_ids)}; "
                "make a new one for each call of generate"
            )
        self.prefilled = True
        followers = rows.move_to(input_ids[:, self._prompt_length :].tolist())
        for row, follower in enumerate(followers):
            if follower.strayed:
                token = follower.tokens[follower.accepted]
                raise MatcherError(
                    f"output {row} went on with token {token}, which its grammar does not allow"
                )
        self._masks.forbid(scores, [None if each.matcher.is_terminated() else each for each in followers])
        return scores

    def _begin(self, input_ids: Any) -> Rows:  # noqa: ANN401 - an array of any library
        self.batch_size, self._prompt_length = input_ids.shape
        if len(self.compiled_grammars) not in (1, self.batch_size):
            raise InvalidArgumentError(
                f"there are {len(self.compiled_grammars)} grammars for {self.batch_size} outputs"
            )
        self._rows = Rows(self.compiled_grammars, self.batch_size)
        return self._rows
