"""Giving a grammar what a token means for it: the token, the bytes after a marker, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile.structured_output.backend import TokenstileGrammar

if TYPE_CHECKING:
    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.reasoning import Feed

__all__ = ["feed_grammar"]


def feed_grammar(grammar: StructuredOutputGrammar, feed: Feed) -> int | None:
    """Return how many steps the grammar took, or ``None`` if it refused.

    White space right after the end of a thought is the model's habit, not a part of the answer: what the grammar
    refuses of it is dropped. Bytes that are not a whole token can be read by grammars of tokenstile only.
    """
    if feed is None:
        return 0
    if isinstance(feed, int):
        return 1 if grammar.accept_tokens("", [feed]) else None
    for text in dict.fromkeys((feed, feed.lstrip(b" \t\r\n"))):
        if not text:
            return 0
        if isinstance(grammar, TokenstileGrammar) and grammar.matcher.accept_string(text):
            return 1
    return None
