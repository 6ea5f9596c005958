"""Rows inside a thought: everything, less the tokens that would end it with the wrong beginning of an answer.

A thought is free, so nearly all bits are ones. But a token may hold the end of the marker and then more, and that rest
is the beginning of the answer; and openers of the answer belong to it as a whole. Such a token is allowed just if the
grammar takes what it gets of it, so that here too a bit is set if and only if the token would be accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile.structured_output.backend import TokenstileGrammar
from tokenstile.structured_output.bits import allow_token, forbid_token
from tokenstile.structured_output.feeding import would_take
from tokenstile.structured_output.thought_budget import may_go_on

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.reasoning import Feed, GatePosition, ReasoningGate

__all__ = ["allow_opening", "fill_thought_row"]


def fill_thought_row(
    grammar: StructuredOutputGrammar,
    gate: ReasoningGate,
    position: GatePosition,
    row: npt.NDArray[np.int32],
) -> None:
    """Fill the row of a place inside a thought. Grammars of tokenstile do not move; others move and go back."""
    is_free = may_go_on(grammar, gate)
    row.fill(-1 if is_free else 0)
    if not is_free:
        for token in gate.closing(position)[:1]:
            allow_token(row, token)
    doubtful = gate.tokens_with_content(position)
    if not doubtful:
        return
    if isinstance(grammar, TokenstileGrammar):
        grammar = TokenstileGrammar(grammar.matcher.fork())
    # Hundreds of tokens may end a marker, with few different rests.
    known: dict[Feed, bool] = {}
    for token, feed in doubtful:
        if feed not in known:
            known[feed] = would_take(grammar, feed, gate)
        change = allow_token if known[feed] else forbid_token
        change(row, token)


def allow_opening(
    grammar: StructuredOutputGrammar,
    gate: ReasoningGate | None,
    position: GatePosition | None,
    row: npt.NDArray[np.int32],
) -> None:
    """Set the bit of the token that begins a thought, where one may begin. No other meaning of it is left there."""
    if gate is None or position is None:
        return
    token = gate.open_token(position)
    if token is not None:
        change = allow_token if may_go_on(grammar, gate) else forbid_token
        change(row, token)
