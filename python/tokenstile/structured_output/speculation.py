"""Draft tokens: what speculative decoding proposes, and rows for it through the contract alone.

The common case, a grammar of tokenstile whose thoughts are over, is not here: it goes to the native code with the whole
batch (`tokenstile.structured_output.batch`). This is the way for grammars of other backends and for drafts in which a
thought may begin or end. The rows are the same: `draft_rows.rs` has the rules, and the tests compare the two.

1. After a draft that does not fit, rows repeat the mask of the last place that was reached.
2. After a draft that ended the text, and from padding (-1) on, rows allow everything. Rows inside a thought nearly do.
3. The grammar ends where it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.feeding import feed_grammar
from tokenstile.structured_output.thought_budget import allows
from tokenstile.structured_output.thought_rows import allow_opening, fill_thought_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.reasoning import Feed, GatePosition, ReasoningGate

__all__ = [
    "PADDING",
    "DraftTree",
    "Outcome",
    "acceptable_count",
    "acceptable_prefix",
    "fill_rows_by_contract",
]

PADDING: Final = -1
"""The id that stands for "no draft here"."""


class Outcome(IntEnum):
    """What became of a draft; the numbers are those of the native code."""

    REJECTED = 0
    ACCEPTED = 1
    ENDED = 2
    UNREAD = 3


@dataclass(frozen=True, slots=True)
class DraftTree:
    """Drafts that branch: each one follows an earlier one, or the place of the request (-1)."""

    tokens: Sequence[int]
    parents: Sequence[int]

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.parents):
            raise InvalidArgumentError(
                f"the drafts have {len(self.tokens)} tokens and {len(self.parents)} parents"
            )
        for draft, parent in enumerate(self.parents):
            if not -1 <= parent < draft:
                raise InvalidArgumentError(
                    f"the parent of draft {draft} is {parent}; it must be an earlier draft, or -1"
                )

    @classmethod
    def from_links(
        cls, first_child: Sequence[int], next_sibling: Sequence[int], tokens: Sequence[int]
    ) -> DraftTree:
        """Make a tree of what SGLang has for one: links to the first child and the next sibling, node 0 the root.

        Drafts keep their places: draft ``k`` is node ``k + 1``. Nodes must come after their parents.
        """
        if not len(first_child) == len(next_sibling) == len(tokens):
            raise InvalidArgumentError("the three lists of a tree must have the same length")
        parents: list[int | None] = [None] * max(len(tokens) - 1, 0)
        for node in range(len(tokens)):
            child, limit = first_child[node], len(tokens)
            while child >= 0 and limit > 0:
                if not node < child < len(tokens) or parents[child - 1] is not None:
                    raise InvalidArgumentError(f"the link from node {node} to {child} does not form a tree")
                parents[child - 1] = node - 1
                child, limit = next_sibling[child], limit - 1
        known = [parent for parent in parents if parent is not None]
        if len(known) < len(parents):
            raise InvalidArgumentError(f"node {parents.index(None) + 1} is not in the tree")
        return cls(list(tokens[1:]), known)


def acceptable_prefix(outcomes: Sequence[int]) -> int:
    """Return how many drafts of a chain, from the first on, the target model may accept."""
    for count, outcome in enumerate(outcomes):
        if outcome not in {Outcome.ACCEPTED, Outcome.ENDED}:
            return count
    return len(outcomes)


def acceptable_count(outcomes: Sequence[int]) -> int:
    """Return how many drafts of a tree fit."""
    return sum(outcome in {Outcome.ACCEPTED, Outcome.ENDED} for outcome in outcomes)


class _Node(NamedTuple):
    """A place on the way through the drafts."""

    outcome: Outcome
    position: GatePosition | None

    @property
    def is_open(self) -> bool:
        """Tell whether its row allows everything."""
        return self.outcome in {Outcome.ENDED, Outcome.UNREAD}


def fill_rows_by_contract(
    grammar: StructuredOutputGrammar,
    drafts: DraftTree,
    rows: npt.NDArray[np.int32],
    *,
    gate: ReasoningGate | None = None,
    position: GatePosition | None = None,
) -> list[int]:
    """Fill the rows of one request, and return what became of each draft."""
    outcomes = [int(Outcome.UNREAD)] * len(drafts.tokens)
    ended = grammar.is_terminated()
    nodes = [_Node(Outcome.ENDED if ended else Outcome.ACCEPTED, position)]
    _fill(grammar, gate, nodes[0], rows, 0)
    nodes += [nodes[0]] * len(outcomes)
    children: list[list[int]] = [[] for _ in nodes]
    for draft, parent in enumerate(drafts.parents):
        children[parent + 1].append(draft + 1)
    # Numbers to visit; a negative one is a number of steps to take back.
    agenda = children[0][::-1]
    while agenda:
        node = agenda.pop()
        if node < 0:
            grammar.rollback(-node)
            continue
        before = nodes[drafts.parents[node - 1] + 1]
        nodes[node], steps = _advance(grammar, gate, before, drafts.tokens[node - 1])
        outcomes[node - 1] = int(nodes[node].outcome)
        _fill(grammar, gate, nodes[node], rows, node)
        if steps:
            agenda.append(-steps)
        agenda += children[node][::-1]
    return outcomes


def _advance(
    grammar: StructuredOutputGrammar, gate: ReasoningGate | None, before: _Node, token: int
) -> tuple[_Node, int]:
    """Follow one draft; return where it leads, and how many steps the grammar took."""
    if before.outcome is Outcome.REJECTED:
        return before, 0
    if before.outcome is not Outcome.ACCEPTED or token == PADDING:
        return before._replace(outcome=Outcome.UNREAD), 0
    position, feed = before.position, cast("Feed", token)
    is_allowed = True
    if gate is not None and position is not None:
        step = gate.step(position, token)
        is_allowed = allows(grammar, gate, position, step, token)
        position, feed = step
    steps = feed_grammar(grammar, feed, gate) if is_allowed else None
    if steps is None:
        return before._replace(outcome=Outcome.REJECTED), 0
    outcome = Outcome.ENDED if grammar.is_terminated() else Outcome.ACCEPTED
    return _Node(outcome, position), steps


def _fill(
    grammar: StructuredOutputGrammar,
    gate: ReasoningGate | None,
    node: _Node,
    rows: npt.NDArray[np.int32],
    row: int,
) -> None:
    if node.is_open:
        rows[row].fill(-1)
        return
    if gate is not None and node.position is not None and node.position.thinking:
        fill_thought_row(grammar, gate, node.position, rows[row])
        return
    grammar.fill_bitmask(rows, row)
    allow_opening(grammar, gate, node.position, rows[row])
