"""Tokens that must come, so that the model need not be asked for them.

A grammar can force a text, such as what comes between two values. Which tokens spell it is not forced: models have
learnt the cut of their own tokenizer, so it cuts the text, if it is known. The last token is kept only if no longer one
could stand in its place, because the model might have written that. Without a tokenizer only tokens count that are
forced themselves: those that are alone in their mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokenstile.bitmask import get_bitmask_shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile._core import GrammarMatcher
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["find_forced_tokens"]

_MOST_TOKENS = 4096


def find_forced_tokens(
    matcher: GrammarMatcher, info: TokenizerInfo, encode: Callable[[str], list[int]] | None
) -> list[int]:
    """Return the tokens that can be appended without asking the model. The matcher does not move."""
    if matcher.is_terminated():
        return []
    if encode is not None:
        tokens = _encoded(matcher, info, encode)
        if tokens:
            return tokens
    return _single_tokens(matcher.fork(), info)


def _encoded(matcher: GrammarMatcher, info: TokenizerInfo, encode: Callable[[str], list[int]]) -> list[int]:
    """Return the forced text as the tokenizer cuts it, less a last token that might be longer."""
    text = matcher.find_jump_forward_string()
    if not text:
        return []
    tokens = encode(text)
    known = all(0 <= token < info.vocab_size for token in tokens)
    if not known or b"".join(map(info.token_bytes, tokens)) != text.encode():
        return []  # it puts a space before the text, or changes it
    tokens = tokens[: matcher.validate_tokens(tokens)]
    if tokens and _could_be_longer(matcher, info, tokens):
        tokens.pop()
    return tokens


def _could_be_longer(matcher: GrammarMatcher, info: TokenizerInfo, tokens: list[int]) -> bool:
    """Tell whether a token fits in the last one's place that begins with it and is longer."""
    fork = matcher.fork()
    for token in tokens[:-1]:
        fork.accept_token(token)
    last = info.token_bytes(tokens[-1])
    return any(
        len(found) > len(last) and found.startswith(last)
        for found in (info.token_bytes(token) for token in _tokens(_mask(fork, info), info))
    )


def _single_tokens(fork: GrammarMatcher, info: TokenizerInfo) -> list[int]:
    """Follow the masks that allow just one token. One that ends the text is left to the model."""
    tokens: list[int] = []
    while len(tokens) < _MOST_TOKENS:
        mask = _mask(fork, info)
        if _count(mask) != 1:
            break
        (token,) = _tokens(mask, info)
        if not fork.accept_token(token) or fork.is_terminated():
            break
        tokens.append(token)
    return tokens


def _mask(matcher: GrammarMatcher, info: TokenizerInfo) -> np.ndarray:
    mask = np.zeros(get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    return mask


def _count(mask: np.ndarray) -> int:
    """Count the tokens of a mask; most masks have many, and need not be written out for that."""
    return int(np.unpackbits(mask.view(np.uint8)).sum())


def _tokens(mask: np.ndarray, info: TokenizerInfo) -> list[int]:
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: info.vocab_size]
    return np.flatnonzero(bits).tolist()
