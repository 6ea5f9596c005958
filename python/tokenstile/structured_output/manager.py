"""`StructuredOutputManager`: everything between a request's parameters and the rows that mask its logits.

```text
 params ──grammar_init──▶ request ──compile pool──▶ grammar        (the request cannot be scheduled before)
                                                      │
     ┌──────────────── at each step ─────────────────┐│
     │ grammar_bitmask(requests, drafts)  ──▶ rows    │◀   one native call, without the GIL,
     │      … the forward pass runs meanwhile …       │    overlapped with the forward pass
     │ apply rows to logits, sample                   │
     │ accept_batch(tokens)               ──▶ fits?   │
     └────────────────────────────────────────────────┘
                              release(request)
```

It belongs to no engine: it knows request ids, token ids and arrays. The rules:

1. A request's trouble is its own. Grammars that cannot be compiled, time limits, cancellations and backends that raise
   reach that request's future or ``error``, and no other. In a batch its rows allow its stop tokens only, and
   `GrammarBitmask.errors` names it: vLLM never schedules such a request, and an engine that does must not let it write
   as if it had no structure.
2. A request that the manager does not know is an error and not an unconstrained one. Requests without structure are
   begun with ``params=None``.
3. Requests may be begun, cancelled, advanced and released from many threads. Batches that use the manager's own bitmask
   are filled one after the other, and their rows are valid until the next one.
"""

from __future__ import annotations

import logging
import math
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

import numpy as np

from tokenstile._core import batch_accept_tokens
from tokenstile.bitmask import get_bitmask_shape
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.accounting import Accounting
from tokenstile.structured_output.backend import TokenstileGrammar
from tokenstile.structured_output.backends import BackendSet
from tokenstile.structured_output.batch import BatchFiller, GrammarBitmask
from tokenstile.structured_output.compile_pool import CompilePool, NotQuickError, Waiter
from tokenstile.structured_output.jump_forward import find_forced_tokens
from tokenstile.structured_output.metrics import Metrics
from tokenstile.structured_output.reasoning import ReasoningGate, ReasoningMarkers
from tokenstile.structured_output.recent import RecentlyUsed
from tokenstile.structured_output.request import RequestStatus, StructuredOutputRequest
from tokenstile.structured_output.thought_budget import can_end_thoughts, check_thought_fits
from tokenstile.structured_output.tokenizers import KnownTokenizer, TokenizerCache
from tokenstile.structured_output.vllm_names import OF_REQUEST, VllmNames, id_of_request

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self, TextIO

    import numpy.typing as npt

    from tokenstile._core import CancelToken, GrammarMatcher
    from tokenstile.structured_output.backends import KnownBackend
    from tokenstile.structured_output.batch import Drafts
    from tokenstile.structured_output.compile_pool import GrammarFuture
    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.key import GrammarType
    from tokenstile.structured_output.metrics import Profile
    from tokenstile.structured_output.params import StructuredOutputsParams
    from tokenstile.structured_output.reasoning import GatePosition
    from tokenstile.structured_output.vllm_names import RequestOfEngine

__all__ = ["StructuredOutputManager"]

logger = logging.getLogger("tokenstile.structured_output")

_NO_BACKEND = "none"
_OWN_GAUGES = ("active_requests", "compiling_requests", "cache_bytes")


class StructuredOutputManager(VllmNames):
    """Holds the structured requests of an engine.

    ``tokenizer`` is anything that `tokenstile.TokenizerInfo.from_tokenizer` reads, and ``vocab_size`` the number of the
    model's logits; requests may bring a tokenizer of their own. A batch has at most ``max_num_seqs`` requests, each
    with at most ``num_speculative_tokens`` drafts. ``reasoning`` are the markers of a reasoning model.
    ``compile_timeout`` is the patience of a request that does not say otherwise, in seconds. ``allocate`` makes
    bitmasks, given rows and the size of the vocabulary: pinned memory, say; numpy arrays are made without it.

    Requests may bring any number of tokenizers. ``max_idle_backends`` is how many backends (and bitmasks, and gates of
    thoughts) are kept of those that no request uses; each may hold ``cache_limit_bytes`` of compiled grammars. What a
    request uses is never dropped.
    """

    def __init__(
        self,
        tokenizer: object = None,
        *,
        vocab_size: int | None = None,
        backend: str = "tokenstile",
        max_num_seqs: int = 256,
        num_speculative_tokens: int = 0,
        reasoning: ReasoningMarkers | None = None,
        compile_workers: int | None = None,
        max_pending: int = 4096,
        compile_timeout: float | None = 30.0,
        fill_threads: int | None = None,
        cache_limit_bytes: int = 512 << 20,
        max_idle_backends: int = 8,
        allocate: Callable[[int, int], Any] | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        if max_num_seqs < 1 or num_speculative_tokens < 0:
            raise InvalidArgumentError(
                "max_num_seqs must be positive, and num_speculative_tokens not negative"
            )
        self.metrics = metrics or Metrics()
        self.max_rows = max_num_seqs * (1 + num_speculative_tokens)
        self._tokenizers = TokenizerCache()
        self._default_tokenizer = None if tokenizer is None else self._tokenizers.find(tokenizer, vocab_size)
        self._default_backend = backend
        self._reasoning = reasoning
        self._compile_timeout = compile_timeout
        self._pool = CompilePool(compile_workers, max_pending)
        self._backends = BackendSet(
            num_speculative_tokens, cache_limit_bytes, max_idle_backends, self._pool.threads
        )
        self._filler = BatchFiller(fill_threads, self._on_request_error)
        self._overlap: ThreadPoolExecutor | None = None
        self._allocate = allocate or _allocate_numpy
        self._bitmasks: RecentlyUsed[Any] = RecentlyUsed(max_idle_backends)
        self._gates: RecentlyUsed[ReasoningGate] = RecentlyUsed(max_idle_backends)
        self._seen_backends = {backend}
        self._requests: dict[str, StructuredOutputRequest] = {}
        self._lock = threading.RLock()
        self._fill_lock = threading.Lock()
        self._accounting = Accounting(self.metrics)
        self._collector = _collector(self)
        self.metrics.add_collector(self._collector)

    # Requests.

    def grammar_init(
        self,
        request_id: str | RequestOfEngine,
        params: StructuredOutputsParams | None = OF_REQUEST,
        *,
        tokenizer: object = None,
        vocab_size: int | None = None,
        backend: str | None = None,
        stop_token_ids: Collection[int] | None = None,
        prompt_token_ids: Sequence[int] = (),
        reasoning: ReasoningMarkers | bool = True,
        timeout: float | None = None,
        max_tokens: int | None = None,
        on_ready: Callable[[StructuredOutputRequest], object] | None = None,
        client: Hashable = None,
    ) -> StructuredOutputRequest:
        """Begin a request, and have its grammar compiled meanwhile.

        ``params`` is ``None`` for a request without structure. ``stop_token_ids`` replace the tokenizer's.
        ``reasoning`` is ``True`` for the manager's markers, ``False`` to constrain thoughts too, or markers of its own;
        the prompt then says whether the request begins with a thought. ``timeout`` is how many seconds the request
        waits for its grammar. What is wrong with the grammar comes out of the request, not of this call. ``client`` is
        who asks: the grammars of clients are compiled in turns.

        With ``max_tokens`` the output, its thoughts and the stop token included, is complete within so many tokens;
        that no text is so short is an error of the request too. It takes a grammar of tokenstile's and an end of
        thoughts that tokens can spell: `StructuredOutputRequest.keeps_budget` says whether it will.

        A request of vLLM in place of the id brings its own params, prompt and stop tokens.
        """
        if not isinstance(request_id, str):
            return self._begin_for_vllm(request_id)
        if params is OF_REQUEST:
            raise InvalidArgumentError("params must be given; a request without structure has params=None")
        patience = _check_timeout(self._compile_timeout if timeout is None else timeout)
        stops = None if stop_token_ids is None else frozenset(stop_token_ids)
        known = self._tokenizer(tokenizer, vocab_size)
        name = backend or self._default_backend
        chosen = None if params is None else self._backends.find(name, known, params)
        gate = self._gate(reasoning, known) if chosen is not None else None
        future: GrammarFuture | None = None if chosen is None else Future()
        request = StructuredOutputRequest(
            request_id,
            params,
            known,
            _NO_BACKEND if chosen is None else name,
            future,
            gate=gate,
            position=None if gate is None else gate.begin(prompt_token_ids),
            stop_token_ids=stops,
            holds=chosen,
        )
        with self._lock:
            if request_id in self._requests:
                raise InvalidArgumentError(f"there is a request {request_id!r} already: release it first")
            self._requests[request_id] = request
            self._seen_backends.add(request.backend)
        self.metrics.count("requests_total", request.backend)
        if on_ready is not None:
            request.add_done_callback(on_ready)
        if chosen is not None and future is not None:
            beginning = _Beginning(stops, max_tokens, request.gate, request.position, request.begun_at)
            self._compile(request, chosen, future, beginning, patience, client=client)
        return request

    def _compile(
        self,
        request: StructuredOutputRequest,
        chosen: KnownBackend,
        future: GrammarFuture,
        beginning: _Beginning,
        timeout: float | None,
        *,
        client: Hashable,
    ) -> None:
        key = request.key
        assert key is not None  # noqa: S101 - for the type checker
        unique = None if chosen.shares_grammars else request.request_id
        waiter = Waiter(
            future,
            partial(self._begin, chosen, beginning),
            partial(self.metrics.count, "compile_timeouts_total", chosen.name),
        )
        # Not the request itself: the future would keep it, and it keeps the future.
        future.add_done_callback(partial(self._on_settled, request.request_id, chosen.name))
        logger.debug(
            "compile %s for %s", key.grammar_type.value, request.request_id, extra={"backend": chosen.name}
        )
        do_compile = partial(self._do_compile, chosen, key.grammar_type)
        joined = self._pool.submit(
            (chosen.key, key, unique),
            partial(do_compile, partial(chosen.compile, key, beginning.stop_token_ids)),
            waiter,
            timeout,
            quick_work=partial(do_compile, partial(chosen.compile_quickly, key))
            if chosen.can_be_stopped
            else None,
            client=client,
        )
        if joined:
            self.metrics.count("compile_shared_total", chosen.name)

    def _do_compile(
        self,
        chosen: KnownBackend,
        grammar_type: GrammarType,
        work: Callable[[CancelToken], StructuredOutputGrammar],
        cancel: CancelToken,
    ) -> StructuredOutputGrammar:
        """Compile, in a thread of the pool."""
        started = time.perf_counter()
        try:
            grammar = work(cancel)
        except NotQuickError:
            raise
        except Exception:
            self.metrics.count("compile_errors_total", chosen.name)
            raise
        seconds = time.perf_counter() - started
        self.metrics.count("compile_total", chosen.name)
        self.metrics.observe("compile_seconds", chosen.name, seconds)
        logger.debug("compiled %s in %.3f ms", grammar_type.value, seconds * 1e3)
        return grammar

    def _begin(
        self, chosen: KnownBackend, beginning: _Beginning, compiled: StructuredOutputGrammar
    ) -> StructuredOutputGrammar:
        """Make a request's own grammar of a compiled one."""
        grammar = beginning.grammar(compiled) if chosen.shares_grammars else compiled
        self.metrics.observe("compile_wait_seconds", chosen.name, time.perf_counter() - beginning.begun_at)
        return grammar

    def _on_settled(self, request_id: str, backend: str, future: GrammarFuture) -> None:
        """Take note of requests that get no grammar."""
        if future.cancelled():
            self.metrics.count("compile_cancelled_total", backend)
            logger.debug("cancelled %s", request_id)
        elif future.exception() is not None:
            logger.debug("no grammar for %s: %s", request_id, future.exception())

    def get(self, request_id: str) -> StructuredOutputRequest:
        """Return a request."""
        return self._find((request_id,))[0]

    def _find(self, request_ids: Iterable[str]) -> list[StructuredOutputRequest]:
        """Return requests; a lookup needs no lock."""
        known = self._requests
        try:
            return [known[request_id] for request_id in request_ids]
        except KeyError as missing:
            raise InvalidArgumentError(f"there is no request {missing.args[0]!r}") from None

    def is_schedulable(self, request_id: str) -> bool:
        """Tell whether a request can be put into a batch."""
        return self.get(request_id).is_schedulable

    def cancel(self, request_id: str) -> None:
        """Give a request up. It stays known until it is released; its rows let it only end."""
        self.get(request_id).cancel()

    def release(self, request_id: str) -> None:
        """Forget a request, cancelling what is under way for it. One that is not known is fine."""
        with self._lock:
            request = self._requests.pop(request_id, None)
        if request is not None:
            request.cancel()

    def _tokenizer(self, tokenizer: object, vocab_size: int | None) -> KnownTokenizer:
        if tokenizer is not None:
            return self._tokenizers.find(tokenizer, vocab_size)
        if self._default_tokenizer is None:
            raise InvalidArgumentError("neither the request nor the manager has a tokenizer")
        return self._default_tokenizer

    def _gate(self, reasoning: ReasoningMarkers | bool, known: KnownTokenizer) -> ReasoningGate | None:
        markers = self._reasoning if reasoning is True else reasoning
        if not markers:
            return None
        return self._gates.find((known.fingerprint, markers), lambda: ReasoningGate(markers, known.info))

    # Steps.

    @overload
    def grammar_bitmask(
        self,
        request_ids: Iterable[str],
        drafts: Mapping[str, Drafts] | None = None,
        *,
        out: Any = None,  # noqa: ANN401 - any array
    ) -> GrammarBitmask: ...

    @overload
    def grammar_bitmask(
        self,
        requests: Mapping[str, object],
        structured_output_request_ids: Iterable[str],
        scheduled_spec_decode_tokens: Mapping[str, Sequence[int]],
        /,
    ) -> npt.NDArray[np.int32] | None: ...

    def grammar_bitmask(
        self,
        request_ids: Iterable[str],
        drafts: Any = None,
        scheduled_spec_decode_tokens: Mapping[str, Sequence[int]] | None = None,
        *,
        out: Any = None,
    ) -> GrammarBitmask | npt.NDArray[np.int32] | None:
        """Fill the rows of a batch, in the order of ``request_ids``.

        ``drafts`` has the draft tokens of the requests that have some: a list for a chain, with -1 for "none from here
        on", or a `DraftTree`. All requests must have vocabularies of one size. ``out`` is a bitmask of the caller's to
        fill instead of the manager's own; the calls of several threads then do not wait for each other.

        With vLLM's three arguments (all requests, the ids of those of the batch, the drafts) it gives the rows alone.
        """
        if scheduled_spec_decode_tokens is not None:
            return self._rows_for_vllm(drafts, scheduled_spec_decode_tokens)
        return self._fill(self._find(request_ids), drafts, out)

    def _fill(
        self,
        requests: Sequence[StructuredOutputRequest],
        drafts: Mapping[str, Drafts] | None,
        out: Any,  # noqa: ANN401 - any array
    ) -> GrammarBitmask:
        started = time.perf_counter()
        if out is not None:
            result, own_seconds = self._filler.fill(requests, drafts, out)
        else:
            with self._fill_lock:
                result, own_seconds = self._filler.fill(requests, drafts, self._bitmask(requests))
        self._accounting.count_fill(requests, result, time.perf_counter() - started, own_seconds)
        return result

    def _bitmask(self, requests: Sequence[StructuredOutputRequest]) -> Any:  # noqa: ANN401 - any array
        """Return the manager's own bitmask for the vocabulary of a batch."""
        sizes = {request.tokenizer.info.vocab_size for request in requests}
        if len(sizes) > 1:
            raise InvalidArgumentError(f"a batch has vocabularies of different sizes: {sorted(sizes)}")
        if not sizes:
            return np.empty((0, 0), dtype=np.int32)
        size = sizes.pop()
        return self._bitmasks.find(size, lambda: self._allocate(self.max_rows, size))

    def grammar_bitmask_async(
        self,
        request_ids: Iterable[str],
        drafts: Mapping[str, Drafts] | None = None,
        *,
        out: Any = None,  # noqa: ANN401 - any array
    ) -> Future[GrammarBitmask]:
        """Fill the rows of a batch on a thread of the manager's, while the forward pass runs.

        A request that is released meanwhile does not hinder the others.
        """
        requests = self._find(request_ids)
        with self._lock:
            if self._overlap is None:
                self._overlap = ThreadPoolExecutor(1, thread_name_prefix="tokenstile-fill")
            return self._overlap.submit(self._fill, requests, drafts, out)

    def accept_tokens(self, request_id: str | RequestOfEngine, tokens: Sequence[int]) -> bool:
        """Take the tokens that a request has written, all of them or none; returns whether they fit.

        No tokens always fit. Tokens after the end of the text are ignored. Tokens of thoughts always fit.
        """
        known = id_of_request(request_id)
        return self.accept_batch({known: tokens})[known]

    def accept_batch(self, tokens: Mapping[str, Sequence[int]]) -> dict[str, bool]:
        """Take the tokens of many requests; returns which of them fit. Those of the others are not taken."""
        started = time.perf_counter()
        requests = self._find(tokens)
        matchers = [request.native for request in requests]
        own_seconds: dict[str, float] = {}
        if None not in matchers and not any(request.gate for request in requests):
            taken = self._accept_natively(
                requests, cast("list[GrammarMatcher]", matchers), list(tokens.values())
            )
        else:
            taken = self._accept_mixed(requests, list(tokens.values()), own_seconds)
        seconds = time.perf_counter() - started
        self._accounting.count_accept(requests, tokens, taken, seconds, own_seconds)
        return {name: count is not None for name, count in zip(tokens, taken, strict=True)}

    def _accept_natively(
        self,
        requests: Iterable[StructuredOutputRequest],
        matchers: Collection[GrammarMatcher],
        tokens: Sequence[Sequence[int]],
    ) -> list[int | None]:
        """Let the native code take tokens; returns how many of each were taken, or nothing where they do not fit."""
        # PERF: nearly always there is one token, and the text has not ended.
        counts: list[int | None] = [
            1 if len(own) == 1 and not matcher.is_terminated() else request.count_taken(own)
            for request, matcher, own in zip(requests, matchers, tokens, strict=True)
        ]
        fits = batch_accept_tokens(self._filler.batch, matchers, tokens)
        if all(fits):
            return counts
        return [count if fit else None for count, fit in zip(counts, fits, strict=True)]

    def _accept_mixed(
        self,
        requests: Sequence[StructuredOutputRequest],
        tokens: Sequence[Sequence[int]],
        own_seconds: dict[str, float],
    ) -> list[int | None]:
        """Give the native code what it can take, and the rest to the requests themselves."""
        for request in requests:
            if request.poll() is RequestStatus.COMPILING:
                raise InvalidArgumentError(
                    f"the grammar of {request.request_id!r} is not ready: it is compiling"
                )
        found = map(_native_matcher, requests, tokens)
        native = {at: matcher for at, matcher in enumerate(found) if matcher is not None}
        counts = self._accept_natively(
            [requests[at] for at in native], native.values(), [tokens[at] for at in native]
        )
        taken = dict(zip(native, counts, strict=True))
        for at in native:
            if taken[at] is not None and requests[at].gate is not None:
                requests[at].note_step()
        for at, request in enumerate(requests):
            if at not in taken:
                started = time.perf_counter()
                taken[at] = self._accept_by_contract(request, tokens[at])
                seconds = time.perf_counter() - started
                own_seconds[request.backend] = own_seconds.get(request.backend, 0.0) + seconds
        return [taken[at] for at in range(len(requests))]

    def _accept_by_contract(self, request: StructuredOutputRequest, tokens: Sequence[int]) -> int | None:
        """Take tokens; returns how many were taken, or nothing if they do not fit."""
        if request.poll() in {RequestStatus.CANCELLED, RequestStatus.FAILED}:
            return None
        try:
            count = request.count_taken(tokens)
            return count if request.accept(tokens) else None
        except Exception as error:  # noqa: BLE001 - another library's; it must not touch the others
            self._on_request_error(request, error)
            return None

    def _on_request_error(self, request: StructuredOutputRequest, error: Exception) -> None:
        """Let a request fail whose backend raised."""
        request.fail(error)
        self.metrics.count("request_errors_total", request.backend)
        logger.debug("%s failed: %r", request.request_id, error)

    def validate_tokens(self, request_id: str | RequestOfEngine, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix of drafts that a request would accept; nothing moves.

        Nothing fits a request that failed or was cancelled, also if it fails here because its backend raises.
        """
        request = self.get(id_of_request(request_id))
        if request.poll() in {RequestStatus.CANCELLED, RequestStatus.FAILED}:
            return []
        if request.matcher is not None or request.grammar is None:
            return request.validate(tokens)
        try:
            return request.validate(tokens)
        except Exception as error:  # noqa: BLE001 - another library's; it must not touch the others
            self._on_request_error(request, error)
            return []

    def rollback(self, request_id: str, num_tokens: int) -> None:
        """Take back the last tokens of a request."""
        self.get(request_id).rollback(num_tokens)

    def jump_forward_tokens(self, request_id: str) -> list[int]:
        """Return tokens that can be appended to a request without asking the model. Nothing moves: accept them."""
        request = self.get(request_id)
        if request.poll() is not RequestStatus.READY or request.matcher is None or request.is_thinking:
            return []
        gate, position = request.gate, request.position
        if gate is not None and position is not None and gate.open_token(position) is not None:
            return []  # a thought may begin here as well
        tokens = find_forced_tokens(request.matcher, request.tokenizer.info, request.tokenizer.encode)
        self.metrics.count("jump_forward_tokens_total", request.backend, len(tokens))
        return tokens

    # Numbers.

    def _collect(self) -> dict[tuple[str, str], float]:
        """Return the gauges, and the counters that the backends keep."""
        with self._lock:
            requests = list(self._requests.values())
            numbers = {(name, backend): 0.0 for backend in self._seen_backends for name in _OWN_GAUGES}
        for request in requests:
            numbers["active_requests", request.backend] += 1
            numbers["compiling_requests", request.backend] += request.poll() is RequestStatus.COMPILING
        for backend, stats in self._backends.get_stats().items():
            numbers["cache_bytes", backend] = stats.get("cache_bytes", 0)
            hits = stats.get("requests", 0) - stats.get("compilations", 0)
            numbers["compile_cache_hits_total", backend] = max(hits, 0)
        return numbers

    def get_stats(self) -> dict[str, dict[str, object]]:
        """Return all metrics as plain data: by metric, then by backend."""
        return self.metrics.snapshot()

    def prometheus_text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        return self.metrics.prometheus_text()

    def profile(self, file: TextIO | None = None) -> AbstractContextManager[Profile]:
        """Print a table of what happened inside a ``with`` block."""
        return self.metrics.profile(file)

    # The end.

    def shutdown(self) -> None:
        """Cancel what is under way and let go of everything. The manager cannot be used afterwards."""
        with self._lock:
            requests, self._requests = list(self._requests.values()), {}
            overlap = self._overlap
        for request in requests:
            request.cancel()
        self._pool.shutdown()
        if overlap is not None:
            overlap.shutdown(wait=True)
        self._backends.destroy()
        self.metrics.remove_collector(self._collector)
        self._bitmasks.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()


class _Beginning(NamedTuple):
    """What a request's own grammar begins with."""

    stop_token_ids: Collection[int] | None
    max_tokens: int | None
    gate: ReasoningGate | None
    position: GatePosition | None
    begun_at: float

    def grammar(self, compiled: StructuredOutputGrammar) -> StructuredOutputGrammar:
        """Return the start of a compiled grammar; ``TokenBudgetError`` if no text of it is short enough."""
        has_budget = self.max_tokens is not None and can_end_thoughts(self.gate)
        if not has_budget or not isinstance(compiled, TokenstileGrammar):
            return compiled.fresh(self.stop_token_ids)
        grammar = compiled.fresh(self.stop_token_ids, self.max_tokens)
        check_thought_fits(grammar, self.gate, self.position)
        return grammar


def _collector(manager: StructuredOutputManager) -> Callable[[], Mapping[tuple[str, str], float]]:
    """Return what collects the numbers of a manager, which it does not keep alive."""
    reference = weakref.ref(manager)

    def collect() -> Mapping[tuple[str, str], float]:
        alive = reference()
        return {} if alive is None else alive._collect()  # noqa: SLF001 - its own

    return collect


def _native_matcher(request: StructuredOutputRequest, tokens: Sequence[int]) -> GrammarMatcher | None:
    """Return the matcher of a request whose tokens the native code can take by itself."""
    matcher = request.native
    if matcher is None or request.gate is None:
        return matcher
    # The request has to know how many steps it took.
    return matcher if len(tokens) == 1 and not matcher.is_terminated() else None


def _check_timeout(timeout: float | None) -> float | None:
    """Return how long to wait; ``None`` and infinity are for ever."""
    if timeout is None or timeout == math.inf:
        return None
    if not timeout >= 0:
        raise InvalidArgumentError(f"timeout must be a number of seconds, not {timeout}")
    return timeout


def _allocate_numpy(rows: int, vocab_size: int) -> Any:  # noqa: ANN401 - any array
    return np.full(get_bitmask_shape(rows, vocab_size), -1, dtype=np.int32)
