"""The classes that backends for XGrammar are written with, by their usual names, on tokenstile.

`XGrammarBackend` takes any tokenizer object and finds out what it is; one that it has seen is not read again.
`AsyncXGrammarBackend` compiles without blocking.
Both are `StructuredOutputBackend` and go through the conformance suite like any other.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

from tokenstile.lark import lark_to_ebnf
from tokenstile.structured_output.backend import TokenstileBackend, TokenstileGrammar
from tokenstile.structured_output.composite import CompositeGrammar
from tokenstile.structured_output.contract import BackendContext
from tokenstile.structured_output.key import GrammarType
from tokenstile.structured_output.single_sequence import CompiledGrammar, GrammarCompiler, GrammarMatcher
from tokenstile.structured_output.tokenizers import TOKENIZERS
from tokenstile.tokenizer_info import TokenizerInfo, VocabType

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokenstile import _core
    from tokenstile.json_schema import Spelling
    from tokenstile.structured_output.key import GrammarSpec

__all__ = [
    "AsyncXGrammarBackend",
    "CompiledGrammar",
    "CompositeGrammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "GrammarType",
    "TokenizerInfo",
    "VocabType",
    "XGrammarBackend",
    "XGrammarGrammar",
]


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


class XGrammarBackend(TokenstileBackend):
    """A backend for one tokenizer, which may be any object that `TokenizerInfo.from_tokenizer` reads."""

    name: ClassVar[str] = "tokenstile"

    def __init__(  # noqa: PLR0917 - the usual signature
        self,
        tokenizer: object,
        vocab_size: int | None = None,
        disable_any_whitespace: bool = False,
        num_speculative_tokens: int = 0,
        max_threads: int = 8,
        cache_limit_mb: int = 512,
        spelling: Spelling | None = None,
    ) -> None:
        known = TOKENIZERS.find(tokenizer, vocab_size)
        self.tokenizer_info = known.info
        context = BackendContext(
            self.tokenizer_info,
            num_speculative_tokens=num_speculative_tokens,
            disable_any_whitespace=disable_any_whitespace,
            spelling=spelling,
            max_threads=max_threads,
            cache_limit_bytes=cache_limit_mb << 20,
            encode=known.encode,
        )
        super().__init__(context)

    def compile_grammar(
        self,
        grammar_type: GrammarType | str,
        grammar_spec: GrammarSpec,
        stop_token_ids: Collection[int] | None = None,
        *,
        timeout: float | None = None,
        cancel: _core.CancelToken | None = None,
    ) -> XGrammarGrammar:
        """Compile a grammar, and return the place of a request at its start."""
        grammar = super().compile_grammar(
            grammar_type, grammar_spec, stop_token_ids, timeout=timeout, cancel=cancel
        )
        return XGrammarGrammar(grammar.matcher, self.context.vocab_size)

    def _convert_lark_to_ebnf(self, lark_grammar: str) -> str:
        """Return the EBNF text of a Lark text."""
        return lark_to_ebnf(lark_grammar, tokenizer_info=self.tokenizer_info)


class AsyncXGrammarBackend(XGrammarBackend):
    """An `XGrammarBackend` that also compiles on threads of its own; the arguments are the same."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of the base class
        super().__init__(*args, **kwargs)
        self._executor = ThreadPoolExecutor(
            self.context.max_threads, thread_name_prefix="tokenstile-async-backend"
        )

    def compile_grammar_future(
        self,
        grammar_type: GrammarType | str,
        grammar_spec: GrammarSpec,
        stop_token_ids: Collection[int] | None = None,
    ) -> Future[XGrammarGrammar]:
        """Compile on a thread; the grammar comes through the future."""
        return self._executor.submit(self.compile_grammar, grammar_type, grammar_spec, stop_token_ids)

    async def compile_grammar_async(
        self,
        grammar_type: GrammarType | str,
        grammar_spec: GrammarSpec,
        stop_token_ids: Collection[int] | None = None,
    ) -> XGrammarGrammar:
        """Compile on a thread, without blocking the event loop."""
        return await asyncio.wrap_future(
            self.compile_grammar_future(grammar_type, grammar_spec, stop_token_ids)
        )

    def destroy(self) -> None:
        """Wait for what is being compiled, and let go of everything."""
        self._executor.shutdown(wait=True)
        super().destroy()
