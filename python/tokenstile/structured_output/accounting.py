"""What a batch cost, and whom: numbers of one call, put down for each backend that has a part in it.

A batch may have requests of several backends. Rows, tokens and refusals are counted for the backend of their request.
Time is measured where a backend is called by itself; what is left is that of the one native call, and is shared between
the backends with grammars of tokenstile, in proportion to what they had in it.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, cast

from tokenstile.structured_output.speculation import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenstile.structured_output.batch import GrammarBitmask
    from tokenstile.structured_output.metrics import Metrics
    from tokenstile.structured_output.request import StructuredOutputRequest

__all__ = ["Accounting"]

logger = logging.getLogger("tokenstile.structured_output")


class Accounting:
    """Puts down what batches cost."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def count_fill(
        self,
        requests: Sequence[StructuredOutputRequest],
        result: GrammarBitmask,
        seconds: float,
        own_seconds: Mapping[str, float],
    ) -> None:
        """Put down a batch that was filled; ``own_seconds`` were measured for a backend by itself."""
        rows: Counter[str] = Counter()
        drafts: Counter[str] = Counter()
        acceptable: Counter[str] = Counter()
        backends = {request.backend for request in requests}
        if len(backends) == 1 and sum(result.counts) == len(requests):
            # PERF: nearly always, and batches have hundreds of requests.
            rows[backends.pop()] = len(requests)
        else:
            for at, request in enumerate(requests):
                outcomes = result.draft_outcomes[at]
                rows[request.backend] += result.counts[at]
                drafts[request.backend] += len(outcomes) - outcomes.count(Outcome.UNREAD)
                acceptable[request.backend] += result.num_acceptable_drafts[at]
        self._observe("fill_seconds", requests, rows, seconds, own_seconds)
        for backend, count in rows.items():
            self._metrics.count("fill_rows_total", backend, count)
            if drafts[backend]:
                self._metrics.count("draft_tokens_total", backend, drafts[backend])
                self._metrics.count("draft_tokens_acceptable_total", backend, acceptable[backend])

    def count_accept(
        self,
        requests: Sequence[StructuredOutputRequest],
        tokens: Mapping[str, Sequence[int]],
        taken: Sequence[int | None],
        seconds: float,
        own_seconds: Mapping[str, float],
    ) -> None:
        """Put down tokens that were accepted: how many of each request, or ``None`` where they do not fit."""
        backends = {request.backend for request in requests}
        if len(backends) == 1 and None not in taken:
            # PERF: as above.
            accepted = Counter({backends.pop(): sum(cast("Sequence[int]", taken))})
        else:
            accepted = self._count_each(requests, tokens, taken)
        self._observe("accept_seconds", requests, accepted, seconds, own_seconds)
        for backend, count in accepted.items():
            self._metrics.count("accepted_tokens_total", backend, count)

    def _count_each(
        self,
        requests: Sequence[StructuredOutputRequest],
        tokens: Mapping[str, Sequence[int]],
        taken: Sequence[int | None],
    ) -> Counter[str]:
        """Return the accepted tokens of each backend, and put down what was refused."""
        accepted: Counter[str] = Counter()
        for request, count in zip(requests, taken, strict=True):
            accepted[request.backend] += count or 0
            if count is None:
                self._metrics.count("rejected_total", request.backend)
                refused = list(tokens[request.request_id])
                logger.debug("tokens of %s do not fit: %s", request.request_id, refused)
        return accepted

    def _observe(
        self,
        name: str,
        requests: Sequence[StructuredOutputRequest],
        amounts: Counter[str],
        seconds: float,
        own_seconds: Mapping[str, float],
    ) -> None:
        """Share the time of a call out between the backends."""
        if len(amounts) <= 1:
            for backend in amounts:
                self._metrics.observe(name, backend, seconds)
            return
        native = {request.backend for request in requests if request.matcher is not None}
        sharing = native or set(amounts)
        left = max(seconds - sum(own_seconds.values()), 0.0)
        total = sum(amounts[backend] for backend in sharing)
        for backend in sorted({*native, *own_seconds}):
            part = amounts[backend] / total if total else 1 / len(sharing)
            share = left * part if backend in sharing else 0.0
            self._metrics.observe(name, backend, own_seconds.get(backend, 0.0) + share)
