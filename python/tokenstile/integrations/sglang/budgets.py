"""Outputs of SGLang that are complete within their ``max_new_tokens``; see `tokenstile.integrations.budgets`.

A grammar of SGLang does not know its request. The scheduler's manager of grammars does, and has one method that every
request comes to when its grammar is there: that one is wrapped. SGLang's wrapper for reasoning keeps thoughts to
itself, and counts them; where it may filter tokens (``--enable-strict-thinking``) it also ends a thought after a number
of tokens, and is told that number.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject
from sglang.srt.constrained.grammar_manager import GrammarManager

from tokenstile.exceptions import TokenBudgetError
from tokenstile.integrations.budgets import room_for_thought
from tokenstile.integrations.sglang.backend import TokenstileGrammarObject

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["apply", "keep_budget"]

_METHOD = "_apply_request_reasoning_config"


def apply() -> None:
    """Wrap the method, unless that was done before; ``AttributeError`` if SGLang does not have it."""
    original = getattr(GrammarManager, _METHOD)
    if not hasattr(original, "__wrapped__"):
        setattr(GrammarManager, _METHOD, _within_budget(original))


def _within_budget(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def configure(self: Any, req: Any) -> None:  # noqa: ANN401 - of SGLang
        original(self, req)
        try:
            keep_budget(req)
        except TokenBudgetError as error:
            # Of what is ready SGLang looks at the grammar after this, of what it had kept before.
            req.grammar = InvalidGrammarObject(str(error))
            req.set_finish_with_abort(str(error))

    return configure


def keep_budget(req: Any) -> None:  # noqa: ANN401 - of SGLang
    """Let the grammar of a request keep within its tokens; ``TokenBudgetError`` if no text is so short."""
    most = req.sampling_params.max_new_tokens
    grammar = req.grammar
    reasoner = None
    if not isinstance(grammar, TokenstileGrammarObject):
        reasoner, grammar = grammar, getattr(grammar, "grammar", None)
    if most is None or not isinstance(grammar, TokenstileGrammarObject):
        return
    thinks = reasoner is not None and bool(req.require_reasoning) and not reasoner.reasoning_in_grammar
    grammar.keep_within(most, reasoner if thinks else None)
    room = room_for_thought(grammar.matcher)
    if reasoner is None or not thinks or room is None:
        return
    longest = room - len(reasoner.think_end_ids)
    if longest < 0:
        needed = most - longest
        raise TokenBudgetError(
            f"a budget of {most} tokens is too small: to end the thought and to write the shortest output takes "
            f"{needed}",
            max_tokens=most,
            tokens_needed=needed,
        )
    known = reasoner.max_think_tokens
    reasoner.max_think_tokens = longest if known < 0 else min(known, longest)
