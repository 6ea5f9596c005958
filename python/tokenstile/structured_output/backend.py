"""The contract, fulfilled by tokenstile itself.

A `TokenstileGrammar` is thin: its `tokenstile.GrammarMatcher` keeps the contract nearly by itself. The manager goes
past it and hands the matchers of a whole batch to the native code at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tokenstile._core import CancelToken, CompiledGrammar, GrammarCompiler, GrammarMatcher
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.bitmask_pool import BitmaskPool
from tokenstile.structured_output.constraint import JsonStyle, compile_constraint
from tokenstile.structured_output.contract import StructuredOutputBackend, StructuredOutputGrammar

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tokenstile.limits import Limits
    from tokenstile.structured_output.contract import BackendContext
    from tokenstile.structured_output.key import GrammarSpec, GrammarType

__all__ = ["TokenstileBackend", "TokenstileGrammar", "matcher_within"]


class TokenstileGrammar(StructuredOutputGrammar):
    """One request's place in a grammar of tokenstile."""

    __slots__ = ("matcher",)

    def __init__(self, matcher: GrammarMatcher) -> None:
        self.matcher = matcher

    @classmethod
    def start(
        cls,
        compiled: CompiledGrammar,
        stop_token_ids: Collection[int] | None = None,
        max_tokens: int | None = None,
    ) -> TokenstileGrammar:
        """Return the place of a request at the start of a compiled grammar.

        With ``max_tokens`` its text is complete within so many tokens: see `matcher_within`.
        """
        stops = _known_stop_tokens(stop_token_ids, compiled.tokenizer_info.vocab_size)
        return cls(matcher_within(compiled, stops, max_tokens))

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:  # noqa: ARG002 - the contract's
        """Take tokens: all of them or none. What comes after the end of the text is ignored."""
        matcher = self.matcher
        for count, token in enumerate(tokens):
            if matcher.is_terminated():
                return True
            if not matcher.accept_token(token):
                matcher.rollback(count)
                return False
        return True

    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix that would be accepted; nothing moves."""
        return list(tokens[: self.matcher.validate_tokens(tokens)])

    def rollback(self, num_tokens: int) -> None:
        """Take back the last ``num_tokens`` accepted tokens."""
        if num_tokens > 0:
            self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: Any, index: int) -> None:  # noqa: ANN401 - any array
        """Write the mask of the tokens that can come next over row ``index``."""
        self.matcher.fill_next_token_bitmask(bitmask, index)

    def is_terminated(self) -> bool:
        """Tell whether a stop token was accepted."""
        return self.matcher.is_terminated()

    def reset(self) -> None:
        """Go back to the start."""
        self.matcher.reset()

    def fresh(
        self, stop_token_ids: Collection[int] | None = None, max_tokens: int | None = None
    ) -> TokenstileGrammar:
        """Make a second grammar at the start, whose text is complete within ``max_tokens`` if that is given."""
        return TokenstileGrammar.start(self.matcher.compiled_grammar, stop_token_ids, max_tokens)

    def jump_forward_string(self) -> str:
        """Return the text that must come next whatever the model says."""
        return "" if self.matcher.is_terminated() else self.matcher.find_jump_forward_string()


def matcher_within(
    compiled: CompiledGrammar, stop_token_ids: list[int] | None, max_tokens: int | None
) -> GrammarMatcher:
    """Return a matcher whose text is complete within ``max_tokens``.

    ``TokenBudgetError`` if no text is so short, or if it is not known how short one can be: then the text could be cut
    off, and who wants it all the same asks without ``max_tokens``.
    """
    return GrammarMatcher(compiled, override_stop_tokens=stop_token_ids, max_tokens=max_tokens)


def _known_stop_tokens(stop_token_ids: Collection[int] | None, vocab_size: int) -> list[int] | None:
    """Return the stop tokens that the model can write at all; ``None`` for the tokenizer's own."""
    if not stop_token_ids:
        return None
    known = sorted(token for token in stop_token_ids if 0 <= token < vocab_size)
    if not known:
        raise InvalidArgumentError(
            f"no stop token of {sorted(stop_token_ids)} is in the vocabulary of {vocab_size} tokens"
        )
    return known


class TokenstileBackend(StructuredOutputBackend):
    """Compiles grammars with tokenstile.

    ``strict_mode`` is that of JSON Schema: objects whose schema is silent about other properties have none. Without it
    a context can still ask for that (``disable_additional_properties``).
    ``max_whitespace`` bounds the white space in each place between the parts of JSON; without it there is what the
    context's ``spelling`` has.
    """

    name: ClassVar[str] = "tokenstile"

    def __init__(
        self,
        context: BackendContext,
        *,
        strict_mode: bool = True,
        max_whitespace: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.context = context
        self.style = JsonStyle(
            compact=context.disable_any_whitespace,
            max_whitespace=max_whitespace,
            strict=strict_mode or context.disable_additional_properties,
            spelling=context.spelling,
        )
        self.compiler = GrammarCompiler(
            context.tokenizer_info,
            max_threads=context.max_threads,
            cache_limit_bytes=context.cache_limit_bytes,
            limits=limits,
        )
        self._limits = limits
        self.bitmasks = BitmaskPool(context.vocab_size)

    def compile_grammar(
        self,
        grammar_type: GrammarType | str,
        grammar_spec: GrammarSpec,
        stop_token_ids: Collection[int] | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> TokenstileGrammar:
        """Compile a grammar, and return the place of a request at its start."""
        compiled = self.compile(grammar_type, grammar_spec, timeout=timeout, cancel=cancel)
        return TokenstileGrammar.start(compiled, stop_token_ids)

    def compile(
        self,
        grammar_type: GrammarType | str,
        grammar_spec: GrammarSpec,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compile a grammar."""
        return compile_constraint(
            self.compiler,
            grammar_type,
            grammar_spec,
            self.style,
            timeout=timeout,
            cancel=cancel,
            limits=self._limits,
        )

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:  # noqa: ANN401 - the contract's
        """Return a bitmask of so many rows, of numpy, that allows everything."""
        return self.bitmasks.acquire(max_num_seqs)

    def release_token_bitmask(self, bitmask: Any) -> None:  # noqa: ANN401 - the contract's
        """Take a bitmask back, to be handed out again."""
        self.bitmasks.release(bitmask)

    def get_stats(self) -> dict[str, float]:
        """Return the numbers of the compiler, and of the pool of bitmasks."""
        return {**self.compiler.get_stats(), **self.bitmasks.get_stats()}

    def destroy(self) -> None:
        """Let go of compiled grammars and buffers. Requests that hold a grammar can go on."""
        self.compiler.clear_cache()
        self.bitmasks.forget()
