"""How vLLM lays out the rows of masks of a step, which its releases do differently.

Both workers of vLLM find a row by counting, so a row in another place masks another request. The layouts:

- `PACKED` (0.32): each request has a row for each of its drafts and one more, and the next request's rows follow.
- `BLOCKS` (0.33): each request has a block of as many rows as any request can need in a step. It uses the first of
  them, and nobody reads the others. Its free rows also close the implicit ends of a thought: tokens such as the start
  of a tool call, which end the thought and begin the answer, where the grammar cannot begin with them.

Which one a vLLM has is not told by its version, but by its own loop: `find` lets that fill a small step with numbers.
What comes out is one of the layouts above, or the plug-in stays out of this vLLM. So a release that nobody tested, with
``TOKENSTILE_VLLM=force``, is never given rows in the wrong places.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import torch

__all__ = ["BLOCKS", "PACKED", "RowLayout", "find"]


class RowLayout(NamedTuple):
    """Where the rows of a request lie, and what its free rows allow."""

    has_blocks: bool
    """Whether each request has as many rows as a step can need, instead of as many as it needs itself."""
    closes_implicit_ends: bool
    """Whether the rows of a thought forbid the ends of it that the grammar cannot begin with."""

    def block(self, config: Any) -> int:  # noqa: ANN401 - vLLM's settings
        """Return how many rows each request has, or 0 where that depends on the request."""
        return config.num_speculative_tokens + 1 if self.has_blocks else 0


PACKED: Final = RowLayout(has_blocks=False, closes_implicit_ends=False)
BLOCKS: Final = RowLayout(has_blocks=True, closes_implicit_ends=True)

_DRAFTS: Final = {"plain": [], "drafted": [7], "thinking": [7, 7]}
"""The requests of the step, in their order, and their drafts."""

_BOUNDS: Final = {"plain": (0, 0), "drafted": (0, 0), "thinking": (2, 2)}
"""Where the grammar of each takes drafts from, and where its rows are masked from."""

_UNTOUCHED, _FREE = 0, -1
_END: Final = 0  # The implicit end of a thought, so a free row without it is -2.

_SEEN: Final = {
    (10, 20, 21, _FREE, _FREE, 30): PACKED,
    (10, _UNTOUCHED, _UNTOUCHED, 20, 21, _UNTOUCHED, -2, -2, 30): BLOCKS,
}
"""What the rows of the step hold: ten times the number of the request, and how many drafts came before."""


def find(manager: type) -> RowLayout:
    """Return the layout of a ``StructuredOutputManager``; ``RuntimeError`` if it is none of those that are known."""
    try:
        rows = _ask(manager)
    except Exception as error:
        raise RuntimeError(
            "the rows of masks of this vLLM cannot be looked at: StructuredOutputManager.grammar_bitmask fails with "
            f"{type(error).__name__}: {error}"
        ) from error
    if rows not in _SEEN:
        raise RuntimeError(
            "this vLLM lays out its rows of masks in a way that tokenstile does not know: "
            f"StructuredOutputManager.grammar_bitmask fills a small step as {rows}"
        )
    return _SEEN[rows]


def _ask(manager: type) -> tuple[int, ...]:
    """Let a manager fill the small step, and return the first word of each row."""
    asked: Any = object.__new__(type("Asked", (_Answers, manager), {}))
    asked.prepare()
    requests = {
        name: SimpleNamespace(
            request_id=name, structured_output_request=SimpleNamespace(grammar=_Numbers(10 * number))
        )
        for number, name in enumerate(_DRAFTS, start=1)
    }
    drafts = {name: tokens for name, tokens in _DRAFTS.items() if tokens}
    rows = asked.grammar_bitmask(requests, list(requests), drafts)
    return tuple(rows[:, 0].tolist())


class _Answers:
    """What a manager's loop asks of the manager itself and of its backend, with the answers for the small step."""

    def prepare(self) -> None:
        """Stand in for ``__init__``, which would start threads and load a tokenizer."""
        self.vllm_config = SimpleNamespace(
            num_speculative_tokens=max(map(len, _DRAFTS.values())),
            scheduler_config=SimpleNamespace(max_num_seqs=len(_DRAFTS)),
            model_config=SimpleNamespace(is_diffusion=False),
        )
        self.backend = self
        self.fill_bitmask_parallel_threshold = 128
        self._grammar_bitmask = None
        self._full_mask = torch.tensor(-1, dtype=torch.int32)

    def allocate_token_bitmask(self, rows: int) -> torch.Tensor:
        return torch.full((rows, 1), _UNTOUCHED, dtype=torch.int32)

    def _get_constraint_bounds(self, request: Any, *_: object) -> Any:  # noqa: ANN401 - of vLLM
        grammar_start, constraint_start = _BOUNDS[request.request_id]
        return _Bounds(grammar_start, constraint_start)

    def _masked_reasoning_ends(self, request: object) -> tuple[int, ...]:  # noqa: ARG002 - the same for all
        return (_END,)


class _Bounds(NamedTuple):
    """As vLLM's ``ConstraintBounds``."""

    grammar_start: int
    constraint_start: int


class _Numbers:
    """A grammar that writes its number, and how many tokens it has taken, over a row."""

    def __init__(self, number: int) -> None:
        self.number = number

    def fill_bitmask(self, bitmask: torch.Tensor, row: int) -> None:
        bitmask[row].fill_(self.number)

    def accept_tokens(self, _request_id: str, tokens: list[int]) -> bool:
        self.number += len(tokens)
        return True

    def rollback(self, tokens: int) -> None:
        self.number -= tokens

    def is_terminated(self) -> bool:
        return False
