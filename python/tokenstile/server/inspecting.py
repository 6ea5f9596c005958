"""A text under a grammar, token by token: what the playground shows.

Each token of the text is of one of four kinds:

- ``forced``: nothing but its text could come, or it was alone in its mask. Where JSON may be spelled in any way,
  escapes do not count;
- ``free``: there was a choice;
- ``refused``: it does not fit;
- ``unreached``: it comes after one that does not.

At the cursor there is more: how many tokens fit and some of them, the bytes that may come next, the text that must
come, and how long the mask took. Tokens that would end the text are marked ``stop`` there. Nothing here needs the
model: only its vocabulary.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tokenstile._core import GrammarMatcher
from tokenstile.bitmask import get_bitmask_shape
from tokenstile.engine.forced import is_forced_text

if TYPE_CHECKING:
    from tokenstile._core import CompiledGrammar
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["Inspector", "byte_ranges", "show_bytes"]

_SHOWN_TOKENS: Final = 200
_NUM_BYTES: Final = 256
_FIRST_HIGH_BYTE: Final = 0x80


@dataclass(frozen=True, slots=True)
class Mask:
    """The tokens that fit in one place."""

    allowed: np.ndarray[Any, np.dtype[np.bool_]]
    seconds: float

    @property
    def count(self) -> int:
        """How many fit."""
        return int(np.count_nonzero(self.allowed))


class Inspector:
    """Looks at texts under one grammar."""

    def __init__(
        self, compiled: CompiledGrammar, info: TokenizerInfo, *, beside_escapes: bool = False
    ) -> None:
        self._info = info
        self._beside_escapes = beside_escapes
        self._matcher = GrammarMatcher(compiled)
        self._row = np.zeros(get_bitmask_shape(1, info.vocab_size), dtype=np.int32)

    def inspect(self, tokens: list[int], cursor: int, until: float = math.inf) -> dict[str, Any]:
        """Say what each token is, and what fits after the first ``cursor`` of them.

        Raises ``TimeoutError`` if that takes longer than ``until``, on the clock of ``time.monotonic``.
        """
        told: list[dict[str, Any]] = []
        here: dict[str, Any] | None = None
        for at, token in enumerate(tokens):
            if time.monotonic() > until:
                raise TimeoutError
            mask = self._mask()
            if at == cursor:
                here = {**self._describe(mask), "at": at}
            told.append(self._step(token, mask))
            if told[-1]["kind"] == "refused":
                told += [self._plain(rest, "unreached") for rest in tokens[at + 1 :]]
                break
        else:
            at = len(tokens)
        # After a token that does not fit, the cursor is where the text was still right.
        place = min(cursor, at)
        return {
            "tokens": told,
            "cursor": here or {**self._describe(self._mask()), "at": place},
            "accepted": at,
            "is_complete": self._matcher.is_completed(),
            "is_terminated": self._matcher.is_terminated(),
        }

    def _mask(self) -> Mask:
        started = time.perf_counter()
        if self._matcher.is_terminated():
            return Mask(np.zeros(self._info.vocab_size, dtype=np.bool_), 0.0)
        self._matcher.fill_next_token_bitmask(self._row)
        seconds = time.perf_counter() - started
        bits = np.unpackbits(self._row.view(np.uint8), bitorder="little")[: self._info.vocab_size]
        return Mask(bits.astype(np.bool_), seconds)

    def _step(self, token: int, mask: Mask) -> dict[str, Any]:
        told = self._plain(token, "free")
        told |= {"allowed": mask.count, "mask_us": round(mask.seconds * 1e6, 1)}
        if not mask.allowed[token]:
            return {**told, "kind": "refused", **self._refusal(token)}
        if mask.count == 1 or self._is_forced(token):
            told["kind"] = "forced"
        self._matcher.accept_token(token)
        return told

    def _is_forced(self, token: int) -> bool:
        data = self._info.token_bytes(token)
        return is_forced_text(self._matcher, data, beside_escapes=self._beside_escapes)

    def _plain(self, token: int, kind: str) -> dict[str, Any]:
        data = self._info.token_bytes(token) or b""
        return {"id": token, "text": show_bytes(data), "bytes": data.hex(), "kind": kind}

    def _refusal(self, token: int) -> dict[str, Any]:
        """Say why a token does not fit: where in it, and what could have come there."""
        data = self._info.token_bytes(token) or b""
        if token in self._info.stop_token_ids:
            return {"reason": "the text cannot end here", "expected": self._next_bytes(self._matcher)}
        if not data or token in self._info.special_token_ids:
            return {
                "reason": "a special token, which stands for no text",
                "expected": self._next_bytes(self._matcher),
            }
        matcher = self._matcher.fork()
        good = 0
        while good < len(data) and matcher.accept_string(data[good : good + 1]):
            good += 1
        where = "at its start" if not good else f"after its first {good} of {len(data)} bytes"
        bad = show_bytes(data[good : good + 1])
        if good == len(data):
            # Bytes alone fit: the grammar has something against the token.
            return {
                "reason": "the grammar does not take this token here, though its bytes would fit",
                "expected": [],
            }
        return {
            "reason": f"refused {where}, at {bad!r}",
            "good_bytes": good,
            "expected": self._next_bytes(matcher),
            "could_end": matcher.is_completed(),
        }

    def _describe(self, mask: Mask) -> dict[str, Any]:
        ids = np.flatnonzero(mask.allowed)[:_SHOWN_TOKENS].tolist()
        stops = set(self._matcher.stop_token_ids)
        ended = self._matcher.is_terminated()
        return {
            "allowed": mask.count,
            "vocabulary": self._info.vocab_size,
            "mask_us": round(mask.seconds * 1e6, 1),
            "tokens": [self._plain(token, "stop" if token in stops else "free") for token in ids],
            "can_end": self._matcher.is_completed(),
            "is_terminated": ended,
            "must": "" if ended else self._matcher.find_jump_forward_string(),
            "next_bytes": [] if ended else self._next_bytes(self._matcher),
            "state": self._matcher._debug_print_internal_state(),  # noqa: SLF001 - to be shown, as its name says
        }

    @staticmethod
    def _next_bytes(matcher: GrammarMatcher) -> list[str]:
        """Give the bytes that may come next, as ranges."""
        probe = matcher.fork()
        found = []
        for byte in range(_NUM_BYTES):
            if probe.accept_string(bytes([byte])):
                found.append(byte)
                probe.rollback(1)
        return byte_ranges(found)


def byte_ranges(found: list[int]) -> list[str]:
    """Write bytes as ranges: ``0-9``, ``"``, ``a-z``; those of longer characters as one word."""
    ranges: list[list[int]] = []
    for byte in (byte for byte in found if byte < _FIRST_HIGH_BYTE):
        if ranges and byte == ranges[-1][1] + 1:
            ranges[-1][1] = byte
        else:
            ranges.append([byte, byte])
    words = [word for first, last in ranges for word in _range_words(first, last)]
    return [*words, "non-ASCII"] if any(byte >= _FIRST_HIGH_BYTE for byte in found) else words


def _range_words(first: int, last: int) -> list[str]:
    if last - first < 2:  # noqa: PLR2004 - one or two are written out
        return [show_bytes(bytes([byte])) for byte in range(first, last + 1)]
    return [f"{show_bytes(bytes([first]))}-{show_bytes(bytes([last]))}"]


def show_bytes(data: bytes) -> str:
    """Write bytes as text; what is no character of UTF-8, or cannot be seen, by its number."""
    text = data.decode("utf-8", "backslashreplace")
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
