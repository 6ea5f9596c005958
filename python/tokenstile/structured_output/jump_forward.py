"""Tokens that must come, so that the model need not be asked for them.

A grammar can force a text, such as the name of a key. Which tokens spell it is not forced: models have learnt the cut
of their own tokenizer, so it cuts the text, if it is known. The last token is kept only if no longer one could stand in
its place, because the model might have written that. Without a tokenizer only tokens count that are forced themselves:
those that are alone in their mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokenstile.bitmask import get_bitmask_shape
from tokenstile.testing import bitmask_to_bool_mask

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
        for found in (info.token_bytes(token) for token in _allowed(fork, info))
    )


def _single_tokens(fork: GrammarMatcher, info: TokenizerInfo) -> list[int]:
    """Follow the masks that allow just one token. One that ends the text is left to the model."""
    tokens: list[int] = []
    while len(tokens) < _MOST_TOKENS:
        allowed = _allowed(fork, info)
        if len(allowed) != 1:
            break
        token = int(allowed[0])
        if not fork.accept_token(token) or fork.is_terminated():
            break
        tokens.append(token)
    return tokens


def _allowed(matcher: GrammarMatcher, info: TokenizerInfo) -> list[int]:
    mask = np.zeros(get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    return [int(token) for token in np.flatnonzero(bitmask_to_bool_mask(mask, info.vocab_size)[0])]
