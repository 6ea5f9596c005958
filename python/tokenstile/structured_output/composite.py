"""Several grammars at once: a token fits if it fits all of them.

The language is the intersection of theirs. Where all are grammars of tokenstile at their start, and their intersection
can be compiled (`tokenstile.Grammar.intersect`), that is what is followed, and every token in the mask can be
completed. Otherwise the masks are intersected step by step. That lets nothing wrong through either, but may lead to a
place from which no text is in all languages: the mask is then empty, and `CompositeGrammar.is_dead` says so.

The parts are always after the same tokens. A token that one of them refuses is taken back from the others, and so it is
if one raises; a step back that one cannot take (some libraries remember few tokens) is undone in the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenstile._core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher
from tokenstile.exceptions import InvalidArgumentError, LimitExceededError, UnsupportedFeatureError
from tokenstile.structured_output.backend import TokenstileGrammar
from tokenstile.structured_output.contract import StructuredOutputGrammar

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["CompositeGrammar"]

_WORD_BITS = 32


class CompositeGrammar:
    """Follows several grammars at once. Those that are given are not moved, if they are tokenstile's."""

    def __init__(self, grammars: Sequence[StructuredOutputGrammar]) -> None:
        if not grammars:
            raise InvalidArgumentError("a composite needs at least one grammar")
        for grammar in grammars:
            if not isinstance(grammar, StructuredOutputGrammar):
                wrong = type(grammar).__name__
                raise InvalidArgumentError(
                    f"a composite is of StructuredOutputGrammar objects, not of {wrong}"
                )
        joint = _intersection(grammars)
        self._parts: list[StructuredOutputGrammar] = (
            [joint] if joint is not None else [_copy(grammar) for grammar in grammars]
        )
        self._tokens: list[int] = []
        self.is_exact = joint is not None or len(grammars) == 1
        """Whether every token of a mask can be completed to a text of all grammars."""

    def accept_token(self, token_id: int) -> bool:
        """Take a token; returns whether it fits all grammars. If not, or if one raises, nothing has changed."""
        moved: list[StructuredOutputGrammar] = []
        fits = False
        try:
            fits = all(self._move(part, token_id, moved) for part in self._parts)
        finally:
            if not fits:
                for part in moved:
                    part.rollback(1)
        if fits:
            self._tokens.append(token_id)
        return fits

    @staticmethod
    def _move(part: StructuredOutputGrammar, token_id: int, moved: list[StructuredOutputGrammar]) -> bool:
        if part.is_terminated() or not part.accept_tokens("", [token_id]):
            return False
        moved.append(part)
        return True

    def rollback(self, num_tokens: int) -> None:
        """Take back the last tokens, from all grammars or, if that cannot be, from none."""
        if num_tokens <= 0:
            return
        if num_tokens > len(self._tokens):
            raise InvalidArgumentError(
                f"cannot roll back {num_tokens} tokens: the composite has accepted {len(self._tokens)}"
            )
        moved: list[StructuredOutputGrammar] = []
        try:
            for part in self._parts:
                part.rollback(num_tokens)
                moved.append(part)
        except BaseException:
            for part in moved:
                part.accept_tokens("", self._tokens[-num_tokens:])
            raise
        del self._tokens[-num_tokens:]

    def reset(self) -> None:
        """Go back to the start."""
        for part in self._parts:
            part.reset()
        self._tokens.clear()

    def is_terminated(self) -> bool:
        """Tell whether a stop token was accepted."""
        return all(part.is_terminated() for part in self._parts)

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> None:  # noqa: ANN401 - any array
        """Write the mask of the tokens that fit all grammars over row ``index``."""
        self._parts[0].fill_bitmask(bitmask, index)
        row = np.asarray(bitmask)
        row = row if row.ndim == 1 else row[index]
        scratch = np.empty((1, row.shape[-1]), dtype=np.int32)
        for part in self._parts[1:]:
            part.fill_bitmask(scratch, 0)
            row &= scratch[0]

    def is_dead(self) -> bool:
        """Tell whether no token fits all grammars, though the text has not ended."""
        if self.is_terminated() or self.is_exact:
            return False
        words = next(_words(part) for part in self._parts)
        row = np.empty((1, words), dtype=np.int32)
        self.fill_next_token_bitmask(row)
        return not row.any()


def _words(grammar: StructuredOutputGrammar) -> int:
    if not isinstance(grammar, TokenstileGrammar):
        raise InvalidArgumentError("the size of the vocabulary is known of tokenstile's grammars only")
    return -(-grammar.matcher.compiled_grammar.tokenizer_info.vocab_size // _WORD_BITS)


def _copy(grammar: StructuredOutputGrammar) -> StructuredOutputGrammar:
    return TokenstileGrammar(grammar.matcher.fork()) if isinstance(grammar, TokenstileGrammar) else grammar


def _intersection(grammars: Sequence[StructuredOutputGrammar]) -> TokenstileGrammar | None:
    """Return the grammar of what all have in common, where that can be compiled."""
    matchers = [grammar.matcher for grammar in grammars if isinstance(grammar, TokenstileGrammar)]
    if len(matchers) < len(grammars) or len(grammars) == 1 or not all(map(_is_at_start, matchers)):
        return None
    compiled = [matcher.compiled_grammar for matcher in matchers]
    stops = matchers[0].stop_token_ids
    if any(other.tokenizer_info != compiled[0].tokenizer_info for other in compiled[1:]):
        raise InvalidArgumentError("the grammars of a composite must be for one vocabulary")
    if any(matcher.stop_token_ids != stops for matcher in matchers[1:]):
        return None
    try:
        joint = _compile_intersection(compiled)
    except (UnsupportedFeatureError, LimitExceededError):
        return None  # it cannot be made ahead of time; that nothing is in all of them is an error
    return TokenstileGrammar.start(joint, stops)


def _compile_intersection(compiled: Sequence[CompiledGrammar]) -> CompiledGrammar:
    grammar = Grammar.intersect(*(one.grammar for one in compiled))
    return GrammarCompiler(compiled[0].tokenizer_info, cache_enabled=False).compile_grammar(grammar)


def _is_at_start(matcher: GrammarMatcher) -> bool:
    start = matcher.fork()
    try:
        start.rollback(1)
    except RuntimeError:
        return True
    return False
