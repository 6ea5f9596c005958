"""The rows of a batch: who has which, and filling them.

Each request has one row, and one more for each of its drafts, side by side, in the order in which the requests are
given. Rows of grammars of tokenstile are filled by one native call for the whole batch, without the GIL, on several
threads.
Rows that are free of constraints (requests without structure, finished ones) are all ones. The few that need a look at
thoughts, and those of other backends, go through the contract one by one; if one of those raises, its request fails,
and the others know nothing of it.

A request that failed or was cancelled should not be in a batch, and an engine that knows of it ends it. One that does
not must not let it write what it likes under the name of a structured output: its rows allow its stop tokens and
nothing else, and `GrammarBitmask.errors` says why.
"""

from __future__ import annotations

import operator
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokenstile._core import BatchGrammarMatcher, batch_fill_drafts
from tokenstile.exceptions import InvalidArgumentError, TokenstileError
from tokenstile.structured_output.backend import TokenstileGrammar
from tokenstile.structured_output.bits import allow_only
from tokenstile.structured_output.request import RequestStatus
from tokenstile.structured_output.speculation import (
    PADDING,
    DraftTree,
    Outcome,
    acceptable_count,
    acceptable_prefix,
    fill_rows_by_contract,
)
from tokenstile.structured_output.thought_rows import allow_opening, fill_thought_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from tokenstile._core import GrammarMatcher
    from tokenstile.structured_output.request import StructuredOutputRequest

    Drafts = Sequence[int] | DraftTree
    OnError = Callable[[StructuredOutputRequest, Exception], None]

__all__ = ["BatchFiller", "GrammarBitmask"]


@dataclass(frozen=True, slots=True)
class GrammarBitmask:
    """The filled rows of a batch."""

    bitmask: Any
    """The rows, of the kind of array that the manager was given; valid until the next batch."""
    request_ids: list[str]
    """The requests, in the order of their rows."""
    starts: list[int]
    """The first row of each request."""
    counts: list[int]
    """How many rows each has: one, and one for each draft."""
    num_acceptable_drafts: list[int]
    """How many drafts the model may accept: those of a chain from the first on; of a tree, all that fit."""
    draft_outcomes: list[Sequence[int]]
    """What became of each draft: see `tokenstile.structured_output.speculation.Outcome`."""
    errors: Mapping[str, BaseException] = field(default_factory=dict)
    """What is wrong with the requests of the batch that failed or were cancelled; their rows let them only end."""

    def in_batch_order(self, batch: Iterable[tuple[str, int]]) -> npt.NDArray[np.int32]:
        """Return new rows in the order of an engine's batch: pairs of a request and its number of rows.

        Requests that are not among these have no structure, and get rows of ones. A request that has fewer rows in the
        batch than here gets its first ones.
        """
        places = dict(zip(self.request_ids, zip(self.starts, self.counts, strict=True), strict=True))
        chosen: list[int] = []
        for request_id, wanted in batch:
            start, count = places.get(request_id, (-1, wanted))
            if wanted > count:
                raise InvalidArgumentError(f"{request_id!r} has {count} rows, and the batch wants {wanted}")
            chosen += [-1] * wanted if start < 0 else range(start, start + wanted)
        index = np.array(chosen, dtype=np.intp)
        source = np.asarray(self.bitmask)
        rows = np.full((len(index), source.shape[1]), -1, dtype=np.int32)
        rows[index >= 0] = source[index[index >= 0]]
        return rows


class BatchFiller:
    """Fills the rows of batches. ``on_error`` hears of requests whose backend raised."""

    def __init__(self, max_threads: int | None, on_error: OnError) -> None:
        self.batch = BatchGrammarMatcher(max_threads or "auto")
        self.on_error = on_error

    def fill(
        self,
        requests: Sequence[StructuredOutputRequest],
        drafts: Mapping[str, Drafts] | None,
        bitmask: Any,  # noqa: ANN401 - any array
    ) -> tuple[GrammarBitmask, Mapping[str, float]]:
        """Fill the rows of ``requests``, from row 0 on. Returns where they are, and times of backends by themselves."""
        matchers = [request.native for request in requests]
        if not drafts and None not in matchers and len(matchers) <= len(bitmask):
            return self._fill_plainly(requests, cast("list[GrammarMatcher]", matchers), bitmask), {}
        work = _Work(np.asarray(bitmask), drafts or {}, self.on_error)
        for request in requests:
            work.add(request)
        work.fill(self.batch)
        rows = bitmask[: work.row]
        ids = [request.request_id for request in requests]
        result = GrammarBitmask(
            rows, ids, work.starts, work.counts, work.acceptable, work.outcomes, work.errors
        )
        return result, work.seconds

    def _fill_plainly(
        self,
        requests: Sequence[StructuredOutputRequest],
        matchers: Sequence[GrammarMatcher],
        bitmask: Any,  # noqa: ANN401 - any array
    ) -> GrammarBitmask:
        """Fill a row for each request: the common case, with as little Python as can be."""
        count = len(requests)
        starts = list(range(count))
        if count:
            batch_fill_drafts(self.batch, matchers, starts, None, None, bitmask)
        ids = [request.request_id for request in requests]
        return GrammarBitmask(bitmask[:count], ids, starts, [1] * count, [0] * count, [()] * count)


class _Work:
    """One batch that is being filled."""

    def __init__(self, view: npt.NDArray[np.int32], drafts: Mapping[str, Drafts], on_error: OnError) -> None:
        self.view = view
        self.on_error = on_error
        self.drafts = drafts
        self.row = 0
        self.starts: list[int] = []
        self.counts: list[int] = []
        self.acceptable: list[int] = []
        self.outcomes: list[Sequence[int]] = []
        # What the native call gets, and which request of the batch each is.
        self.native_requests: list[int] = []
        self.matchers: list[GrammarMatcher] = []
        self.native_starts: list[int] = []
        self.tokens: list[Sequence[int]] = []
        self.parents: list[Sequence[int] | None] = []
        self.openings: list[tuple[StructuredOutputRequest, int]] = []
        self.errors: dict[str, BaseException] = {}
        self.seconds: dict[str, float] = {}

    def add(self, request: StructuredOutputRequest) -> None:
        """Give a request its rows."""
        drafts = self.drafts.get(request.request_id, ())
        is_tree = isinstance(drafts, DraftTree)
        tokens, parents = (drafts.tokens, drafts.parents) if isinstance(drafts, DraftTree) else (drafts, None)
        start, count = self.row, len(tokens) + 1
        if start + count > len(self.view):
            raise InvalidArgumentError(
                f"the batch has more rows than the {len(self.view)} of the bitmask: "
                "raise max_num_seqs or num_speculative_tokens"
            )
        self.starts.append(start)
        self.counts.append(count)
        self.acceptable.append(0)
        self.outcomes.append(())
        self.row += count
        matcher = request.native
        if matcher is not None:
            self._add_native(matcher, tokens, parents)
            return
        outcomes = self._add_slowly(request, tokens, parents)
        if outcomes is not None:
            self._note(len(self.starts) - 1, outcomes, is_tree=is_tree)

    def _add_native(
        self, matcher: GrammarMatcher, tokens: Sequence[int] = (), parents: Sequence[int] | None = None
    ) -> None:
        """Leave the rows of the last request to the native call."""
        self.native_requests.append(len(self.starts) - 1)
        self.matchers.append(matcher)
        self.native_starts.append(self.starts[-1])
        self.tokens.append(tokens)
        self.parents.append(parents)

    def _add_slowly(
        self, request: StructuredOutputRequest, tokens: Sequence[int], parents: Sequence[int] | None
    ) -> Sequence[int] | None:
        """Take the ways that are rare: no structure, finished, thoughts, other backends.

        Returns what became of the drafts, or nothing if the native call will say it.
        """
        rows = self.view[self.starts[-1] : self.row]
        status = request.poll()
        if status is RequestStatus.COMPILING:
            raise InvalidArgumentError(
                f"the grammar of {request.request_id!r} is not ready: the request cannot be scheduled"
            )
        if status is RequestStatus.FINISHED:
            rows.fill(-1)
            return [Outcome.UNREAD] * len(tokens)
        if status is not RequestStatus.READY:
            return self._close(request, rows)
        if request.grammar is None:
            rows.fill(-1)
            return [Outcome.UNREAD if token == PADDING else Outcome.ACCEPTED for token in tokens]
        if request.native is not None:
            self._add_native(request.native, tokens, parents)
            return None
        if request.matcher is None or len(tokens) > 0:
            return self._fill_by_contract(request, tokens, parents, rows)
        gate, position = request.gate, request.position
        if gate is not None and position is not None and position.thinking:
            fill_thought_row(request.grammar, gate, position, rows[0])
        else:
            self._add_native(request.matcher)
            self.openings.append((request, self.starts[-1]))
        return None

    def _fill_by_contract(
        self,
        request: StructuredOutputRequest,
        tokens: Sequence[int],
        parents: Sequence[int] | None,
        rows: npt.NDArray[np.int32],
    ) -> Sequence[int]:
        plain = list(map(operator.index, tokens))
        tree = DraftTree(plain, range(-1, len(plain) - 1) if parents is None else parents)
        grammar = request.grammar
        assert grammar is not None  # noqa: S101 - for the type checker
        if request.matcher is not None:
            # A fork, so that nobody sees it move.
            grammar = TokenstileGrammar(request.matcher.fork())
        started = time.perf_counter()
        try:
            return fill_rows_by_contract(grammar, tree, rows, gate=request.gate, position=request.position)
        except Exception as error:  # noqa: BLE001 - another library's; it must not touch the others
            self.on_error(request, error)
            return self._close(request, rows)
        finally:
            seconds = time.perf_counter() - started
            self.seconds[request.backend] = self.seconds.get(request.backend, 0.0) + seconds

    def _close(self, request: StructuredOutputRequest, rows: npt.NDArray[np.int32]) -> Sequence[int]:
        """Let a request that failed or was cancelled only end."""
        allow_only(rows, request.stop_token_ids)
        self.errors[request.request_id] = request.failure or TokenstileError("the request failed")
        return [Outcome.UNREAD] * (len(rows) - 1)

    def _note(self, request: int, outcomes: Sequence[int], *, is_tree: bool = False) -> None:
        self.outcomes[request] = outcomes
        count = acceptable_count if is_tree else acceptable_prefix
        self.acceptable[request] = count(outcomes)

    def fill(self, batch: BatchGrammarMatcher) -> None:
        """Fill the rows of all grammars of tokenstile."""
        if not self.matchers:
            return
        parents = self.parents if any(parents is not None for parents in self.parents) else None
        results = batch_fill_drafts(batch, self.matchers, self.native_starts, self.tokens, parents, self.view)
        if self.drafts:
            jobs = zip(self.native_requests, results, self.parents, strict=True)
            for request, outcomes, links in jobs:
                self._note(request, outcomes, is_tree=links is not None)
        for opening, row in self.openings:
            if opening.grammar is not None:
                allow_opening(opening.grammar, opening.gate, opening.position, self.view[row])
