"""The masks of a batch of requests, with their draft tokens, in one native call.

vLLM wants, for each request, a row for each draft token and one more: row ``i`` says which tokens may stand in place
of draft ``i``, after the drafts before it. Its own loop walks one request after the other with a call or two for each
row. Here the native code that fills rows along drafts for `tokenstile.structured_output` does it for all requests at
once; its rules are vLLM's: everything is allowed after the end of the text and behind the first -1 of padding, and
behind a draft that does not fit comes the row of that draft again.

What is left for this side is reasoning. A request has two bounds among its drafts: the first that its grammar takes,
and the first position that is masked. Rows before the second allow everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from vllm.v1.structured_output.utils import strip_speculative_padding

from tokenstile._core import batch_fill_drafts
from tokenstile.integrations.vllm.backend import grammar_of
from tokenstile.integrations.vllm.budgets import end_thoughts
from tokenstile.integrations.vllm.switch import logger
from tokenstile.structured_output.speculation import PADDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from tokenstile import GrammarMatcher

__all__ = ["fill"]


class _Place(NamedTuple):
    """Where the rows of a request are that the native code fills."""

    request_id: str
    first_row: int
    drafts: Sequence[int]
    grammar_start: int
    """The first draft that the grammar takes; those before it are reasoning."""
    constraint_start: int
    """The first position that is masked."""


class _Batch:
    """What the native call gets, and which rows are free."""

    def __init__(self) -> None:
        self.row = 0
        self.places: list[_Place] = []
        self.matchers: list[GrammarMatcher] = []
        self.starts: list[int] = []
        self.free: list[slice] = []
        # Of those, the rows of thoughts.
        self.thinking: list[tuple[Any, slice]] = []

    def add(self, request: Any, drafts: Sequence[int], bounds: tuple[int, int]) -> None:  # noqa: ANN401 - of vLLM
        """Give a request its rows."""
        first, count = self.row, len(drafts) + 1
        self.row += count
        grammar_start, constraint_start = bounds
        if constraint_start >= count or PADDING in drafts[:grammar_start]:
            self.free.append(slice(first, first + count))
            self.thinking.append((request, self.free[-1]))
            return
        if constraint_start > 0:
            self.free.append(slice(first, first + constraint_start))
            self.thinking.append((request, self.free[-1]))
        self.places.append(_Place(request.request_id, first, drafts, grammar_start, constraint_start))
        self.matchers.append(grammar_of(request).matcher)
        self.starts.append(first + grammar_start)

    def note(self, place: _Place, outcomes: Sequence[int]) -> None:
        """Look at what became of the drafts of a request."""
        if Outcome.REJECTED not in outcomes:
            return
        at = place.grammar_start + outcomes.index(Outcome.REJECTED)
        logger.error(
            "draft token %s of request %s does not fit its grammar", place.drafts[at], place.request_id
        )
        if at < place.constraint_start:
            # The row of that draft is free, and it is repeated.
            self.free.append(slice(place.first_row + at, place.first_row + len(place.drafts) + 1))


def fill(
    manager: Any,  # noqa: ANN401 - of vLLM
    requests: dict[str, Any],
    request_ids: list[str],
    drafts_of: dict[str, list[int]],
) -> npt.NDArray[np.int32]:
    """Return the rows of all requests, in their order; they live in the manager's buffer until the next call."""
    bitmask = _buffer(manager)
    if any(map(drafts_of.get, request_ids)):
        count = _fill_along_drafts(manager, requests, request_ids, drafts_of, bitmask)
    else:
        count = _fill_one_each(manager, [requests[request_id] for request_id in request_ids], bitmask)
    return bitmask[:count]


def _fill_one_each(
    manager: Any,  # noqa: ANN401 - of vLLM
    requests: list[Any],
    bitmask: npt.NDArray[np.int32],
) -> int:
    """Fill one row for each request, and return how many.

    PERF: nearly all steps of an engine without a drafter come here, and most of their time is Python's work for each
    request: with the places of drafts, which nobody asks for, it was 1.6 us instead of 1.
    """
    bounds_of = manager._get_constraint_bounds  # noqa: SLF001 - as vLLM does
    matchers, rows, free = [], [], []
    for row, request in enumerate(requests):
        if bounds_of(request, ()).constraint_start > 0:
            free.append(row)
        else:
            matchers.append(grammar_of(request).matcher)
            rows.append(row)
    if matchers:
        batch_fill_drafts(manager.backend.batch, matchers, rows, None, None, bitmask)
    if free:
        bitmask[free] = -1
        for row in free:
            end_thoughts(manager, requests[row], bitmask[row : row + 1])
    return len(requests)


def _fill_along_drafts(
    manager: Any,  # noqa: ANN401 - of vLLM
    requests: dict[str, Any],
    request_ids: list[str],
    drafts_of: dict[str, list[int]],
    bitmask: npt.NDArray[np.int32],
) -> int:
    """Fill the rows of requests of which some have drafts, and return how many."""
    batch = _Batch()
    for request_id in request_ids:
        request, drafts = requests[request_id], drafts_of.get(request_id, ())
        bounds = manager._get_constraint_bounds(request, strip_speculative_padding(drafts))  # noqa: SLF001 - as vLLM
        batch.add(request, drafts, bounds)
    if batch.matchers:
        taken = [place.drafts[place.grammar_start :] for place in batch.places]
        results = batch_fill_drafts(manager.backend.batch, batch.matchers, batch.starts, taken, None, bitmask)
        for place, outcomes in zip(batch.places, results, strict=True):
            batch.note(place, outcomes)
    for rows in batch.free:
        bitmask[rows] = -1
    for request, rows in batch.thinking:
        end_thoughts(manager, request, bitmask[rows])
    return batch.row


def _buffer(manager: Any) -> npt.NDArray[np.int32]:  # noqa: ANN401 - of vLLM
    """Return the manager's rows, made at the first call: as many as a step can need."""
    if manager._grammar_bitmask is None:  # noqa: SLF001 - the manager's own place for it
        config = manager.vllm_config
        rows = config.scheduler_config.max_num_seqs * (1 + config.num_speculative_tokens)
        manager._grammar_bitmask = manager.backend.allocate_token_bitmask(rows)  # noqa: SLF001
    array: npt.NDArray[np.int32] = manager._grammar_bitmask.numpy()  # noqa: SLF001
    return array
