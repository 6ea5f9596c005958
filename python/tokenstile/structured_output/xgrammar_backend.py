"""The classes that backends for XGrammar are written with, by their usual names, on tokenstile.

`XGrammarBackend` takes any tokenizer object and finds out what it is; one that it has seen is not read again.
`AsyncXGrammarBackend` compiles without blocking.
Both are `StructuredOutputBackend` and go through the conformance suite like any other.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

from tokenstile.lark import lark_to_ebnf
from tokenstile.structured_output.backend import TokenstileBackend
from tokenstile.structured_output.composite import CompositeGrammar
from tokenstile.structured_output.contract import BackendContext
from tokenstile.structured_output.key import GrammarType
from tokenstile.structured_output.measured import MeasuredGrammar, Measurements
from tokenstile.structured_output.single_sequence import CompiledGrammar, GrammarCompiler, GrammarMatcher
from tokenstile.structured_output.tokenizers import TOKENIZERS
from tokenstile.structured_output.xgrammar_grammar import XGrammarGrammar
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


class XGrammarBackend(TokenstileBackend):
    """A backend for one tokenizer, which may be any object that `TokenizerInfo.from_tokenizer` reads.

    With ``measure`` its grammars count and time what is done with them, for `get_stats`; without it they are plain.
    ``count_decided`` also counts, for each mask, how many tokens are decided without the context, which takes longer
    than the mask.
    """

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
        *,
        measure: bool = True,
        count_decided: bool = False,
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
        self.measurements = Measurements(counts_decided=count_decided) if measure or count_decided else None

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
        started = time.perf_counter()
        grammar = super().compile_grammar(
            grammar_type, grammar_spec, stop_token_ids, timeout=timeout, cancel=cancel
        )
        if self.measurements is None:
            return XGrammarGrammar(grammar.matcher, self.context.vocab_size)
        self.measurements.observe("compile_call", time.perf_counter() - started)
        return MeasuredGrammar(grammar.matcher, self.context.vocab_size, None, self.measurements)

    def get_stats(self) -> dict[str, float]:
        """Return what was compiled and how often the cache had it, the pool of bitmasks, and what was measured.

        Numbers of calls and tokens are ``masks``, ``accepts``, ``rejects``, ``rollbacks``, ``jump_forward_texts`` and
        others; ``mask_seconds``, ``accept_seconds`` and ``compile_call_seconds`` are sums, each with ``_p50`` and
        ``_p99``.
        """
        stats = super().get_stats()
        stats["cache_hits"] = max(stats["requests"] - stats["compilations"], 0)
        if self.measurements is not None:
            stats.update(self.measurements.get_stats())
        return stats

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
