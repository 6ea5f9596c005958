"""The backends of a manager: one for each name, vocabulary and way to write JSON, made when it is first needed."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenstile.structured_output.contract import BackendContext, StructuredOutputBackend
from tokenstile.structured_output.registry import create_backend

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    from tokenstile._core import CancelToken
    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.key import StructuredOutputKey
    from tokenstile.structured_output.params import StructuredOutputsParams
    from tokenstile.structured_output.tokenizers import KnownTokenizer

__all__ = ["BackendSet", "KnownBackend"]


@dataclass(frozen=True, slots=True)
class KnownBackend:
    """A backend, and what it is known by."""

    key: Hashable
    name: str
    backend: StructuredOutputBackend

    @property
    def shares_grammars(self) -> bool:
        """Whether one compilation can serve several requests.

        Not where a backend has vLLM's methods only: those have no way to begin again from a compiled grammar.
        """
        return isinstance(self.backend, StructuredOutputBackend)

    def compile(
        self, key: StructuredOutputKey, stop_token_ids: Collection[int] | None, cancel: CancelToken
    ) -> StructuredOutputGrammar:
        """Compile a grammar, to be begun again for each request where that can be."""
        if self.shares_grammars:
            return self.backend.compile_grammar(key.grammar_type, key.grammar_spec, cancel=cancel)
        return self.backend.compile_grammar(key.grammar_type, key.grammar_spec, stop_token_ids)


class BackendSet:
    """Backends by what they are for. May be used from many threads."""

    def __init__(self, num_speculative_tokens: int, cache_limit_bytes: int) -> None:
        self._num_speculative_tokens = num_speculative_tokens
        self._cache_limit_bytes = cache_limit_bytes
        self._lock = threading.Lock()
        self._backends: dict[Hashable, KnownBackend] = {}

    def find(self, name: str, tokenizer: KnownTokenizer, params: StructuredOutputsParams) -> KnownBackend:
        """Return the backend for a request, which is made if it is new."""
        options = params.disable_any_whitespace, params.disable_additional_properties
        key = name, tokenizer.fingerprint, options
        with self._lock:
            known = self._backends.get(key)
            if known is None:
                context = BackendContext(
                    tokenizer.info,
                    num_speculative_tokens=self._num_speculative_tokens,
                    disable_any_whitespace=params.disable_any_whitespace,
                    disable_additional_properties=params.disable_additional_properties,
                    cache_limit_bytes=self._cache_limit_bytes,
                    encode=tokenizer.encode,
                )
                known = self._backends[key] = KnownBackend(key, name, create_backend(name, context))
        return known

    def get_stats(self) -> dict[str, dict[str, float]]:
        """Return the numbers of all backends, those of one name added up."""
        totals: dict[str, dict[str, float]] = {}
        with self._lock:
            backends = list(self._backends.values())
        for known in backends:
            get_stats = getattr(known.backend, "get_stats", dict)
            total = totals.setdefault(known.name, {})
            for name, number in get_stats().items():
                total[name] = total.get(name, 0) + number
        return totals

    def destroy(self) -> None:
        """Let go of all backends."""
        with self._lock:
            backends, self._backends = list(self._backends.values()), {}
        for known in backends:
            known.backend.destroy()
