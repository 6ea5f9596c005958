"""Helpers for tests of grammars: does a grammar accept a string, and what does a mask say.

The names are XGrammar's, underscores included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile._core import Grammar, GrammarCompiler, GrammarMatcher
from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "_get_masked_tokens_from_bitmask",
    "_get_matcher_from_grammar",
    "_get_matcher_from_grammar_and_tokenizer_info",
    "_is_grammar_accept_string",
    "_is_single_token_bitmask",
    "bitmask_to_bool_mask",
    "bool_mask_to_bitmask",
]

_WORD_BITS = 32


def _get_matcher_from_grammar(grammar: Grammar | str, **kwargs: Any) -> GrammarMatcher:  # noqa: ANN401
    """Return a matcher without a vocabulary, for strings only."""
    return _get_matcher_from_grammar_and_tokenizer_info(
        grammar, TokenizerInfo([]), terminate_without_stop_token=True, **kwargs
    )


def _get_matcher_from_grammar_and_tokenizer_info(
    grammar: Grammar | str,
    tokenizer_info: TokenizerInfo | None = None,
    **kwargs: Any,  # noqa: ANN401
) -> GrammarMatcher:
    """Return a matcher for a grammar that is compiled for this one use."""
    compiler = GrammarCompiler(tokenizer_info or TokenizerInfo([]), cache_enabled=False)
    return GrammarMatcher(compiler.compile_grammar(grammar), **kwargs)


def _is_grammar_accept_string(
    grammar: Grammar | str,
    input_str: str | bytes,
    *,
    debug_print: bool = False,
    require_termination: bool = True,
) -> bool:
    """Tell whether a grammar accepts a string, as a whole or as the beginning of one."""
    matcher = _get_matcher_from_grammar(grammar)
    if not matcher.accept_string(input_str, debug_print=debug_print):
        return False
    return matcher.is_completed() or not require_termination


def bitmask_to_bool_mask(bitmask: Any, vocab_size: int | None = None) -> npt.NDArray[np.bool_]:  # noqa: ANN401
    """Return one boolean for each bit of a bitmask of any number of dimensions."""
    import numpy as np  # noqa: PLC0415 - only when used

    words = np.ascontiguousarray(np.asarray(bitmask)).view(np.uint32)
    bits = (words[..., None] >> np.arange(_WORD_BITS, dtype=np.uint32)) & np.uint32(1)
    flat = bits.reshape(*words.shape[:-1], -1).astype(np.bool_)
    return flat[..., :vocab_size]


def bool_mask_to_bitmask(bool_mask: Any) -> npt.NDArray[np.int32]:  # noqa: ANN401
    """Return the bitmask of rows of booleans, with ones after their end."""
    import numpy as np  # noqa: PLC0415 - only when used

    mask = np.asarray(bool_mask, dtype=np.bool_)
    missing = -mask.shape[-1] % _WORD_BITS
    padded = np.concatenate([mask, np.ones((*mask.shape[:-1], missing), dtype=np.bool_)], axis=-1)
    bits = padded.reshape(*mask.shape[:-1], -1, _WORD_BITS).astype(np.uint32)
    words: npt.NDArray[np.uint32] = (bits << np.arange(_WORD_BITS, dtype=np.uint32)).sum(
        axis=-1, dtype=np.uint32
    )
    return words.view(np.int32)


def _get_masked_tokens_from_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> list[int]:  # noqa: ANN401
    """Return the tokens that a row of a bitmask forbids."""
    allowed = bitmask_to_bool_mask(bitmask, vocab_size)
    row = allowed if allowed.ndim == 1 else allowed[index]
    return [int(token) for token in (~row).nonzero()[0]]


def _is_single_token_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> tuple[bool, int]:  # noqa: ANN401
    """Tell whether a row allows just one token, and which; -1 if not."""
    allowed = bitmask_to_bool_mask(bitmask, vocab_size)
    row = allowed if allowed.ndim == 1 else allowed[index]
    tokens = row.nonzero()[0]
    return (True, int(tokens[0])) if len(tokens) == 1 else (False, -1)
