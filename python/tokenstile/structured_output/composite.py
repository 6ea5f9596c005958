"""Several grammars at once: a token fits if it fits all of them.

The language is the intersection of theirs. Grammars of tokenstile at their start are intersected ahead of time
(`tokenstile.Grammar.intersect`), so that every token in the mask can be completed; where that cannot be done, it is an
error that says why. Grammars of other libraries, and those that have begun, have no language to look at: then the masks
are intersected step by step. That lets nothing wrong through either, but may lead to a place from which no text is in
all languages: the mask is then empty, and `CompositeGrammar.is_dead` says so.

The parts are always after the same tokens. A token that one of them refuses is taken back from the others, and so it is
if one raises; a step back that one cannot take (some libraries remember few tokens) is undone in the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenstile._core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.backend import TokenstileGrammar
from tokenstile.structured_output.contract import StructuredOutputGrammar
from tokenstile.structured_output.single_sequence import CompiledGrammar as GrammarAtPlace

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


__all__ = ["CompositeGrammar"]

_WORD_BITS = 32


class CompositeGrammar(StructuredOutputGrammar):
    """Follows several grammars at once. Those that are given are not moved, if they are tokenstile's.

    A grammar is one of the contract (`StructuredOutputGrammar`), a compiled grammar, or a matcher.
    """

    def __init__(
        self, grammars: Sequence[StructuredOutputGrammar | CompiledGrammar | GrammarAtPlace | GrammarMatcher]
    ) -> None:
        if not grammars:
            raise InvalidArgumentError("a composite needs at least one grammar")
        given = [_as_grammar(grammar) for grammar in grammars]
        joint = _intersection(given)
        self._parts: list[StructuredOutputGrammar] = (
            [joint] if joint is not None else [_copy(grammar) for grammar in given]
        )
        self._tokens: list[int] = []
        self.is_exact = joint is not None or len(given) == 1
        """Whether every token of a mask can be completed to a text of all grammars.

        It can unless one of them is another library's, or has begun."""

    @property
    def parts(self) -> tuple[StructuredOutputGrammar, ...]:
        """The grammars that are followed: one, where all were put together."""
        return tuple(self._parts)

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

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:  # noqa: ARG002 - the contract's
        """Take tokens: all of them or none. What comes after the end of the text is ignored."""
        for count, token in enumerate(tokens):
            if self.is_terminated():
                return True
            if not self.accept_token(token):
                self.rollback(count)
                return False
        return True

    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix that would be accepted; nothing moves."""
        count = 0
        try:
            for token in tokens:
                if self.is_terminated() or not self.accept_token(token):
                    break
                count += 1
        finally:
            self.rollback(count)
        return list(tokens[:count])

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
        if len(self._parts) == 1:
            return
        row = np.asarray(bitmask)
        row = row if row.ndim == 1 else row[index]
        scratch = np.empty((1, row.shape[-1]), dtype=np.int32)
        for part in self._parts[1:]:
            part.fill_bitmask(scratch, 0)
            row &= scratch[0]

    def fill_bitmask(self, bitmask: Any, index: int) -> None:  # noqa: ANN401 - any array
        """Write the mask of the tokens that fit all grammars over row ``index``."""
        self.fill_next_token_bitmask(bitmask, index)

    def fresh(self, stop_token_ids: Collection[int] | None = None) -> CompositeGrammar:
        """Make a second grammar at the start, which shares what was compiled."""
        return _Anew([part.fresh(stop_token_ids) for part in self._parts], is_exact=self.is_exact)

    def jump_forward_string(self) -> str:
        """Return the text that must come next whatever the model says."""
        if len(self._parts) == 1:
            return self._parts[0].jump_forward_string()
        # What one of them forces is what all must go on with, as far as they get.
        return max((part.jump_forward_string() for part in self._parts), key=len)

    def is_dead(self) -> bool:
        """Tell whether no token fits all grammars, though the text has not ended."""
        if self.is_terminated() or self.is_exact:
            return False
        words = next(_words(part) for part in self._parts)
        row = np.empty((1, words), dtype=np.int32)
        self.fill_next_token_bitmask(row)
        return not row.any()


class _Anew(CompositeGrammar):
    """A composite of grammars that were put together already."""

    def __init__(self, parts: list[StructuredOutputGrammar], *, is_exact: bool) -> None:
        self._parts = parts
        self._tokens = []
        self.is_exact = is_exact


def _as_grammar(grammar: object) -> StructuredOutputGrammar:
    if isinstance(grammar, GrammarAtPlace):
        grammar = grammar.compiled
    if isinstance(grammar, CompiledGrammar):
        return TokenstileGrammar.start(grammar)
    if isinstance(grammar, GrammarMatcher):
        return TokenstileGrammar(grammar)
    if isinstance(grammar, StructuredOutputGrammar):
        return grammar
    wrong = type(grammar).__name__
    raise InvalidArgumentError(
        f"a composite is of StructuredOutputGrammar objects, compiled grammars and matchers, not of {wrong}"
    )


def _words(grammar: StructuredOutputGrammar) -> int:
    if not isinstance(grammar, TokenstileGrammar):
        raise InvalidArgumentError("the size of the vocabulary is known of tokenstile's grammars only")
    return -(-grammar.matcher.compiled_grammar.tokenizer_info.vocab_size // _WORD_BITS)


def _copy(grammar: StructuredOutputGrammar) -> StructuredOutputGrammar:
    return TokenstileGrammar(grammar.matcher.fork()) if isinstance(grammar, TokenstileGrammar) else grammar


def _intersection(grammars: Sequence[StructuredOutputGrammar]) -> StructuredOutputGrammar | None:
    """Return the grammar of what all have in common; ``None`` where there is no language to look at."""
    parts = [_only_part(grammar) for grammar in grammars]
    matchers = [part.matcher for part in parts if isinstance(part, TokenstileGrammar)]
    if len(matchers) < len(grammars) or len(grammars) == 1 or not all(map(_is_at_start, matchers)):
        return None
    compiled = [matcher.compiled_grammar for matcher in matchers]
    stops = matchers[0].stop_token_ids
    if any(other.tokenizer_info != compiled[0].tokenizer_info for other in compiled[1:]):
        raise InvalidArgumentError("the grammars of a composite must be for one vocabulary")
    if any(matcher.stop_token_ids != stops for matcher in matchers[1:]):
        return None
    return TokenstileGrammar.start(_compile_intersection(compiled), stops)


def _only_part(grammar: StructuredOutputGrammar) -> StructuredOutputGrammar:
    """Return what a composite follows, if that is one grammar."""
    parts = grammar.parts if isinstance(grammar, CompositeGrammar) else ()
    return parts[0] if len(parts) == 1 else grammar


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
