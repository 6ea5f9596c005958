"""Helpers for tests of grammars: does a grammar accept a string, and what does a mask say.

The names are XGrammar's, underscores included.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tokenstile._core import Grammar, GrammarCompiler, GrammarMatcher
from tokenstile.exceptions import UnsupportedFeatureError
from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokenstile.json_schema import Schema

__all__ = [
    "_ebnf_to_grammar_no_normalization",
    "_get_masked_tokens_from_bitmask",
    "_get_matcher_from_grammar",
    "_get_matcher_from_grammar_and_tokenizer_info",
    "_is_grammar_accept_string",
    "_is_single_token_bitmask",
    "_json_schema_to_ebnf",
    "_regex_to_ebnf",
    "_traverse_draft_tree",
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
    print_time: bool = False,
    require_termination: bool = True,
) -> bool:
    """Tell whether a grammar accepts a string, as a whole or as the beginning of one."""
    matcher = _get_matcher_from_grammar(grammar)
    started = time.perf_counter()
    accepted = matcher.accept_string(input_str, debug_print=debug_print)
    if print_time:
        print(f"accepting the string took {(time.perf_counter() - started) * 1e6:.1f} us")  # noqa: T201 - asked for
    return accepted and (matcher.is_completed() or not require_termination)


def _json_schema_to_ebnf(
    schema: Schema,
    *,
    any_whitespace: bool = True,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    max_whitespace_cnt: int | None = None,
    strict_mode: bool = True,
    json_format: str = "json",
    any_order: bool = False,
) -> str:
    """Return the EBNF of the JSON texts that a schema allows."""
    if json_format != "json":
        raise UnsupportedFeatureError(f"the form {json_format!r} is not that of JSON; see structural tags")
    grammar = Grammar.from_json_schema(
        schema,
        any_whitespace=any_whitespace,
        indent=indent,
        separators=separators,
        max_whitespace_cnt=max_whitespace_cnt,
        strict_mode=strict_mode,
        any_order=any_order,
    )
    return str(grammar)


def _regex_to_ebnf(regex: str, with_rule_name: bool = True) -> str:
    """Return the EBNF of what a regular expression matches, as a rule or as the body of one."""
    text = str(Grammar.from_regex(regex))
    return text if with_rule_name else text.removeprefix("root ::= ").rstrip("\n")


def _ebnf_to_grammar_no_normalization(ebnf_string: str, root_rule_name: str = "root") -> Grammar:
    """Return the grammar of an EBNF text as it was read; nothing is rewritten before it is compiled anyway."""
    return Grammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name)


def _traverse_draft_tree(  # noqa: PLR0917 - XGrammar's signature
    retrieve_next_token: Any,  # noqa: ANN401
    retrieve_next_sibling: Any,  # noqa: ANN401
    draft_tokens: Any,  # noqa: ANN401
    matcher: GrammarMatcher,
    bitmask: Any,  # noqa: ANN401
    time_threshold: float = -1.0,
) -> bool:
    """Fill the masks of all nodes of a tree of draft tokens."""
    return matcher.traverse_draft_tree(
        retrieve_next_token, retrieve_next_sibling, draft_tokens, bitmask, time_threshold
    )


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
