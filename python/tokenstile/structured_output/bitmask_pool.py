"""Buffers for bitmasks that are used again.

Engines ask for a bitmask at every step. A row for 128,000 tokens has 16 KB, so a batch of hundreds has megabytes; fresh
pages for them would cost more than filling them. A buffer that comes back is handed out again to whoever asks for as
many rows. What lies about unused is bounded in bytes; buffers beyond that are let go.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from tokenstile.bitmask import get_bitmask_shape
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["BitmaskPool"]


class BitmaskPool:
    """Int32 bitmasks for one size of vocabulary. May be used from many threads."""

    def __init__(self, vocab_size: int, *, max_unused_bytes: int = 256 << 20) -> None:
        self._vocab_size = vocab_size
        self._max_unused_bytes = max_unused_bytes
        self._unused: dict[int, list[npt.NDArray[np.int32]]] = defaultdict(list)
        # Weak: one that its holder drops without a word is gone, not kept for ever.
        self._lent: WeakValueDictionary[int, npt.NDArray[np.int32]] = WeakValueDictionary()
        self._unused_bytes = 0
        self._reused = 0
        self._lock = threading.Lock()

    def acquire(self, rows: int) -> npt.NDArray[np.int32]:
        """Return a bitmask of ``rows`` rows that allows everything."""
        if rows < 0:
            raise InvalidArgumentError(f"a bitmask cannot have {rows} rows")
        with self._lock:
            waiting = self._unused.get(rows)
            buffer = waiting.pop() if waiting else None
            if buffer is not None:
                self._unused_bytes -= buffer.nbytes
                self._reused += 1
        if buffer is None:
            buffer = np.empty(get_bitmask_shape(rows, self._vocab_size), dtype=np.int32)
        buffer.fill(-1)
        with self._lock:
            self._lent[id(buffer)] = buffer
        return buffer

    def release(self, bitmask: Any) -> None:  # noqa: ANN401 - whatever the caller holds
        """Take a bitmask back, which must not be used any more. One that is not from here is refused."""
        with self._lock:
            if self._lent.get(id(bitmask)) is not bitmask:
                raise InvalidArgumentError(
                    "this bitmask was not handed out by this pool, or has come back already"
                )
            buffer: npt.NDArray[np.int32] = self._lent.pop(id(bitmask))
            if self._unused_bytes + buffer.nbytes <= self._max_unused_bytes:
                self._unused[len(buffer)].append(buffer)
                self._unused_bytes += buffer.nbytes

    def forget(self) -> None:
        """Let go of all buffers; those that are out need not come back."""
        with self._lock:
            self._unused.clear()
            self._lent.clear()
            self._unused_bytes = 0

    def get_stats(self) -> dict[str, float]:
        """Return how many buffers are out, how many bytes wait, and how often a buffer was used again."""
        with self._lock:
            return {
                "bitmasks_lent": len(self._lent),
                "bitmask_unused_bytes": self._unused_bytes,
                "bitmasks_reused": self._reused,
            }
