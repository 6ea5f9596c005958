"""What calls return, and what properties say, beside XGrammar itself, where that is installed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.wrong_arguments import calls

import tokenstile as xgr

xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")

# Texts of grammars and of regular expressions: the same language in other words.
TEXTS = {"_json_schema_to_ebnf", "_regex_to_ebnf", "_generate_range_regex"}


def told(value):
    """What two values have to have in common."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, list | tuple):
        return type(value), [told(item) for item in value]
    return type(value).__name__


def results(package):
    return {name: told(function(**right)) for name, function, right in calls(package) if name not in TEXTS}


def test_right_calls_return_the_same():
    assert results(xgr) == results(xgrammar)


def states(package):
    """All that can be asked along a short text."""
    info = package.TokenizerInfo(["a", "b", "<s>", "", "</s>"], vocab_size=7)
    yield from (info.vocab_type.name, info.vocab_type.value, info.vocab_size, info.add_prefix_space)
    # Ours has an entry for each id, those of the padding too.
    yield from (info.decoded_vocab[:5], info.stop_token_ids, info.special_token_ids, info.dump_metadata())
    compiler = package.GrammarCompiler(info, max_threads=1)
    yield from (compiler.cache_limit_bytes, type(compiler.get_cache_size_bytes()), compiler.clear_cache())
    compiled = compiler.compile_grammar('root ::= "a" x\nx[capture="y", temperature=0.5] ::= "b"*')
    yield from (type(compiled.memory_size_bytes), compiled.tokenizer_info.vocab_size)
    matcher = package.GrammarMatcher(compiled, default_temperature=1.5)
    mask = package.allocate_token_bitmask(2, info.vocab_size)
    yield from (tuple(mask.shape), mask.dtype, mask.tolist(), str(mask.device))
    yield from asked(matcher, mask)
    for token in (1, 0, 1, 99, -1, 4):
        yield matcher.accept_token(token)
        yield from asked(matcher, mask)
    yield matcher.rollback(2)
    yield from asked(matcher, mask)
    yield matcher.reset()
    yield matcher.accept_string("ab")
    yield matcher.accept_string("x")
    yield package.reset_token_bitmask(mask)
    yield mask.tolist()
    yield package.get_bitmask_shape(3, 65)
    yield package.get_max_recursion_depth()


def asked(matcher, mask):
    yield from (matcher.is_terminated(), matcher.is_completed(), matcher.max_rollback_tokens)
    yield from (matcher.stop_token_ids, matcher.temperature)
    if not matcher.is_terminated():
        yield matcher.fill_next_token_bitmask(mask, 1)
        # The bits beyond the vocabulary are nobody's.
        yield np.asarray(mask[1] & 127).tolist()
        yield matcher.find_jump_forward_string()


def test_states_along_a_text_are_the_same():
    assert list(states(xgr)) == list(states(xgrammar))


def test_kernels_do_the_same():
    for rows in (None, [1], [0, 1]):
        logits = torch.arange(80, dtype=torch.float32).reshape(2, 40)
        mask = torch.tensor([[5, -1], [-2, 0]], dtype=torch.int32)
        found = []
        for package in (xgr, xgrammar):
            given = logits.clone()
            assert package.apply_token_bitmask_inplace(given, mask, indices=rows) is None
            found.append(given)
        assert torch.equal(*found)
