"""Helpers for tests of grammars: does a grammar accept a string, and what does a mask say.

The names are XGrammar's, underscores included. Where XGrammar looks into its own machine, these look into ours: a rule
is known by its place in the text of the grammar, and is asked what it accepts.
"""

from __future__ import annotations

import json
import re
import sys
import time
from typing import TYPE_CHECKING, Any, Literal

from tokenstile._arguments import flag, whole_number
from tokenstile._core import (
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    _apply_passes,
    _machine_text,
)
from tokenstile.exceptions import BitmaskError, InvalidArgumentError, JSONSchemaError, UnsupportedFeatureError
from tokenstile.json_schema import schema_text
from tokenstile.number_regex import decimals, integers
from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from tokenstile.json_schema import Schema

__all__ = [
    "GrammarFunctor",
    "_ebnf_to_grammar_no_normalization",
    "_generate_float_regex",
    "_generate_range_regex",
    "_get_allow_empty_rule_ids",
    "_get_masked_tokens_from_bitmask",
    "_get_matcher_from_grammar",
    "_get_matcher_from_grammar_and_tokenizer_info",
    "_is_grammar_accept_string",
    "_is_rule_fsm_accept_string",
    "_is_single_token_bitmask",
    "_json_schema_to_ebnf",
    "_print_grammar_fsms",
    "_regex_to_ebnf",
    "_traverse_draft_tree",
    "bitmask_to_bool_mask",
    "bool_mask_to_bitmask",
]

_WORD_BITS = 32

JSONFormat = Literal[
    "json",
    "qwen_xml",
    "minimax_xml",
    "minimax_m3_xml",
    "deepseek_xml",
    "glm_xml",
    "cohere_xml",
    "kimi_k3_xml",
    "deepseek_v4_1_xml",
]


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
    json_format: JSONFormat = "json",
    any_order: bool = False,
) -> str:
    """Return the EBNF of the values that a schema allows, as JSON or in one of the styles of structural tags."""
    if not isinstance(json_format, str):
        raise InvalidArgumentError(f"json_format must be a str, not {type(json_format).__name__}")
    if json_format != "json":
        layout = {
            "any_whitespace": any_whitespace is not True,
            "indent": indent is not None,
            "separators": separators is not None,
            "strict_mode": strict_mode is not True,
        }
        for name in (name for name, is_changed in layout.items() if is_changed):
            raise UnsupportedFeatureError(
                f"{name} is for JSON: the style {json_format!r} has a layout of its own"
            )
        return str(_styled(schema, json_format, any_order=any_order, max_whitespace_cnt=max_whitespace_cnt))
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


def _styled(schema: Schema, style: str, *, any_order: bool, max_whitespace_cnt: int | None) -> Grammar:
    try:
        read = json.loads(schema_text(schema))
    except ValueError as error:
        raise JSONSchemaError(f"the schema is not JSON: {error}") from error
    content = {
        "type": "json_schema",
        "json_schema": read,
        "style": style,
        "any_order": any_order,
        "max_whitespace_cnt": max_whitespace_cnt,
    }
    return Grammar.from_structural_tag({"format": content})


def _regex_to_ebnf(regex: str, with_rule_name: bool = True) -> str:
    """Return the EBNF of what a regular expression matches, as a rule or as the body of one."""
    text = str(Grammar.from_regex(regex))
    return text if flag("with_rule_name", with_rule_name) else text.removeprefix("root ::= ").rstrip("\n")


def _ebnf_to_grammar_no_normalization(ebnf_string: str, root_rule_name: str = "root") -> Grammar:
    """Return the grammar of an EBNF text as it was read; nothing is rewritten before it is compiled anyway."""
    return Grammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name)


def _generate_range_regex(start: int | None = None, end: int | None = None) -> str:
    """Return the regular expression of the whole numbers from ``start`` to ``end``, both included."""
    return integers(start, end)


def _generate_float_regex(
    start: float | None = None,
    end: float | None = None,
    exclusive_start: bool = False,
    exclusive_end: bool = False,
) -> str:
    """Return the regular expression of the decimal numbers from ``start`` to ``end``, of any number of digits."""
    return decimals(start, end, without_low=exclusive_start, without_high=exclusive_end)


_RULE = re.compile(r"^([^\s\[:]+)(?:\[[^\n]*?\])? ::= ", re.MULTILINE)


def _rule_grammars(grammar: Grammar) -> list[Grammar]:
    """Return for each rule, in the order of the text, the grammar that begins with it."""
    text = str(grammar)
    return [Grammar.from_ebnf(text, root_rule_name=name) for name in _RULE.findall(text)]


def _is_rule_fsm_accept_string(grammar: Grammar, rule_id: int, input_str: str) -> bool:
    """Tell whether a rule, by its place in the text of the grammar, accepts a string as a whole."""
    rules = _rule_grammars(grammar)
    if not 0 <= rule_id < len(rules):
        raise InvalidArgumentError(f"the grammar has {len(rules)} rules, and no rule {rule_id}")
    return _is_grammar_accept_string(rules[rule_id], input_str)


def _get_allow_empty_rule_ids(compiled_grammar: CompiledGrammar) -> list[int]:
    """Return the rules that accept the empty string, by their place in the text of the grammar."""
    rules = _rule_grammars(compiled_grammar.grammar)
    return [at for at, rule in enumerate(rules) if _is_grammar_accept_string(rule, "")]


def _print_grammar_fsms(grammar: Grammar) -> str:
    """Return the machine that a grammar becomes: its rules with their nodes, and its terminals."""
    return _machine_text(grammar)


class GrammarFunctor:
    """Rewritings of grammars that leave their language as it is.

    XGrammar's names, for the passes of this engine that do the like. What a pass of XGrammar prepares and this engine
    has no use for changes nothing: strings next to each other are one string as soon as they are read, repeats are
    counted while matching, and a lookahead is no part of the language.
    """

    @staticmethod
    def structure_normalizer(grammar: Grammar) -> Grammar:
        """Make expressions of rule options and of tag dispatch, and loops of recursion at one end of a rule."""
        return _apply_passes(grammar, ["options", "dispatch", "linear"])

    @staticmethod
    def rule_inliner(grammar: Grammar) -> Grammar:
        """Put regular rules, and rules that are called once, in their callers' place."""
        return _apply_passes(grammar, ["inline"])

    @staticmethod
    def byte_string_fuser(grammar: Grammar) -> Grammar:
        """Return the grammar: strings next to each other are one string in every grammar."""
        return _apply_passes(grammar, [])

    @staticmethod
    def dead_code_eliminator(grammar: Grammar) -> Grammar:
        """Take out rules that nobody calls, and what can match nothing."""
        return _apply_passes(grammar, ["trim"])

    @staticmethod
    def lookahead_assertion_analyzer(grammar: Grammar) -> Grammar:
        """Return the grammar: a lookahead is a hint for XGrammar's masks, and these are exact without it."""
        return _apply_passes(grammar, [])

    @staticmethod
    def grammar_optimizer(grammar: Grammar) -> Grammar:
        """Do all of it, in the order in which compiling does."""
        return _apply_passes(grammar, ["options", "dispatch", "trim", "linear", "inline", "trim"])

    @staticmethod
    def fsm_builder(grammar: Grammar) -> Grammar:
        """Return the grammar, after a look at whether it has a machine; `_print_grammar_fsms` shows it."""
        _machine_text(grammar)
        return _apply_passes(grammar, [])

    @staticmethod
    def repetition_normalizer(grammar: Grammar) -> Grammar:
        """Return the grammar: repeats are not unrolled here, but counted while matching."""
        return _apply_passes(grammar, [])


def _traverse_draft_tree(  # noqa: PLR0917 - XGrammar's signature
    retrieve_next_token: Any,  # noqa: ANN401
    retrieve_next_sibling: Any,  # noqa: ANN401
    draft_tokens: Any,  # noqa: ANN401
    matcher: GrammarMatcher,
    allocate_token_bitmask: Any,  # noqa: ANN401
    time_threshold: float = -1.0,
) -> bool:
    """Fill the masks of all nodes of a tree of draft tokens."""
    return matcher.traverse_draft_tree(
        retrieve_next_token, retrieve_next_sibling, draft_tokens, allocate_token_bitmask, time_threshold
    )


def _is_tensor(array: Any) -> bool:  # noqa: ANN401
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _bits(bitmask: Any) -> Any:  # noqa: ANN401 - numpy is imported when used
    import numpy as np  # noqa: PLC0415 - only when used

    array = np.asarray(bitmask.cpu() if _is_tensor(bitmask) else bitmask)
    if array.dtype not in {np.dtype(np.int32), np.dtype(np.uint32)}:
        raise BitmaskError(f"the elements of a bitmask must be int32, not {array.dtype}")
    words = np.ascontiguousarray(array).view(np.uint32)
    bits = (words[..., None] >> np.arange(_WORD_BITS, dtype=np.uint32)) & np.uint32(1)
    return bits.reshape(*words.shape[:-1], -1).astype(np.bool_)


def _like(array: Any, model: Any) -> Any:  # noqa: ANN401 - numpy's, or torch's where the model is
    return sys.modules["torch"].from_numpy(array).to(model.device) if _is_tensor(model) else array


def bitmask_to_bool_mask(bit_mask: Any, vocab_size: int | None = None) -> Any:  # noqa: ANN401
    """Return one boolean for each bit of a bitmask of any number of dimensions: a tensor of a tensor, else numpy's."""
    if vocab_size is not None and vocab_size < 0:
        raise BitmaskError(f"vocab_size must not be negative, not {vocab_size}")
    return _like(_bits(bit_mask)[..., :vocab_size], bit_mask)


def bool_mask_to_bitmask(bool_mask: Any) -> Any:  # noqa: ANN401
    """Return the bitmask of rows of booleans, with ones after their end: a tensor of a tensor, else numpy's."""
    import numpy as np  # noqa: PLC0415 - only when used

    mask = np.asarray(bool_mask.cpu() if _is_tensor(bool_mask) else bool_mask, dtype=np.bool_)
    missing = -mask.shape[-1] % _WORD_BITS
    padded = np.concatenate([mask, np.ones((*mask.shape[:-1], missing), dtype=np.bool_)], axis=-1)
    bits = padded.reshape(*mask.shape[:-1], -1, _WORD_BITS).astype(np.uint32)
    words = (bits << np.arange(_WORD_BITS, dtype=np.uint32)).sum(axis=-1, dtype=np.uint32)
    return _like(words.view(np.int32), bool_mask)


def _row(bitmask: Any, vocab_size: int, index: int) -> Any:  # noqa: ANN401
    """Return which tokens a row of a bitmask allows."""
    vocab_size, index = whole_number("vocab_size", vocab_size), whole_number("index", index)
    bits = _bits(bitmask)
    rows = bits[None] if bits.ndim == 1 else bits
    words = (vocab_size + _WORD_BITS - 1) // _WORD_BITS
    if vocab_size < 0 or rows.ndim != 2 or rows.shape[1] != words * _WORD_BITS:  # noqa: PLR2004 - rows and columns
        raise BitmaskError(
            f"the bitmask of {vocab_size} tokens has {max(words, 0)} words a row, not the shape "
            f"{tuple(bitmask.shape)}"
        )
    if not 0 <= index < rows.shape[0]:
        raise BitmaskError(f"the bitmask has {rows.shape[0]} rows, and no row {index}")
    return rows[index, :vocab_size]


def _get_masked_tokens_from_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> list[int]:  # noqa: ANN401
    """Return the tokens that a row of a bitmask forbids."""
    return [int(token) for token in (~_row(bitmask, vocab_size, index)).nonzero()[0]]


def _is_single_token_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> tuple[bool, int]:  # noqa: ANN401
    """Tell whether a row allows just one token, and which; -1 if not."""
    tokens = _row(bitmask, vocab_size, index).nonzero()[0]
    return (True, int(tokens[0])) if len(tokens) == 1 else (False, -1)
