"""Where is a sequence of tokens in its grammar? Asked again and again, for sequences that are nearly the same.

Libraries that let a callback change the scores hand it the tokens so far, and nothing else. They append a token, append
padding to what is finished, exchange the rows of beams, try draft tokens and take them back. So nothing is assumed
about how a sequence came to be: a `Follower` remembers one sequence and moves to another by their longest common
prefix, by undoing and accepting tokens; and `Rows` finds for each row of a batch the remembered sequence that is
nearest, and forks it where several rows go on from the same one. `Generation` knows where the prompts end.

What always holds: after `Follower.move_to(tokens)` its answers depend on ``tokens`` alone, not on its history.

A sequence may hold tokens that the grammar does not allow: padding behind an output that was cut off, or draft tokens
that nobody checked. That is no error. Such a sequence, and one that is finished, can only end: nothing but stop tokens
is allowed behind it. So whatever goes wrong, no text comes out that the grammar does not have.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from tokenstile._core import CompiledGrammar, GrammarMatcher
from tokenstile.exceptions import InvalidArgumentError, MatcherError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Follower", "Generation", "Rows", "compiled_grammars"]

_WORD_BITS: Final = 32


class Follower:
    """One sequence of tokens, and the matcher that has read as much of it as the grammar allows."""

    __slots__ = ("accepted", "matcher", "tokens")

    def __init__(self, matcher: GrammarMatcher) -> None:
        self.matcher = matcher
        self.tokens: list[int] = []
        self.accepted = 0
        """How many of the tokens the matcher has accepted; fewer than all if one of them did not fit."""

    def fork(self) -> Follower:
        """Make a second one that stands where this one does."""
        twin = Follower(self.matcher.fork())
        twin.tokens = self.tokens.copy()
        twin.accepted = self.accepted
        return twin

    def move_to(self, tokens: list[int]) -> None:
        """Stand behind these tokens instead."""
        common = self.common_prefix(tokens)
        if common < self.accepted:
            self.matcher.rollback(self.accepted - common)
            self.accepted = common
        if self.accepted == common:
            # All that was common had been accepted; otherwise it holds the token that did not fit.
            self.accepted += _accept(self.matcher, tokens[common:])
        self.tokens = tokens

    def common_prefix(self, tokens: list[int]) -> int:
        """Count the tokens that this sequence and another one begin with."""
        known = len(self.tokens)
        if tokens[:known] == self.tokens:
            return known
        # Prefixes agree up to some length and not beyond it: slices are compared in native code.
        differs = range(1, min(known, len(tokens)) + 1)
        return bisect_left(differs, True, key=lambda length: tokens[:length] != self.tokens[:length])

    @property
    def strayed(self) -> bool:
        """Whether there is a token that the grammar does not allow; those behind the end do not count."""
        return self.accepted < len(self.tokens) and not self.matcher.is_terminated()

    @property
    def can_only_end(self) -> bool:
        """Whether nothing may follow but the end."""
        return self.accepted < len(self.tokens) or self.matcher.is_terminated()

    def fill(self, bitmask: Any, row: int) -> None:  # noqa: ANN401 - an array of any library
        """Write which tokens may follow into a row of a bitmask."""
        if not self.can_only_end:
            self.matcher.fill_next_token_bitmask(bitmask, row)
            return
        bitmask[row] = 0
        for token in self.matcher.stop_token_ids:
            word, bit = divmod(token, _WORD_BITS)
            # The highest bit of a word is its sign.
            bitmask[row, word] |= 1 << bit if bit < _WORD_BITS - 1 else -(1 << bit)


class Rows:
    """The rows of a batch, each with a follower of its own.

    ``grammars`` has one grammar for all rows, or as many as there are prompts; the rows of a prompt (its beams, or the
    several outputs that were asked for) lie side by side. With ``max_tokens`` each is complete within so many tokens.
    """

    def __init__(self, grammars: Sequence[CompiledGrammar], rows: int, max_tokens: int | None = None) -> None:
        if rows % len(grammars):
            raise InvalidArgumentError(f"there are {len(grammars)} grammars for {rows} outputs")
        self.width: int = rows // len(grammars)
        """How many rows belong to one grammar: they may be exchanged for each other."""
        self.followers: list[Follower] = [
            Follower(GrammarMatcher(grammar, max_tokens=max_tokens))
            for grammar in grammars
            for _ in range(self.width)
        ]

    def move_to(self, sequences: list[list[int]]) -> list[Follower]:
        """Let each row stand behind its tokens, and give the followers in the order of the rows.

        Whatever a library does, it asks for a mask before each token. So all tokens of a row but the last were there
        before, in this row or in one of the same grammar; otherwise nobody knows what they are, and that is an error.
        """
        before = self.followers
        if len(sequences) != len(before):
            raise InvalidArgumentError(f"there are {len(before)} rows under way, not {len(sequences)}")
        taken: set[int] = set()
        after: list[Follower] = []
        for row, tokens in enumerate(sequences):
            source = self._nearest(row, tokens)
            if before[source].common_prefix(tokens) < len(tokens) - 1:
                raise MatcherError(
                    f"row {row} has more than one token that was not there before: it is not the text that this "
                    "processor wrote. Call reset() before another generation"
                )
            after.append(before[source].fork() if source in taken else before[source])
            taken.add(source)
        # All forks are made: now those that were forked may move.
        for follower, tokens in zip(after, sequences, strict=True):
            follower.move_to(tokens)
        self.followers = after
        return after

    def _nearest(self, row: int, tokens: list[int]) -> int:
        """Find the row of the same grammar that has most in common with these tokens."""
        if self.followers[row].common_prefix(tokens) >= len(tokens) - 1:
            return row
        first = row - row % self.width
        return max(
            range(first, first + self.width),
            key=lambda other: (self.followers[other].common_prefix(tokens), other == row),
        )


class Generation:
    """The outputs of one generation after another, each a prompt and what was written behind it.

    The first call says what the prompts are. Calls with other prompts, or with another number of rows, begin anew.
    Sequences are arrays of numpy or torch with two dimensions. With ``max_tokens`` each output is complete within so
    many tokens; ``TokenBudgetError`` if no text of a grammar is so short.
    """

    def __init__(self, grammars: Sequence[CompiledGrammar], max_tokens: int | None = None) -> None:
        self.grammars = grammars
        self.max_tokens = max_tokens
        if max_tokens is not None:
            # Said now, and not when the model has read its prompt.
            Rows(grammars, len(grammars), max_tokens)
        self.prompts: Any = None
        self.rows: Rows | None = None
        self.length = 0
        """How long the sequences of the last call were, with their prompts."""

    @property
    def followers(self) -> list[Follower]:
        """The followers of the rows, in their order."""
        return self.rows.followers if self.rows else []

    def reset(self) -> None:
        """Forget the prompts."""
        self.prompts = self.rows = None

    def follow(self, input_ids: Any, *, may_shrink: bool = True) -> list[Follower]:  # noqa: ANN401 - of any library
        """Let each row stand behind what is written in it.

        ``may_shrink`` says whether tokens may have been taken back. If not, sequences that are shorter than before are
        no longer those of this generation but the prompts of another one, and that is an error.
        """
        if self.rows is None or not self.continues(input_ids):
            self.rows = Rows(self.grammars, len(input_ids), self.max_tokens)
            # Some libraries write all sequences into one buffer, so it is copied.
            self.prompts = deepcopy(input_ids)
            self.length = 0
        prompt, length = self.prompts.shape[1], input_ids.shape[1]
        if prompt < length <= self.length and not may_shrink:
            raise MatcherError(
                f"the sequences have {length} tokens after {self.length}: these look like prompts that begin with "
                "those of the generation before. Call reset() before another generation"
            )
        followers = self.rows.move_to(input_ids[:, prompt:].tolist())
        self.length = length
        return followers

    def continues(self, input_ids: Any) -> bool:  # noqa: ANN401 - an array of any library
        """Tell whether these sequences begin with the prompts that are known."""
        if self.prompts is None:
            return False
        rows, width = self.prompts.shape
        same_shape = len(input_ids) == rows and input_ids.shape[1] >= width
        return same_shape and bool((input_ids[:, :width] == self.prompts).all())


def compiled_grammars(grammars: CompiledGrammar | Iterable[CompiledGrammar]) -> list[CompiledGrammar]:
    """Give one grammar or several as a list, all for one vocabulary."""
    wanted = "a logits processor is made of one CompiledGrammar, or of a list of them"
    if not isinstance(grammars, CompiledGrammar | Iterable):
        raise InvalidArgumentError(f"{wanted}, not of {type(grammars).__name__}")
    found = [grammars] if isinstance(grammars, CompiledGrammar) else list(grammars)
    if not found:
        raise InvalidArgumentError(f"{wanted}, and the list is empty")
    for at, grammar in enumerate(found):
        if not isinstance(grammar, CompiledGrammar):
            raise InvalidArgumentError(f"{wanted}; item {at} is {type(grammar).__name__}")
    if any(grammar.tokenizer_info != found[0].tokenizer_info for grammar in found):
        raise InvalidArgumentError("the grammars of a logits processor must have one vocabulary")
    return found


def _accept(matcher: GrammarMatcher, tokens: list[int]) -> int:
    """Accept as many tokens as fit, and count them."""
    for count, token in enumerate(tokens):
        if matcher.is_terminated() or not matcher.accept_token(token):
            return count
    return len(tokens)
