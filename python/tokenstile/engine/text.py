"""Bytes of tokens that become text, piece by piece.

A token may end in the middle of a character, and a text that ends the output may be spread over several tokens. What is
not certain yet is held back: a client never sees half a character, nor the beginning of a stop text that is then taken
away.
"""

from __future__ import annotations

import codecs

__all__ = ["TextStream"]


class TextStream:
    """The text of one output."""

    def __init__(self, stop: tuple[str, ...] = ()) -> None:
        self.text = ""
        """All of it that is certain."""
        self.is_stopped = False
        """Whether a stop text has come; it is not part of the text."""
        self._stop = stop
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def push(self, data: bytes, *, final: bool = False) -> str:
        """Take bytes, and give the text that has become certain."""
        if self.is_stopped:
            return ""
        self._held += self._decoder.decode(data, final)
        ends = [at for at in (self._held.find(stop) for stop in self._stop) if at >= 0]
        if ends:
            self.is_stopped = True
            return self._emit(min(ends))
        return self._emit(len(self._held) - (0 if final else self._uncertain()))

    def _uncertain(self) -> int:
        """Count the last characters with which a stop text may begin."""
        longest = max((len(stop) for stop in self._stop), default=1) - 1
        for size in range(min(longest, len(self._held)), 0, -1):
            if any(stop.startswith(self._held[-size:]) for stop in self._stop):
                return size
        return 0

    def _emit(self, size: int) -> str:
        text, self._held = self._held[:size], self._held[size:]
        self.text += text
        return text
