"""Giving a grammar what a token means for it: the token, the bytes after a marker, or nothing.

The bytes after a marker are the end of a token and need not be a token themselves. Grammars of tokenstile read bytes;
those of other libraries read tokens only, so the bytes are spelled for them with as few tokens of the vocabulary as can
be. For a grammar over text it makes no difference which tokens spell it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile.structured_output.backend import TokenstileGrammar

if TYPE_CHECKING:
    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.reasoning import Feed, ReasoningGate
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["Spelling", "feed_grammar", "would_take"]


class Spelling:
    """Spells bytes with tokens of a vocabulary; those that stand for no text are not used."""

    def __init__(self, info: TokenizerInfo) -> None:
        others = {*info.special_token_ids, *info.stop_token_ids}
        self._ids = {
            token: number for number, token in enumerate(info.decoded_vocab) if token and number not in others
        }
        self._longest = max(map(len, self._ids), default=0)

    def spell(self, text: bytes) -> list[int] | None:
        """Return the fewest tokens that are this text together, or nothing if none are."""
        best: list[list[int] | None] = [[]]
        for end in range(1, len(text) + 1):
            found: list[int] | None = None
            for start in range(max(0, end - self._longest), end):
                before, last = best[start], self._ids.get(text[start:end])
                if before is None or last is None:
                    continue
                if found is None or len(before) + 1 < len(found):
                    found = [*before, last]
            best.append(found)
        return best[-1]


def feed_grammar(
    grammar: StructuredOutputGrammar, feed: Feed, gate: ReasoningGate | None = None
) -> int | None:
    """Return how many steps the grammar took, or ``None`` if it refused and did not move.

    White space right after the end of a thought is the model's habit, not a part of the answer: what the grammar
    refuses of it is dropped. Bytes come from a ``gate`` only, which knows how to spell them. A grammar that keeps
    within a number of tokens counts those that give it nothing, too.
    """
    if feed is None:
        return _count_token(grammar)
    if isinstance(feed, int):
        return 1 if grammar.accept_tokens("", [feed]) else None
    for text in dict.fromkeys((feed, feed.lstrip(b" \t\r\n"))):
        steps = _feed_text(grammar, text, gate) if text else _count_token(grammar)
        if steps is not None:
            return steps
    return None


def _count_token(grammar: StructuredOutputGrammar) -> int | None:
    """Let a grammar count a token that has nothing for it, if it counts tokens."""
    if not isinstance(grammar, TokenstileGrammar) or grammar.matcher.tokens_left is None:
        return 0
    return 1 if grammar.matcher.accept_string(b"", token_count=1) else None


def _feed_text(grammar: StructuredOutputGrammar, text: bytes, gate: ReasoningGate | None) -> int | None:
    if isinstance(grammar, TokenstileGrammar):
        # The end of a token, whatever would spell it by itself.
        count = None if grammar.matcher.tokens_left is None else 1
        return 1 if grammar.matcher.accept_string(text, token_count=count) else None
    tokens = None if gate is None else gate.spell(text)
    # Looked at first: a backend need not go back by itself when a token in the middle does not fit.
    if not tokens or list(grammar.validate_tokens(tokens)) != tokens or not grammar.accept_tokens("", tokens):
        return None
    if grammar.is_terminated():
        # The request has a stop token that is text elsewhere; a part of a token does not end an answer.
        grammar.rollback(len(tokens))
        return None
    return len(tokens)


def would_take(grammar: StructuredOutputGrammar, feed: Feed, gate: ReasoningGate) -> bool:
    """Tell whether a grammar would not refuse; it ends where it began."""
    steps = feed_grammar(grammar, feed, gate)
    if steps:
        grammar.rollback(steps)
    return steps is not None
