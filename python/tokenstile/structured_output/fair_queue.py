"""A queue that takes turns between clients: who asks for much waits for itself, and not the others for it.

Each client has a line of its own, first come first served, and the lines are served in turn. A client that comes anew
goes behind those that are waiting.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["FairQueue"]

Value = TypeVar("Value")


class FairQueue(Generic[Value]):
    """Values by client. It has no lock of its own.

    >>> queue = FairQueue()
    >>> for client, value in (("greedy", 1), ("greedy", 2), ("greedy", 3), ("modest", 4)):
    ...     queue.put(client, value)
    >>> [queue.pop() for _ in range(len(queue))]
    [1, 4, 2, 3]
    """

    def __init__(self) -> None:
        self._lines: OrderedDict[Hashable, deque[Value]] = OrderedDict()
        self._length = 0

    def put(self, client: Hashable, value: Value) -> None:
        """Let a value wait behind those of the same client."""
        self._lines.setdefault(client, deque()).append(value)
        self._length += 1

    def pop(self) -> Value:
        """Return the next value of the client whose turn it is; ``KeyError`` if nothing waits."""
        client, line = self._lines.popitem(last=False)
        value = line.popleft()
        if line:
            self._lines[client] = line
        self._length -= 1
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._lines.clear()
        self._length = 0

    def __len__(self) -> int:
        return self._length
