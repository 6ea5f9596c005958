"""The backends of a manager: one for each name, vocabulary and way to write JSON, made when it is first needed.

A request holds its backend, so a backend is in use as long as one of its requests is not released. Beyond those, a
bounded number is kept. A backend that nobody holds any more is destroyed, and what it has counted is kept, so that
counters do not fall.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenstile.exceptions import LimitExceededError
from tokenstile.structured_output.backend import TokenstileBackend
from tokenstile.structured_output.compile_lanes import QUICK_SECONDS
from tokenstile.structured_output.compile_pool import NotQuickError
from tokenstile.structured_output.contract import BackendContext, StructuredOutputBackend
from tokenstile.structured_output.recent import RecentlyUsed
from tokenstile.structured_output.registry import create_backend

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    from tokenstile._core import CancelToken
    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.key import StructuredOutputKey
    from tokenstile.structured_output.params import StructuredOutputsParams
    from tokenstile.structured_output.tokenizers import KnownTokenizer

__all__ = ["BackendSet", "KnownBackend"]

logger = logging.getLogger("tokenstile.structured_output")

_COUNTERS = ("requests", "compilations")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
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

    @property
    def can_be_stopped(self) -> bool:
        """Whether a compilation ends in time when it is given little: other libraries' go on."""
        return isinstance(self.backend, TokenstileBackend)

    def compile_quickly(self, key: StructuredOutputKey, cancel: CancelToken) -> StructuredOutputGrammar:
        """Compile a grammar as long as that takes little time; `NotQuickError` if it does not."""
        started = time.perf_counter()
        try:
            return self.compile(key, None, cancel, QUICK_SECONDS)
        except LimitExceededError as error:
            # Another limit is met again.
            if time.perf_counter() - started < QUICK_SECONDS:
                raise
            raise NotQuickError from error

    def compile(
        self,
        key: StructuredOutputKey,
        stop_token_ids: Collection[int] | None,
        cancel: CancelToken,
        timeout: float | None = None,
    ) -> StructuredOutputGrammar:
        """Compile a grammar, to be begun again for each request where that can be."""
        if self.shares_grammars:
            return self.backend.compile_grammar(
                key.grammar_type, key.grammar_spec, timeout=timeout, cancel=cancel
            )
        return self.backend.compile_grammar(key.grammar_type, key.grammar_spec, stop_token_ids)


class BackendSet:
    """Backends by what they are for. May be used from many threads."""

    def __init__(
        self, num_speculative_tokens: int, cache_limit_bytes: int, max_idle: int, max_threads: int
    ) -> None:
        self._num_speculative_tokens = num_speculative_tokens
        self._cache_limit_bytes = cache_limit_bytes
        # No fewer than the pool has: a compilation that takes long would keep others waiting.
        self._max_threads = max_threads
        self._backends: RecentlyUsed[KnownBackend] = RecentlyUsed(max_idle)
        self._retired: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._endings: weakref.WeakKeyDictionary[KnownBackend, weakref.finalize[..., KnownBackend]] = (
            weakref.WeakKeyDictionary()
        )
        # A backend may be let go of by the garbage collector, in the middle of anything: also of what holds this.
        self._lock = threading.RLock()

    def find(self, name: str, tokenizer: KnownTokenizer, params: StructuredOutputsParams) -> KnownBackend:
        """Return the backend for a request, which is made if it is new."""
        options = (
            params.disable_any_whitespace,
            params.disable_additional_properties,
            params.chosen_spelling,
        )
        key = name, tokenizer.fingerprint, options
        return self._backends.find(key, lambda: self._make(key, name, tokenizer, params))

    def _make(
        self, key: Hashable, name: str, tokenizer: KnownTokenizer, params: StructuredOutputsParams
    ) -> KnownBackend:
        context = BackendContext(
            tokenizer.info,
            num_speculative_tokens=self._num_speculative_tokens,
            disable_any_whitespace=params.disable_any_whitespace,
            disable_additional_properties=params.disable_additional_properties,
            spelling=params.chosen_spelling,
            max_threads=self._max_threads,
            cache_limit_bytes=self._cache_limit_bytes,
            encode=tokenizer.encode,
        )
        backend = create_backend(name, context)
        known = KnownBackend(key, name, backend)
        ending = self._endings[known] = weakref.finalize(known, self._retire, name, backend)
        ending.atexit = False
        return known

    def _retire(self, name: str, backend: StructuredOutputBackend) -> None:
        """Destroy a backend that nobody holds any more, and remember what it counted."""
        stats = _stats_of(backend)
        with self._lock:
            for counter in _COUNTERS:
                self._retired[name][counter] += int(stats.get(counter, 0))
        try:
            backend.destroy()
        except Exception:  # another library's; it must not hit whoever happened to hold it last
            logger.exception("a backend of %s could not be destroyed", name)

    def get_stats(self) -> dict[str, dict[str, float]]:
        """Return the numbers of all backends, those of one name added up."""
        with self._lock:
            totals: dict[str, dict[str, float]] = {
                name: dict(counts) for name, counts in self._retired.items()
            }
        for known in self._backends.values():
            total = totals.setdefault(known.name, {})
            for name, number in _stats_of(known.backend).items():
                total[name] = total.get(name, 0) + number
        return totals

    def __len__(self) -> int:
        return len(self._backends)

    def destroy(self) -> None:
        """Destroy all backends, also those that a request holds."""
        backends = self._backends.values()
        self._backends.clear()
        for known in backends:
            self._endings[known]()


def _stats_of(backend: StructuredOutputBackend) -> dict[str, float]:
    """Return the numbers of a backend, if it has the method: vLLM's have not."""
    stats: dict[str, float] = getattr(backend, "get_stats", dict)()
    return stats
