"""The masks of a batch of requests, with their draft tokens, in a few native calls.

vLLM wants, for each request, a row for each draft token and one more: row ``i`` says which tokens may stand in place
of draft ``i``, after the drafts before it. Its own loop walks one request after the other with a call or two for each
row. Here all requests take their first row together, then all of them take their first draft, and so on, and in the
end all go back. So a batch costs two native calls for each position, whatever its size, and the engine's threads
share each of them; without drafts it is one call.

The rows are those of vLLM's loop:

- before the end of reasoning, after the end of the text, and behind the first -1 of padding: everything is allowed;
- behind a draft that does not fit: the row of that draft again, for nothing behind it can be accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vllm.v1.structured_output.utils import strip_speculative_padding

from tokenstile import BatchGrammarMatcher
from tokenstile.integrations.vllm.backend import TokenstileGrammar, grammar_of
from tokenstile.integrations.vllm.switch import logger

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokenstile import GrammarMatcher

__all__ = ["fill"]

_PADDING = -1


@dataclass(slots=True)
class _Chain:
    """The rows of one request, and how far its grammar has followed the drafts."""

    request_id: str
    grammar: TokenstileGrammar
    drafts: list[int]
    first_row: int
    grammar_start: int
    """The first draft that the grammar takes; those before it are reasoning."""
    constraint_start: int
    """The first position that is masked."""
    taken: int = 0
    is_padded: bool = False
    failed_row: int | None = None

    def is_masked(self, position: int) -> bool:
        return not self.is_padded and position >= self.constraint_start and not self.grammar.is_terminated()

    def draft_to_take(self, position: int) -> int | None:
        """Return the draft that the grammar is to follow after this position, if there is one."""
        if self.failed_row is not None or position >= len(self.drafts):
            return None
        draft = self.drafts[position]
        self.is_padded |= draft == _PADDING
        return draft if not self.is_padded and position >= self.grammar_start else None

    def fail(self, position: int) -> None:
        self.failed_row = self.first_row + position
        logger.error(
            "draft token %s of request %s does not fit its grammar", self.drafts[position], self.request_id
        )


def fill(
    manager: Any,  # noqa: ANN401 - of vLLM
    requests: dict[str, Any],
    request_ids: list[str],
    drafts_of: dict[str, list[int]],
) -> npt.NDArray[np.int32]:
    """Return the rows of all requests, in their order; they live in the manager's buffer until the next call."""
    if not any(drafts_of.get(request_id) for request_id in request_ids):
        return _fill_without_drafts(manager, [requests[request_id] for request_id in request_ids])
    chains = _chains(manager, requests, request_ids, drafts_of)
    bitmask = _buffer(manager)
    positions = 1 + max(len(chain.drafts) for chain in chains)
    try:
        for position in range(positions):
            here = [chain for chain in chains if position <= len(chain.drafts)]
            _fill_position(manager.backend.batch, here, position, bitmask)
            _take_drafts(here, position)
    finally:
        for chain in chains:
            chain.grammar.rollback(chain.taken)
    last = chains[-1]
    return bitmask[: last.first_row + len(last.drafts) + 1]


def _fill_without_drafts(manager: Any, requests: list[Any]) -> npt.NDArray[np.int32]:  # noqa: ANN401 - of vLLM
    """Return one row for each request.

    PERF: nearly all steps of an engine without a drafter come here, and nine tenths of their time was Python's work on
    chains of length nothing: 2 us for each request, where the native call takes 0.2 us.
    """
    bitmask = _buffer(manager)
    bounds_of = manager._get_constraint_bounds  # noqa: SLF001 - as vLLM does
    matchers, rows, free = [], [], []
    for row, request in enumerate(requests):
        grammar = grammar_of(request)
        if bounds_of(request, ()).constraint_start > 0 or grammar.is_terminated():
            free.append(row)
        else:
            matchers.append(grammar.matcher)
            rows.append(row)
    _write(manager.backend.batch, bitmask, (matchers, rows), free)
    return bitmask[: len(requests)]


def _chains(
    manager: Any,  # noqa: ANN401 - of vLLM
    requests: dict[str, Any],
    request_ids: list[str],
    drafts_of: dict[str, list[int]],
) -> list[_Chain]:
    chains = []
    row = 0
    for request_id in request_ids:
        request = requests[request_id]
        drafts = drafts_of.get(request_id, [])
        bounds = manager._get_constraint_bounds(request, strip_speculative_padding(drafts))  # noqa: SLF001 - as vLLM does
        chains.append(_Chain(request_id, grammar_of(request), drafts, row, *bounds))
        row += len(drafts) + 1
    return chains


def _buffer(manager: Any) -> npt.NDArray[np.int32]:  # noqa: ANN401 - of vLLM
    """Return the manager's rows, made at the first call: as many as a step can need."""
    if manager._grammar_bitmask is None:  # noqa: SLF001 - the manager's own place for it
        config = manager.vllm_config
        rows = config.scheduler_config.max_num_seqs * (1 + config.num_speculative_tokens)
        manager._grammar_bitmask = manager.backend.allocate_token_bitmask(rows)  # noqa: SLF001
    array: npt.NDArray[np.int32] = manager._grammar_bitmask.numpy()  # noqa: SLF001
    return array


def _fill_position(
    batch: BatchGrammarMatcher, chains: list[_Chain], position: int, bitmask: npt.NDArray[np.int32]
) -> None:
    """Write the row of this position for each request."""
    matchers, rows, free = [], [], []
    for chain in chains:
        row = chain.first_row + position
        if chain.failed_row is not None:
            bitmask[row] = bitmask[chain.failed_row]
        elif chain.is_masked(position):
            matchers.append(chain.grammar.matcher)
            rows.append(row)
        else:
            free.append(row)
    _write(batch, bitmask, (matchers, rows), free)


def _write(
    batch: BatchGrammarMatcher,
    bitmask: npt.NDArray[np.int32],
    masked: tuple[list[GrammarMatcher], list[int]],
    free: list[int],
) -> None:
    """Fill the rows of matchers in one call, and let the free rows allow everything."""
    matchers, rows = masked
    if matchers:
        batch.batch_fill_next_token_bitmask(matchers, bitmask, rows)
    if free:
        bitmask[free] = -1


def _take_drafts(chains: list[_Chain], position: int) -> None:
    """Let each grammar follow the draft of this position."""
    takers, drafts = [], []
    for chain in chains:
        draft = chain.draft_to_take(position)
        if draft is None:
            continue
        if chain.grammar.is_terminated():
            chain.fail(position)
        else:
            takers.append(chain)
            drafts.append(draft)
    fits = BatchGrammarMatcher.batch_accept_token([chain.grammar.matcher for chain in takers], drafts)
    for chain, fit in zip(takers, fits, strict=True):
        if fit:
            chain.taken += 1
            chain.grammar.refresh()
        else:
            chain.fail(position)
