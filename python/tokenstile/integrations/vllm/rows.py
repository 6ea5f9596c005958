"""The masks of a batch of requests, with their draft tokens, in one native call.

vLLM wants, for each request, a row for each draft token and one more: row ``i`` says which tokens may stand in place
of draft ``i``, after the drafts before it. Its own loop walks one request after the other with a call or two for each
row. Here the native code that fills rows along drafts for `tokenstile.structured_output` does it for all requests at
once; its rules are vLLM's: everything is allowed after the end of the text and behind the first -1 of padding, and
behind a draft that does not fit comes the row of that draft again. Where the rows of a request begin is a question of
vLLM's release (`tokenstile.integrations.vllm.layout`).

What is left for this side is reasoning. A request has two bounds among its drafts: the first that its grammar takes,
and the first position that is masked. Rows before the second allow everything, but for the implicit ends of the thought
that the grammar cannot begin with, in releases that close them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from vllm.v1.structured_output.utils import strip_speculative_padding

from tokenstile._core import batch_fill_drafts
from tokenstile.integrations.vllm.backend import grammar_of
from tokenstile.integrations.vllm.budgets import end_thoughts
from tokenstile.integrations.vllm.switch import logger
from tokenstile.structured_output.speculation import PADDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tokenstile import GrammarMatcher
    from tokenstile.integrations.vllm.layout import RowLayout

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
    ends: tuple[int, ...]
    """The tokens that the rows before it forbid."""


class _Batch:
    """What the native call gets, and which rows are free."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.row = 0
        self.places: list[_Place] = []
        self.matchers: list[GrammarMatcher] = []
        self.starts: list[int] = []
        self.free: list[slice] = []
        # Of those, the rows of thoughts, and the tokens that rows of thoughts forbid.
        self.thinking: list[tuple[Any, slice]] = []
        self.closed: list[tuple[slice, tuple[int, ...]]] = []

    def add(
        self,
        request: Any,  # noqa: ANN401 - of vLLM
        drafts: Sequence[int],
        bounds: tuple[int, int],
        ends: tuple[int, ...],
    ) -> None:
        """Give a request its rows; ``ends`` are the ends of a thought that are closed."""
        first, count = self.row, len(drafts) + 1
        self.row += self.block or count
        grammar_start, constraint_start = bounds
        # The row of the first -1 is in the thought, and those behind it are nowhere.
        before_padding = drafts.index(PADDING) + 1 if PADDING in drafts else count
        self._close(first, min(constraint_start, before_padding), ends)
        if constraint_start >= count or PADDING in drafts[:grammar_start]:
            self.free.append(slice(first, first + count))
            self.thinking.append((request, self.free[-1]))
            return
        if constraint_start > 0:
            self.free.append(slice(first, first + constraint_start))
            self.thinking.append((request, self.free[-1]))
        self.places.append(_Place(request.request_id, first, drafts, grammar_start, constraint_start, ends))
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
            first, count = place.first_row + at, len(place.drafts) + 1 - at
            self.free.append(slice(first, first + count))
            self._close(first, count, place.ends)

    def _close(self, first: int, count: int, ends: tuple[int, ...]) -> None:
        if count > 0 and ends:
            self.closed.append((slice(first, first + count), ends))


def fill(
    manager: Any,  # noqa: ANN401 - of vLLM
    layout: RowLayout,
    requests: dict[str, Any],
    request_ids: list[str],
    drafts_of: dict[str, list[int]],
) -> npt.NDArray[np.int32]:
    """Return the rows of all requests, in their order; they live in the manager's buffer until the next call."""
    bitmask = _buffer(manager)
    if any(map(drafts_of.get, request_ids)):
        step = [(requests[request_id], drafts_of.get(request_id, ())) for request_id in request_ids]
        count = _fill_along_drafts(manager, layout, step, bitmask)
    else:
        count = _fill_one_each(manager, layout, [requests[request_id] for request_id in request_ids], bitmask)
    return bitmask[:count]


def _fill_one_each(
    manager: Any,  # noqa: ANN401 - of vLLM
    layout: RowLayout,
    requests: list[Any],
    bitmask: npt.NDArray[np.int32],
) -> int:
    """Fill one row for each request, the first of its block, and return how many rows there are.

    PERF: nearly all steps of an engine without a drafter come here, and most of their time is Python's work for each
    request: with the places of drafts, which nobody asks for, it was 1.6 us instead of 1.
    """
    bounds_of = manager._get_constraint_bounds  # noqa: SLF001 - as vLLM does
    block = layout.block(manager.vllm_config) or 1
    count = len(requests) * block
    matchers, rows, free = [], [], []
    for row, request in zip(range(0, count, block), requests, strict=True):
        if bounds_of(request, ()).constraint_start > 0:
            free.append((row, request))
        else:
            matchers.append(grammar_of(request).matcher)
            rows.append(row)
    if matchers:
        batch_fill_drafts(manager.backend.batch, matchers, rows, None, None, bitmask)
    for row, request in free:
        bitmask[row] = -1
        _forbid(bitmask[row], _closed_ends(manager, layout, request))
        end_thoughts(manager, request, bitmask[row : row + 1])
    return count


def _fill_along_drafts(
    manager: Any,  # noqa: ANN401 - of vLLM
    layout: RowLayout,
    step: Sequence[tuple[Any, Sequence[int]]],
    bitmask: npt.NDArray[np.int32],
) -> int:
    """Fill the rows of requests, of which some have drafts, and return how many there are."""
    batch = _Batch(layout.block(manager.vllm_config))
    for request, drafts in step:
        bounds = manager._get_constraint_bounds(request, strip_speculative_padding(drafts))  # noqa: SLF001 - as vLLM
        ends = _closed_ends(manager, layout, request) if bounds.constraint_start > 0 else ()
        batch.add(request, drafts, bounds, ends)
    if batch.matchers:
        taken = [place.drafts[place.grammar_start :] for place in batch.places]
        results = batch_fill_drafts(manager.backend.batch, batch.matchers, batch.starts, taken, None, bitmask)
        for place, outcomes in zip(batch.places, results, strict=True):
            batch.note(place, outcomes)
    for rows in batch.free:
        bitmask[rows] = -1
    for rows, ends in batch.closed:
        _forbid(bitmask[rows], ends)
    for request, rows in batch.thinking:
        end_thoughts(manager, request, bitmask[rows])
    return batch.row


def _closed_ends(manager: Any, layout: RowLayout, request: Any) -> tuple[int, ...]:  # noqa: ANN401 - of vLLM
    """Return the implicit ends of a request's thought that its grammar cannot begin with; vLLM keeps them."""
    if not layout.closes_implicit_ends:
        return ()
    ends: tuple[int, ...] = manager._masked_reasoning_ends(request)  # noqa: SLF001 - as vLLM does
    return ends


def _forbid(rows: npt.NDArray[np.int32], tokens: tuple[int, ...]) -> None:
    """Clear the bits of tokens in a row, or in several."""
    words = rows.view(np.uint32)
    for token in tokens:
        if 0 <= token < 32 * words.shape[-1]:
            words[..., token // 32] &= ~np.uint32(1 << token % 32)


def _buffer(manager: Any) -> npt.NDArray[np.int32]:  # noqa: ANN401 - of vLLM
    """Return the manager's rows, made at the first call: as many as a step can need."""
    if manager._grammar_bitmask is None:  # noqa: SLF001 - the manager's own place for it
        config = manager.vllm_config
        rows = config.scheduler_config.max_num_seqs * (1 + config.num_speculative_tokens)
        manager._grammar_bitmask = manager.backend.allocate_token_bitmask(rows)  # noqa: SLF001
    array: npt.NDArray[np.int32] = manager._grammar_bitmask.numpy()  # noqa: SLF001
    return array
