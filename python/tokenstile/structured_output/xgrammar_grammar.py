"""`XGrammarGrammar`: one request's place in a grammar, with the methods of a matcher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile.structured_output.backend import TokenstileGrammar

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokenstile import _core

__all__ = ["XGrammarGrammar"]


class XGrammarGrammar(TokenstileGrammar):
    """One request's place in a grammar, with the methods of a matcher beside those of the contract."""

    __slots__ = ("ctx", "vocab_size")

    def __init__(
        self,
        matcher: _core.GrammarMatcher,
        vocab_size: int | None = None,
        ctx: _core.CompiledGrammar | None = None,
    ) -> None:
        super().__init__(matcher)
        self.ctx = ctx or matcher.compiled_grammar
        """What was compiled."""
        self.vocab_size = vocab_size or self.ctx.tokenizer_info.vocab_size
        """The number of logits."""

    def accept_token(self, token_id: int) -> bool:
        """Take a token; returns whether it fits."""
        return self.matcher.accept_token(token_id)

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> bool:  # noqa: ANN401 - any array
        """Write the mask of the tokens that can come next; returns whether it forbids any."""
        return self.matcher.fill_next_token_bitmask(bitmask, index)

    def fresh(
        self, stop_token_ids: Collection[int] | None = None, max_tokens: int | None = None
    ) -> XGrammarGrammar:
        """Make a second grammar at the start."""
        return XGrammarGrammar(super().fresh(stop_token_ids, max_tokens).matcher, self.vocab_size, self.ctx)
