"""Outputs of vLLM that are complete within their ``max_tokens``; see `tokenstile.integrations.budgets`.

vLLM compiles a grammar without saying for whom, so the two places are wrapped that know the request: where its grammar
is made, and where its tokens are accepted. The latter says when a thought has ended, and how long it was. A thought is
ended in time where the request's reasoning parser knows a token that ends one and is no part of the answer: near the
end its rows, which are free otherwise, allow that token only.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenstile.integrations.budgets import count_thought, room_for_thought
from tokenstile.integrations.vllm.backend import VllmGrammar, max_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

__all__ = ["counting", "end_thoughts", "most_tokens", "within_budget"]


def most_tokens(request: Any, config: Any) -> int | None:  # noqa: ANN401 - of vLLM
    """Return how many tokens a request may write: what it asked for, as far as the model has room."""
    room: int = config.model_config.max_model_len - request.num_prompt_tokens
    asked: int | None = request.max_tokens
    return max(min(asked if asked is not None else room, room), 0)


def within_budget(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``StructuredOutputManager._create_grammar``: the grammar keeps within the tokens of its request."""

    @functools.wraps(original)
    def create_grammar(self: Any, request: Any) -> Any:  # noqa: ANN401 - of vLLM
        token = max_tokens.set(most_tokens(request, self.vllm_config))
        try:
            return original(self, request)
        finally:
            max_tokens.reset(token)

    return create_grammar


def counting(original: Callable[..., bool]) -> Callable[..., bool]:
    """Wrap ``StructuredOutputManager.accept_tokens``: where a thought ends, its tokens are counted."""

    @functools.wraps(original)
    def accept_tokens(self: Any, request: Any, new_token_ids: list[int]) -> bool:  # noqa: ANN401 - of vLLM
        structured = request.structured_output_request
        grammar = None if structured is None else structured.grammar
        if isinstance(grammar, VllmGrammar) and new_token_ids and not structured.reasoning_ended:
            start, _ = self._get_constraint_bounds(request, new_token_ids, spec_tokens_committed=True)
            if start <= len(new_token_ids):
                before = request.num_output_tokens - len(new_token_ids) + start
                count_thought(grammar, before, request.request_id)
        return original(self, request, new_token_ids)

    return accept_tokens


def end_thoughts(
    manager: Any,  # noqa: ANN401 - of vLLM
    request: Any,  # noqa: ANN401 - of vLLM
    rows: npt.NDArray[np.int32],
) -> None:
    """Let the free rows of a request that thinks allow the end of the thought only, from where nothing else fits."""
    grammar = request.structured_output_request.grammar
    room = room_for_thought(grammar.matcher) if isinstance(grammar, VllmGrammar) else None
    if room is None:
        return
    written = request.num_output_tokens + getattr(request, "num_output_placeholders", 0)
    # One token for the end of the thought, and one more in the first row that is still free.
    free = max(room - written - 1, 0)
    if free >= len(rows):
        return
    end = _end_of_thought(manager._get_reasoner(request))  # noqa: SLF001 - as vLLM does
    if end is not None and 0 <= end < 32 * rows.shape[1]:
        rows[free:] = 0
        rows.view(np.uint32)[free:, end // 32] = np.uint32(1 << end % 32)


def _end_of_thought(reasoner: Any) -> int | None:  # noqa: ANN401 - of vLLM
    """Return the token that ends a thought and nothing else, if the parser knows one."""
    end = getattr(reasoner, "end_token_id", None)
    if isinstance(end, int):
        return end
    # Parsers of the newer kind have a set, with the tokens that are also the beginning of the answer.
    for token in sorted(getattr(reasoner, "reasoning_end_token_ids", ())):
        if not reasoner.find_reasoning_end([token]).implicit:
            return int(token)
    return None
