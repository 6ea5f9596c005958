"""Random walks over masks: texts that a grammar generates.

The vocabulary has every byte, and some tokens that cross the borders of JSON's own tokens. At every step a token is
drawn from those that the mask allows; an empty mask is a dead end, which must not exist. After some steps the walk
takes what closes something as soon as it may, so that it ends.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

import tokenstile as xgr
from tokenstile.testing import bitmask_to_bool_mask

if TYPE_CHECKING:
    import random

WORDS = [
    '": ',
    '", "',
    '"a": ',
    "},",
    "], [",
    "ab",
    "bc",
    "12",
    ".5",
    "true",
    "null",
    "\\u00",
    "é",
    "{}",
    '"a"',
]
TOKENS = [*(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS), b"</s>"]
STOP = len(TOKENS) - 1
CLOSERS = [STOP, *(TOKENS.index(sign.encode()) for sign in '"}]')]
INFO = xgr.TokenizerInfo(TOKENS, stop_token_ids=[STOP])
COMPILER = xgr.GrammarCompiler(INFO, cache_enabled=False)


class DuplicateKeyError(ValueError):
    """An object has a key twice."""


def walk(
    compiled: xgr.CompiledGrammar,
    dice: random.Random,
    *,
    patience: int = 60,
    steps: int = 2_000,
    twin: xgr.CompiledGrammar | None = None,
) -> bytes | None:
    """Return a text that the masks allow, or None if it did not end within so many steps.

    A twin has the same mask at every step.
    """
    matcher = xgr.GrammarMatcher(compiled)
    beside = xgr.GrammarMatcher(twin) if twin else None
    mask = np.zeros(xgr.get_bitmask_shape(1, INFO.vocab_size), dtype=np.int32)
    other = mask.copy()
    text = b""
    for step in range(steps):
        matcher.fill_next_token_bitmask(mask)
        if beside:
            beside.fill_next_token_bitmask(other)
            assert (mask == other).all(), f"the masks differ after {text!r}"
        allowed = np.flatnonzero(bitmask_to_bool_mask(mask, INFO.vocab_size)[0]).tolist()
        assert allowed, f"a dead end after {text!r}"
        token = choose(allowed, dice, hurried=step > patience)
        assert matcher.accept_token(token), f"{TOKENS[token]!r} has its bit and is refused after {text!r}"
        assert beside is None or beside.accept_token(token), (
            f"a twin refuses {TOKENS[token]!r} after {text!r}"
        )
        if token == STOP:
            return text
        text += TOKENS[token]
    return None


def choose(allowed: list[int], dice: random.Random, *, hurried: bool) -> int:
    closers = [token for token in CLOSERS if token in allowed]
    if closers and (hurried or dice.random() < 0.3):
        return closers[0]
    # Control bytes and bytes beyond ASCII are many, and would crowd out the others.
    plain = [token for token in allowed if 32 <= TOKENS[token][0] < 127] or allowed
    return dice.choice(plain if dice.random() < 0.9 else allowed)


def read(text: bytes) -> Any:
    """Return the value of a JSON text, with exact numbers; no key may be there twice, and no surrogate alone."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            raise DuplicateKeyError(text)
        return value

    value = json.loads(
        text.decode(), parse_float=Decimal, object_pairs_hook=unique, parse_constant=_no_constant
    )
    json.dumps(value, ensure_ascii=False, default=str).encode()
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
