"""Several tokenizers at once: each is read once, and known again by what it holds.

A server may load several models, and adapters of one model share its tokenizer object while two loads of one file do
not. So a tokenizer object is looked up by identity first, which is cheap, and what was read from it is shared by its
fingerprint: equal vocabularies have one backend and one cache of grammars, whatever objects they came from.

The cache holds tokenizer objects weakly, and at most `TokenizerCache.LIMIT` vocabularies; what was asked for the
longest ago goes first. Lists of tokens are compared with what was read, because they cannot be held weakly; paths are
read anew each time, because files change. Tokens may be added to a tokenizer object: it is then read again, which its
added tokens and stop tokens tell. A `KnownTokenizer` holds its object: who has one (a manager, a request, a backend)
can cut texts with it as long as it likes, whatever the caller has dropped.

`TOKENIZERS` is the cache of the process, for objects that are made without a manager.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TOKENIZERS", "KnownTokenizer", "TokenizerCache", "find_encoder"]


class KnownTokenizer(NamedTuple):
    """A vocabulary, and how its tokenizer cuts a text, if that is known."""

    info: TokenizerInfo
    encode: Callable[[str], list[int]] | None

    @property
    def fingerprint(self) -> tuple[str, int, tuple[int, ...]]:
        """What makes two vocabularies the same: the bytes of all ids, their number, and what ends a text."""
        return self.info.fingerprint, self.info.vocab_size, tuple(sorted(self.info.stop_token_ids))


class _Entry(NamedTuple):
    """A vocabulary that was read from an object, and what the object looked like then."""

    info: TokenizerInfo
    state: object
    ending: weakref.finalize[Any, Any] | None


class TokenizerCache:
    """Vocabularies by the tokenizer object that they came from. May be used from many threads."""

    LIMIT: Final = 32
    """The most vocabularies that are held."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_object: OrderedDict[tuple[int, int | None], _Entry] = OrderedDict()
        self._by_fingerprint: weakref.WeakValueDictionary[tuple[str, int, tuple[int, ...]], TokenizerInfo] = (
            weakref.WeakValueDictionary()
        )

    def find(self, tokenizer: object, vocab_size: int | None = None) -> KnownTokenizer:
        """Return the vocabulary of a tokenizer, which is read if it is new."""
        if isinstance(tokenizer, TokenizerInfo) and vocab_size in {None, tokenizer.vocab_size}:
            return KnownTokenizer(tokenizer, None)
        place, state = (id(tokenizer), vocab_size), _state_of(tokenizer)
        with self._lock:
            entry = self._by_object.get(place)
            if entry is not None:
                self._by_object.move_to_end(place)
        info = entry.info if entry is not None and entry.state == state else None
        if info is None:
            info = self._read(tokenizer, place, state)
        return KnownTokenizer(info, find_encoder(tokenizer))

    def _read(self, tokenizer: object, place: tuple[int, int | None], state: object) -> TokenizerInfo:
        read = TokenizerInfo.from_tokenizer(tokenizer, place[1])
        with self._lock:
            info = self._by_fingerprint.setdefault(KnownTokenizer(read, None).fingerprint, read)
            ending = self._watch(tokenizer, place)
            if ending is not None or isinstance(tokenizer, list | tuple):
                dropped = [self._by_object.pop(place, None)]
                self._by_object[place] = _Entry(info, state, ending)
                while len(self._by_object) > self.LIMIT:
                    dropped.append(self._by_object.popitem(last=False)[1])
                for entry in dropped:
                    if entry is not None and entry.ending is not None:
                        entry.ending.detach()
        return info

    def _watch(self, tokenizer: object, place: tuple[int, int | None]) -> weakref.finalize[Any, Any] | None:
        """Forget a tokenizer when it goes; return nothing where that cannot be seen to."""
        try:
            ending = weakref.finalize(tokenizer, self._by_object.pop, place, None)
        except TypeError:
            return None
        ending.atexit = False
        return ending

    def __len__(self) -> int:
        return len(self._by_object)


TOKENIZERS: Final = TokenizerCache()
"""The vocabularies that this process has read for backends without a manager."""


def _state_of(tokenizer: Any) -> object:  # noqa: ANN401 - any tokenizer
    """Return what of an object can change: a list itself, or added tokens and stop tokens."""
    if isinstance(tokenizer, list | tuple):
        return tuple(tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    decoder = getattr(backend, "get_added_tokens_decoder", None)
    added = decoder() if callable(decoder) else getattr(tokenizer, "added_tokens_decoder", None) or {}
    tokens = tuple((number, str(token), getattr(token, "special", None)) for number, token in added.items())
    special = tuple(getattr(tokenizer, "all_special_ids", None) or ())
    return getattr(tokenizer, "eos_token_id", None), special, tokens


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
