"""The two classes that vLLM's manager works with: a backend for the engine, a grammar for each request.

They are vLLM's classes with tokenstile's insides: constraints are compiled by
`tokenstile.structured_output.constraint`, and a grammar is a `tokenstile.structured_output.TokenstileGrammar`, which
keeps the contract. What is added here is what vLLM does differently: its kinds of constraints, its settings, tensors
of torch, and rows that may be asked for after the end.

The engine trusts nothing that it is sent, because vLLM's front end in Rust sends requests without a check; an error of
`VllmBackend.compile_grammar`, which is called from several threads at once, ends one request.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from tokenstile import BatchGrammarMatcher, get_bitmask_shape
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.integrations._limits import time_limit, white_space_limit
from tokenstile.integrations.vllm import extras
from tokenstile.integrations.vllm.switch import logger
from tokenstile.integrations.vllm.vocabulary import compiler_for
from tokenstile.structured_output import GrammarType, TokenstileGrammar
from tokenstile.structured_output.backend import matcher_within
from tokenstile.structured_output.constraint import JsonStyle, compile_constraint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokenstile import CompiledGrammar, GrammarCompiler
    from tokenstile.json_schema import Spelling

__all__ = ["VllmBackend", "VllmGrammar", "compile_for", "grammar_of", "kind_of", "max_tokens"]

max_tokens: ContextVar[int | None] = ContextVar("tokenstile_max_tokens", default=None)
"""Within how many tokens the output is to be complete whose grammar is being compiled: vLLM does not pass that on."""


def kind_of(kind: StructuredOutputOptions) -> GrammarType:
    """Return tokenstile's kind of constraint for one of vLLM's: they have the same names."""
    known = GrammarType.__members__.get(getattr(kind, "name", ""))
    if known is None:
        raise InvalidArgumentError(f"{kind} is a kind of constraint that tokenstile does not know")
    return known


def compile_for(
    compiler: GrammarCompiler,
    kind: StructuredOutputOptions,
    text: str,
    config: Any,  # noqa: ANN401 - vLLM's settings for structured outputs
    spelling: Spelling | None = None,
) -> CompiledGrammar:
    """Compile a constraint as the settings of a server and its request say, in the time that it may take."""
    style = JsonStyle(
        compact=config.disable_any_whitespace, max_whitespace=white_space_limit(), spelling=spelling
    )
    return compile_constraint(compiler, kind_of(kind), text, style, timeout=time_limit())


@dataclass
class VllmBackend(StructuredOutputBackend):  # type: ignore[misc,unused-ignore] # vLLM may not be installed
    """Compiles the grammars of an engine: ``VllmBackend(vllm_config, tokenizer, vocab_size)``."""

    compiler: GrammarCompiler = field(init=False)
    batch: BatchGrammarMatcher = field(init=False)
    """Fills the rows of many requests in one call, on threads of its own."""

    def __post_init__(self) -> None:
        self.compiler = compiler_for(self.tokenizer, self.vocab_size)
        self.batch = BatchGrammarMatcher()

    def compile_grammar(
        self,
        request_type: StructuredOutputOptions,
        grammar_spec: str,
        stop_token_ids: set[int] | None = None,
    ) -> VllmGrammar:
        """Compile the constraint of one request, whose stop tokens end the text."""
        config = self.vllm_config.structured_outputs_config
        compiled = compile_for(self.compiler, request_type, grammar_spec, config, extras.spelling.get())
        stops = self._known(stop_token_ids or ())
        return VllmGrammar(matcher_within(compiled, stops or None, max_tokens.get()))

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Return so many rows that forbid nothing."""
        return torch.full(get_bitmask_shape(max_num_seqs, self.vocab_size), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Let go of the compiler; grammars that are still in use keep what they need."""
        del self.compiler

    def _known(self, tokens: Iterable[int]) -> list[int]:
        """Return the tokens that the vocabulary has; a request may name any number as a stop token."""
        return sorted(token for token in tokens if 0 <= token < self.vocab_size)


class VllmGrammar(TokenstileGrammar, StructuredOutputGrammar):  # type: ignore[misc,unused-ignore] # see above
    """The grammar of one request, and how far its text has come."""

    thought_tokens = 0
    """How many tokens of the output came before those that the grammar was given, as far as that was counted."""

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:
        """Take tokens up to the end, all of them or none; return whether they fit."""
        fits = super().accept_tokens(request_id, tokens)
        if not fits:
            logger.error("the tokens %s of request %s do not fit its grammar", tokens, request_id)
        return fits

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write which tokens can come next over a whole row; after the end, all of them."""
        if self.is_terminated():
            bitmask[batch_index].fill_(-1)
        else:
            super().fill_bitmask(bitmask, batch_index)

    def __repr__(self) -> str:
        return f"VllmGrammar({self.matcher!r})"


def grammar_of(request: Any) -> VllmGrammar:  # noqa: ANN401 - of vLLM
    """Return the grammar of a scheduled request, which vLLM schedules only once it is compiled."""
    grammar = request.structured_output_request.grammar
    if not isinstance(grammar, VllmGrammar):
        raise TypeError(f"request {request.request_id} was scheduled with the grammar {grammar!r}")
    return grammar
