"""Several tokenizers at once: each is read once, and known again by what it holds.

A server may load several models, and adapters of one model share its tokenizer object while two loads of one file do
not. So a tokenizer object is looked up by identity first, which is cheap, and what was read from it is shared by its
fingerprint: equal vocabularies have one backend and one cache of grammars, whatever objects they came from.

The cache holds objects weakly; those that cannot be are read anew each time. A `KnownTokenizer` holds its object: who
has one (a manager, a request, a backend) can cut texts with it as long as it likes, whatever the caller has dropped.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KnownTokenizer", "TokenizerCache", "find_encoder"]


class KnownTokenizer(NamedTuple):
    """A vocabulary, and how its tokenizer cuts a text, if that is known."""

    info: TokenizerInfo
    encode: Callable[[str], list[int]] | None

    @property
    def fingerprint(self) -> tuple[str, int, tuple[int, ...]]:
        """What makes two vocabularies the same: the bytes of all ids, their number, and what ends a text."""
        return self.info.fingerprint, self.info.vocab_size, tuple(sorted(self.info.stop_token_ids))


class TokenizerCache:
    """Vocabularies by the tokenizer object that they came from. May be used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_object: dict[tuple[int, int | None], TokenizerInfo] = {}
        self._by_fingerprint: weakref.WeakValueDictionary[tuple[str, int, tuple[int, ...]], TokenizerInfo] = (
            weakref.WeakValueDictionary()
        )

    def find(self, tokenizer: object, vocab_size: int | None = None) -> KnownTokenizer:
        """Return the vocabulary of a tokenizer, which is read if it is new."""
        if isinstance(tokenizer, TokenizerInfo) and vocab_size in {None, tokenizer.vocab_size}:
            return KnownTokenizer(tokenizer, None)
        place = id(tokenizer), vocab_size
        with self._lock:
            info = self._by_object.get(place)
        if info is None:
            info = self._read(tokenizer, place)
        return KnownTokenizer(info, find_encoder(tokenizer))

    def _read(self, tokenizer: object, place: tuple[int, int | None]) -> TokenizerInfo:
        read = TokenizerInfo.from_tokenizer(tokenizer, place[1])
        with self._lock:
            info = self._by_fingerprint.setdefault(KnownTokenizer(read, None).fingerprint, read)
            if self._watch(tokenizer, place):
                self._by_object[place] = info
        return info

    def _watch(self, tokenizer: object, place: tuple[int, int | None]) -> bool:
        """Forget a tokenizer when it goes; tell whether that can be seen to."""
        try:
            weakref.finalize(tokenizer, self._by_object.pop, place, None).atexit = False
        except TypeError:
            return False
        return True

    def __len__(self) -> int:
        return len(self._by_object)


def find_encoder(tokenizer: Any) -> Callable[[str], list[int]] | None:  # noqa: ANN401 - any tokenizer
    """Return how a tokenizer object cuts a text without adding anything to it; what is returned holds the object."""
    if hasattr(tokenizer, "encode_ordinary"):
        return lambda text: list(tokenizer.encode_ordinary(text))
    if isinstance(tokenizer, str) or not hasattr(tokenizer, "encode"):
        return None

    def encode(text: str) -> list[int]:
        found = tokenizer.encode(text, add_special_tokens=False)
        return list(getattr(found, "ids", found))

    return encode
