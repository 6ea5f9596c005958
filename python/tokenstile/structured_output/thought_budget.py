"""Thoughts within a number of tokens: a model may think as long as its answer still fits behind the thought.

A grammar that keeps within ``max_tokens`` counts the tokens of thoughts too (`tokenstile.structured_output.feeding`).
So what it has left, less what its shortest answer needs, is what thoughts may still take, with the marker that ends
them. As long as that is enough for one more token and for the marker after it, whatever that token is, a thought is
free. Then it is ended: only the tokens of the marker are allowed, one after the other, and those that end the thought
and begin an answer that fits.

What always holds: inside a thought there is room for the marker, and behind it for an answer. `allows` decides about a
token as the rows do, which `tokenstile.structured_output.thought_rows` fills.

Where the vocabulary cannot spell the marker nothing can end a thought, so `can_end_thoughts` says so before a budget is
set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile.exceptions import TokenBudgetError
from tokenstile.structured_output.backend import TokenstileGrammar

if TYPE_CHECKING:
    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.reasoning import Feed, GatePosition, ReasoningGate

__all__ = ["allows", "can_end_thoughts", "check_thought_fits", "may_go_on"]


def can_end_thoughts(gate: ReasoningGate | None) -> bool:
    """Tell whether thoughts can be ended in time, if there are any."""
    return gate is None or gate.closing_length is not None


def check_thought_fits(
    grammar: TokenstileGrammar, gate: ReasoningGate | None, position: GatePosition | None
) -> None:
    """Raise ``TokenBudgetError`` if a request begins with a thought that cannot be ended in time."""
    if gate is None or position is None or not position.thinking:
        return
    room, left, marker = _room(grammar), grammar.matcher.tokens_left, gate.closing_length
    if room is None or left is None or marker is None or room >= marker:
        return
    needed = left - room + marker
    raise TokenBudgetError(
        f"a budget of {left} tokens is too small: to end the thought and to write the shortest output takes {needed}",
        max_tokens=left,
        tokens_needed=needed,
    )


def may_go_on(grammar: StructuredOutputGrammar, gate: ReasoningGate) -> bool:
    """Tell whether a thought may have one more token, or begin with one, whatever that token is."""
    room, marker = _room(grammar), gate.closing_length
    return room is None or marker is None or room > marker


def allows(
    grammar: StructuredOutputGrammar,
    gate: ReasoningGate,
    position: GatePosition,
    step: tuple[GatePosition, Feed],
    token: int,
) -> bool:
    """Tell whether thoughts leave enough room after a token; what it gives to the grammar is the grammar's affair."""
    after, feed = step
    if not (position.thinking or after.thinking) or may_go_on(grammar, gate):
        return True
    return position.thinking and (feed is not None or token in gate.closing(position)[:1])


def _room(grammar: StructuredOutputGrammar) -> int | None:
    """Return how many tokens thoughts may still take, with the marker that ends them; ``None`` for any number."""
    if not isinstance(grammar, TokenstileGrammar):
        return None
    left, needed = grammar.matcher.tokens_left, grammar.matcher.tokens_needed
    return None if left is None or needed is None else left - needed
