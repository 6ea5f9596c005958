"""The two classes that vLLM's manager works with: a backend for the engine, a grammar for each request.

What vLLM asks of them beyond the signatures, and what holds here:

1. `TokenstileBackend.compile_grammar` is called from several threads at once, and an error of it ends one request.
2. The stop tokens of the request end the text. They are forbidden until the grammar can end, and any of them then
   does it.
3. `TokenstileGrammar.accept_tokens` takes an empty list, and ignores what comes after the end.
4. `TokenstileGrammar.rollback` leads out of the end again, and does nothing for a number that is not positive.
5. `TokenstileGrammar.fill_bitmask` writes the whole row, for rows are used again.
6. Ids that are no tokens, such as the -1 of padded drafts, do not fit, and are no error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from tokenstile import BatchGrammarMatcher, GrammarMatcher, get_bitmask_shape
from tokenstile.integrations.vllm.constraints import compile_constraint
from tokenstile.integrations.vllm.switch import logger
from tokenstile.integrations.vllm.vocabulary import compiler_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenstile import GrammarCompiler

__all__ = ["TokenstileBackend", "TokenstileGrammar"]


@dataclass
class TokenstileBackend(StructuredOutputBackend):  # type: ignore[misc,unused-ignore] # vLLM may not be installed
    """Compiles the grammars of an engine: ``TokenstileBackend(vllm_config, tokenizer, vocab_size)``."""

    compiler: GrammarCompiler = field(init=False)
    batch: BatchGrammarMatcher = field(init=False)
    """Fills the rows of many requests in one call, on threads of its own."""
    any_whitespace: bool = field(init=False)

    def __post_init__(self) -> None:
        config = self.vllm_config.structured_outputs_config
        self.any_whitespace = not config.disable_any_whitespace
        self.compiler = compiler_for(self.tokenizer, self.vocab_size)
        self.batch = BatchGrammarMatcher()

    def compile_grammar(
        self,
        request_type: StructuredOutputOptions,
        grammar_spec: str,
        stop_token_ids: set[int] | None = None,
    ) -> TokenstileGrammar:
        """Compile the constraint of one request."""
        compiled = compile_constraint(
            self.compiler, request_type, grammar_spec, any_whitespace=self.any_whitespace
        )
        stops = self._known(stop_token_ids or ())
        return TokenstileGrammar(GrammarMatcher(compiled, override_stop_tokens=stops or None))

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Return so many rows that forbid nothing."""
        return torch.full(get_bitmask_shape(max_num_seqs, self.vocab_size), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Let go of the compiler; grammars that are still in use keep what they need."""
        del self.compiler

    def _known(self, tokens: Iterable[int]) -> list[int]:
        """Return the tokens that the vocabulary has; a request may name any number as a stop token."""
        return sorted(token for token in tokens if 0 <= token < self.vocab_size)


class TokenstileGrammar(StructuredOutputGrammar):  # type: ignore[misc,unused-ignore] # vLLM may not be installed
    """The grammar of one request, and how far its text has come."""

    def __init__(self, matcher: GrammarMatcher) -> None:
        self.matcher = matcher
        # vLLM asks for this several times a token, so it is kept rather than asked for.
        self._is_terminated = matcher.is_terminated()

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Take tokens in turn, up to the end; return whether all of them fit."""
        for token in tokens:
            if self._is_terminated:
                break
            if not self.matcher.accept_token(token):
                logger.error("token %s of request %s does not fit its grammar", token, request_id)
                return False
            self._is_terminated = self.matcher.is_terminated()
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Return the tokens from the first on that would fit one after the other; nothing moves."""
        return [] if self._is_terminated else tokens[: self.matcher.validate_tokens(tokens)]

    def rollback(self, num_tokens: int) -> None:
        """Take back the last tokens, also the one that ended the text."""
        if num_tokens > 0:
            self.matcher.rollback(num_tokens)
            self.refresh()

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write which tokens can come next over a whole row; after the end, all of them."""
        if self._is_terminated:
            bitmask[batch_index].fill_(-1)
        else:
            self.matcher.fill_next_token_bitmask(bitmask, batch_index)

    def is_terminated(self) -> bool:
        """Tell whether a stop token was taken."""
        return self._is_terminated

    def reset(self) -> None:
        """Go back to the beginning."""
        self.matcher.reset()
        self.refresh()

    def refresh(self) -> None:
        """Ask the matcher anew whether it has ended, after somebody moved it."""
        self._is_terminated = self.matcher.is_terminated()

    def __repr__(self) -> str:
        return f"TokenstileGrammar({self.matcher!r})"


def grammar_of(request: Any) -> TokenstileGrammar:  # noqa: ANN401 - of vLLM
    """Return the grammar of a scheduled request, which vLLM schedules only once it is compiled."""
    grammar = request.structured_output_request.grammar
    if not isinstance(grammar, TokenstileGrammar):
        raise TypeError(f"request {request.request_id} was scheduled with the grammar {grammar!r}")
    return grammar
