"""Texts at random: a walk through the masks of a compiled grammar, which prefers what brings the end nearer."""

import random
from typing import Final

import numpy as np

from tokenstile._core import CompiledGrammar, GrammarMatcher
from tokenstile.bitmask import get_bitmask_shape
from tokenstile.testing import bitmask_to_bool_mask

__all__ = ["random_tokens"]

_CLOSING: Final = (b'"}', b'"]', b"}", b"]", b'"', b'",', b'":', b":", b",")
_PATIENCE: Final = 0.35
"""How likely a walk closes what it can close, at each step."""


def random_tokens(compiled: CompiledGrammar, max_tokens: int, seed: int) -> list[int]:
    """Give the tokens of a text; it breaks off after ``max_tokens``."""
    info = compiled.tokenizer_info
    vocab = info.decoded_vocab
    closing = [token for text in _CLOSING for token, data in enumerate(vocab) if data == text]
    plain = np.array([_is_plain(data) for data in vocab])
    bitmask = np.zeros(get_bitmask_shape(1, len(vocab)), dtype=np.int32)
    matcher, chance = GrammarMatcher(compiled), random.Random(seed)  # noqa: S311 - a test of speed
    tokens: list[int] = []
    while len(tokens) < max_tokens:
        matcher.fill_next_token_bitmask(bitmask)
        allows = bitmask_to_bool_mask(bitmask, len(vocab))[0]
        if any(allows[token] for token in info.stop_token_ids) or not allows.any():
            break
        tokens.append(_choose(allows, plain, closing, chance))
        matcher.accept_token(tokens[-1])
    return tokens


def _choose(allows: np.ndarray, plain: np.ndarray, closing: list[int], chance: random.Random) -> int:
    closers = [token for token in closing if allows[token]]
    if closers and chance.random() < _PATIENCE:
        return closers[0]
    candidates = np.flatnonzero(allows & plain)
    return int(chance.choice(candidates if len(candidates) else np.flatnonzero(allows)))


def _is_plain(data: bytes) -> bool:
    """Tell whether a token has nothing that engines spell in different ways: no white space, no escapes."""
    return data.isascii() and not any(byte <= ord(" ") or byte in b"\\\x7f" for byte in data)
