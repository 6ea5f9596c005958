"""XGrammar's logits processor for ``mlx_lm``, by its name.

XGrammar 0.2.8 has this module too, but its own cannot be imported: it asks for a kernel that is not there any more.

``mlx_lm.generate(..., logits_processors=[XGrammarLogitsProcessor(compiled_grammar)])`` holds one output to a grammar. A
processor belongs to one call: it remembers how long the prompt was and how far the output has come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenstile.exceptions import MatcherError
from tokenstile.integrations.following import Rows, compiled_grammars
from tokenstile.kernels.apply_token_bitmask_mlx import apply_token_bitmask_mlx

if TYPE_CHECKING:
    from tokenstile._core import CompiledGrammar

__all__ = ["XGrammarLogitsProcessor"]


class XGrammarLogitsProcessor:
    """Forbids the tokens that cannot come next in one output of ``mlx_lm``."""

    def __init__(self, grammar: CompiledGrammar, max_rollback_tokens: int = 16) -> None:  # noqa: ARG002 - XGrammar's
        self._rows = Rows(compiled_grammars(grammar), 1)
        self._prompt_length: int | None = None
        self.vocab_size = grammar.tokenizer_info.vocab_size
        self.matcher = self._rows.followers[0].matcher
        self.bitmask = np.full((1, (self.vocab_size + 31) // 32), -1, dtype=np.int32)

    def __call__(self, tokens: Any, logits: Any) -> Any:  # noqa: ANN401 - arrays of MLX
        """Return the logits after ``tokens``, the prompt and what followed it; the first call has the prompt alone."""
        if self._prompt_length is None:
            self._prompt_length = tokens.size
        (follower,) = self._rows.move_to([tokens[self._prompt_length :].tolist()])
        self.matcher = follower.matcher
        if follower.strayed:
            token = follower.tokens[follower.accepted]
            raise MatcherError(f"the output went on with token {token}, which its grammar does not allow")
        if self.matcher.is_terminated():
            return logits
        self.matcher.fill_next_token_bitmask(self.bitmask)
        return apply_token_bitmask_mlx(self.bitmask, logits, min(self.vocab_size, logits.shape[-1]))
