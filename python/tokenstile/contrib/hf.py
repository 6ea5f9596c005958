"""A logits processor for ``generate`` of transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile._core import CompiledGrammar, GrammarMatcher
from tokenstile.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from tokenstile.exceptions import InvalidArgumentError, MatcherError

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    matchers: list[GrammarMatcher]
    """One for each output, made at the first call."""
    compiled_grammars: list[CompiledGrammar]
    full_vocab_size: int
    """The number of tokens that the grammars were compiled for."""
    token_bitmask: Any
    prefilled: bool
    """Whether it was called before."""
    batch_size: int

    def __init__(self, compiled_grammar: CompiledGrammar | Sequence[CompiledGrammar]) -> None:
        grammars = (
            [compiled_grammar] if isinstance(compiled_grammar, CompiledGrammar) else list(compiled_grammar)
        )
        if not grammars or not all(isinstance(grammar, CompiledGrammar) for grammar in grammars):
            raise InvalidArgumentError("a LogitsProcessor is made of one CompiledGrammar or of several")
        self.matchers = []
        self.compiled_grammars = grammars
        self.full_vocab_size = grammars[0].tokenizer_info.vocab_size
        self.token_bitmask = None
        self.prefilled = False
        self.batch_size = 0

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ANN401 - arrays of any library
        """Forbid, in ``scores``, the tokens that cannot follow ``input_ids``, and return the scores."""
        if not self.matchers:
            self._begin(len(input_ids))
        if len(input_ids) != self.batch_size:
            raise MatcherError(
                f"this processor has {self.batch_size} outputs under way, and was called with {len(input_ids)}; "
                "make a new one for each call of generate"
            )
        if self.prefilled:
            self._accept(input_ids)
        self.prefilled = True
        for row, matcher in enumerate(self.matchers):
            if matcher.is_terminated():
                self.token_bitmask[row] = -1
            else:
                matcher.fill_next_token_bitmask(self.token_bitmask, row)
        bitmask = self.token_bitmask
        device = getattr(scores, "device", "cpu")
        if hasattr(bitmask, "to") and str(device) != "cpu":
            bitmask = bitmask.to(device, non_blocking=True)
        apply_token_bitmask_inplace(scores, bitmask)
        return scores

    def _begin(self, batch_size: int) -> None:
        grammars = (
            self.compiled_grammars * batch_size
            if len(self.compiled_grammars) == 1
            else self.compiled_grammars
        )
        if len(grammars) != batch_size:
            raise InvalidArgumentError(f"there are {len(grammars)} grammars for {batch_size} outputs")
        self.batch_size = batch_size
        self.matchers = [GrammarMatcher(grammar) for grammar in grammars]
        self.token_bitmask = allocate_token_bitmask(batch_size, self.full_vocab_size)

    def _accept(self, input_ids: Any) -> None:  # noqa: ANN401 - an array of any library
        for row, matcher in enumerate(self.matchers):
            if matcher.is_terminated():
                continue
            token = int(input_ids[row][-1])
            if not matcher.accept_token(token):
                raise MatcherError(
                    f"output {row} went on with token {token}, which its grammar does not allow"
                )
