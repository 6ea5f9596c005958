"""Which compilation begins next: three lanes, each with places of its own and turns between clients.

| lane | what is in it | how long one may hold a place |
|---|---|---|
| known | a grammar that was compiled here before: the compiler's cache nearly always has it | `QUICK_SECONDS` |
| new | a grammar that nobody has asked for yet | `QUICK_SECONDS` |
| long | what was not done in that time, and backends that cannot be stopped | its own limit |

So a grammar that compiles for seconds never stands in the way of one that is known, nor for long in the way of an
ordinary one: of 100 schemas 99 take less than 15 ms. What is not done in a quick lane begins again in the long one,
which costs a slow grammar `QUICK_SECONDS` more.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from tokenstile.structured_output.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ["QUICK_SECONDS", "KnownKeys", "Lane", "Lanes"]

QUICK_SECONDS: Final = 0.1
"""How long a compilation may take in a quick lane."""
_MOST_KNOWN: Final = 65_536

Value = TypeVar("Value")


class Lane(Enum):
    """Where a compilation waits."""

    KNOWN = "known"
    NEW = "new"
    LONG = "long"


class Lanes(Generic[Value]):
    """What waits, and how many places are free, by lane. The caller has a lock."""

    def __init__(self, places: int) -> None:
        self._free = dict.fromkeys(Lane, places)
        self._waiting: dict[Lane, FairQueue[Value]] = {lane: FairQueue() for lane in Lane}

    def put(self, lane: Lane, client: Hashable, value: Value) -> None:
        """Let a value wait for a place in a lane."""
        self._waiting[lane].put(client, value)

    def take(self) -> Iterator[tuple[Lane, Value]]:
        """Give what can begin now; each has a place from then on."""
        for lane, queue in self._waiting.items():
            while len(queue) and self._free[lane]:
                self._free[lane] -= 1
                yield lane, queue.pop()

    def give_back(self, lane: Lane) -> None:
        """Free a place."""
        self._free[lane] += 1

    def clear(self) -> int:
        """Forget what waits; returns how many that were."""
        count = len(self)
        for queue in self._waiting.values():
            queue.clear()
        return count

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))


class KnownKeys:
    """Which keys were compiled lately, by their hashes: the texts in them may be long.

    That two keys have one hash does no harm: a new grammar then waits among the known ones, for as short a time. The
    caller has a lock.
    """

    def __init__(self, most: int = _MOST_KNOWN) -> None:
        self._most = most
        self._hashes: OrderedDict[int, None] = OrderedDict()

    def add(self, key: Hashable) -> None:
        """Note that a key was compiled."""
        self._hashes[hash(key)] = None
        self._hashes.move_to_end(hash(key))
        if len(self._hashes) > self._most:
            self._hashes.popitem(last=False)

    def __contains__(self, key: Hashable) -> bool:
        return hash(key) in self._hashes
