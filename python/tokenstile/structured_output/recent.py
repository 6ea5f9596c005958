"""What is kept because it may be needed again: the most recently used, and everything that somebody uses.

A server may see any number of vocabularies and markers, and for each there are things that are dear to make: backends
with their caches, bitmasks, gates. They are kept by what they are for. The rules:

1. At most ``limit`` of them are held here. The one that was not asked for the longest goes first.
2. One that somebody else holds is never made twice: it is found again as long as it lives, whether it is held here or
   not. So nothing in use is dropped, and the limit is on what lies idle.
3. What nobody holds any more is gone at once, and its finalizer, if it has one, runs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["RecentlyUsed"]

Value = TypeVar("Value")


class RecentlyUsed(Generic[Value]):
    """Values by what they are for, made when they are first asked for. May be used from many threads."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise InvalidArgumentError(f"at least one must be kept, not {limit}")
        self._limit = limit
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, Value] = OrderedDict()
        self._alive: WeakValueDictionary[Hashable, Value] = WeakValueDictionary()

    def find(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key, which is made if there is none."""
        dropped: list[Value] = []  # let go of outside of the lock, because of finalizers
        with self._lock:
            value = self._held.get(key)
            if value is None:
                value = self._alive.get(key)
            if value is None:
                value = make()
                with suppress(TypeError):  # of a class without weak references: then it is here, or nowhere
                    self._alive[key] = value
            self._held[key] = value
            self._held.move_to_end(key)
            while len(self._held) > self._limit:
                dropped.append(self._held.popitem(last=False)[1])
        return value

    def values(self) -> list[Value]:
        """Return all that are held here or in use."""
        with self._lock:
            return list({**dict(self._alive), **self._held}.values())

    def __len__(self) -> int:
        return len(self.values())

    def clear(self) -> None:
        """Let go of everything, also of what is in use: it is made anew."""
        with self._lock:
            held, self._held = self._held, OrderedDict()
            self._alive.clear()
        del held  # outside of the lock, because of finalizers
