"""The public names and signatures are XGrammar's."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import tokenstile as xgr

# What XGrammar exports and this release does not: what is not there is not faked.
ABSENT: set[str] = set()
PRESENT = {
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "exception",
    "get_bitmask_shape",
    "get_builtin_structural_tag",
    "get_max_recursion_depth",
    "get_model_structural_tag",
    "get_serialization_version",
    "hf",
    "max_recursion_depth",
    "normalize_tool_choice",
    "register_model_structural_tag",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "structural_tag",
    "testing",
}

# XGrammar's parameters, in order; "*" begins those that are given by name. Ours may have more by name.
SIGNATURES = {
    xgr.Grammar.from_ebnf: "ebnf_string, *, root_rule_name='root'",
    xgr.Grammar.from_regex: "regex_string, *, print_converted_ebnf=False",
    xgr.Grammar.from_lark: "lark_string, *, tokenizer_info=None, named_grammars=None",
    xgr.GrammarCompiler.compile_lark: "self, lark_string, *, named_grammars=None",
    xgr.Grammar.from_structural_tag: "*args, tokenizer_info=None, **kwargs",
    xgr.GrammarCompiler.compile_structural_tag: "self, *args, **kwargs",
    xgr.Grammar.builtin_json_grammar: "",
    xgr.Grammar.concat: "*grammars",
    xgr.Grammar.union: "*grammars",
    xgr.Grammar.deserialize_json: "json_string",
    xgr.GrammarCompiler: "tokenizer_info, *, max_threads=8, cache_enabled=True, cache_limit_bytes=-1",
    xgr.GrammarCompiler.compile_builtin_json_grammar: "self",
    xgr.GrammarCompiler.compile_regex: "self, regex",
    xgr.GrammarCompiler.compile_grammar: "self, grammar, *, root_rule_name='root'",
    xgr.GrammarCompiler.clear_cache: "self",
    xgr.GrammarCompiler.get_cache_size_bytes: "self",
    xgr.CompiledGrammar.serialize_json: "self",
    xgr.CompiledGrammar.deserialize_json: "json_str, tokenizer_info",
    xgr.GrammarMatcher: (
        "compiled_grammar, *, override_stop_tokens=None, terminate_without_stop_token=False, "
        "max_rollback_tokens=-1, default_temperature=None"
    ),
    xgr.GrammarMatcher.accept_token: "self, token_id, *, debug_print=False",
    xgr.GrammarMatcher.accept_string: "self, input_str, *, debug_print=False",
    xgr.GrammarMatcher.fill_next_token_bitmask: "self, bitmask, index=0, *, debug_print=False",
    xgr.GrammarMatcher.traverse_draft_tree: (
        "self, retrieve_next_token, retrieve_next_sibling, draft_tokens, token_bitmask, time_threshold=-1.0, "
        "temperatures=None"
    ),
    xgr.GrammarMatcher.find_jump_forward_string: "self",
    xgr.GrammarMatcher.rollback: "self, num_tokens=1",
    xgr.GrammarMatcher.get_captures: "self, *, deduplicate=True",
    xgr.GrammarMatcher.is_terminated: "self",
    xgr.GrammarMatcher.is_completed: "self",
    xgr.GrammarMatcher.reset: "self",
    xgr.GrammarMatcher.fork: "self",
    xgr.BatchGrammarMatcher: "max_threads='auto'",
    xgr.BatchGrammarMatcher.batch_fill_next_token_bitmask: (
        "self, matchers, bitmask, indices=None, debug_print=False"
    ),
    xgr.BatchGrammarMatcher.batch_fill_temperature: "matchers, temperatures, indices=None",
    xgr.BatchGrammarMatcher.batch_accept_token: "matchers, tokens, debug_print=False",
    xgr.BatchGrammarMatcher.batch_accept_string: "matchers, strings, debug_print=False",
    xgr.BatchGrammarMatcher.batch_rollback: "matchers, num_tokens=1",
    xgr.get_bitmask_shape: "batch_size, vocab_size",
    xgr.allocate_token_bitmask: "batch_size, vocab_size",
    xgr.reset_token_bitmask: "bitmask",
    xgr.apply_token_bitmask_inplace: "logits, bitmask, *, vocab_size=None, indices=None, backend='auto'",
    xgr.set_max_recursion_depth: "max_recursion_depth",
    xgr.max_recursion_depth: "temp_depth",
}
OURS = {"limits", "timeout", "cancel", "max_tokens", "on_capture", "token_count"}


def described(parameters: list[inspect.Parameter]) -> list[tuple[str, object, bool]]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [(p.name, p.default, p.kind == keyword) for p in parameters]


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__qualname__)
def test_signatures(function):
    namespace: dict = {}
    exec(f"def expected({SIGNATURES[function]}): ...", namespace)  # noqa: S102 - our own text
    expected = list(inspect.signature(namespace["expected"]).parameters.values())
    found = list(inspect.signature(function).parameters.values())
    assert described([p for p in found if p.name not in OURS]) == described(expected)


def test_exported_names():
    assert set(xgr.__all__) >= PRESENT
    assert not ABSENT & set(dir(xgr))
    for name in xgr.__all__:
        assert getattr(xgr, name) is not None


def test_modules_of_xgrammar():
    from tokenstile import compiler, config, exception, grammar, kernels, matcher, tokenizer_info

    assert grammar.Grammar is xgr.Grammar
    assert compiler.GrammarCompiler is xgr.GrammarCompiler
    assert matcher.GrammarMatcher is xgr.GrammarMatcher
    assert matcher.allocate_token_bitmask is xgr.allocate_token_bitmask
    assert matcher.bitmask_dtype == xgr.bitmask_dtype
    assert tokenizer_info.TokenizerInfo is xgr.TokenizerInfo
    assert exception.InvalidJSONError is xgr.InvalidJSONError
    assert config.get_serialization_version() == xgr.get_serialization_version()
    assert callable(kernels.apply_token_bitmask_inplace_cpu)


def test_unknown_names_are_attribute_errors():
    from tokenstile import bitmask, kernels, matcher

    for module in (xgr, bitmask, matcher, kernels):
        with pytest.raises(AttributeError, match="nothing_of_the_kind"):
            _ = module.nothing_of_the_kind


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_import_needs_nothing_else():
    code = "import sys, tokenstile; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = run_python(code).split()
    assert not {"torch", "transformers", "numpy", "tokenizers"} & set(loaded)


def test_import_is_fast():
    # Processor time, because other processes may run; the best of a few, because the first may read from the disk.
    code = "import time; t = time.process_time(); import tokenstile; print(time.process_time() - t)"
    assert min(float(run_python(code)) for _ in range(5)) < 0.1


def test_bitmasks_do_not_import_torch_for_numpy():
    code = (
        "import sys, numpy as np, tokenstile as t\n"
        "c = t.GrammarCompiler(t.TokenizerInfo(['a', '</s>'])).compile_grammar('root ::= \"a\"')\n"
        "t.GrammarMatcher(c).fill_next_token_bitmask(np.zeros((1, 1), np.int32))\n"
        "print('torch' in sys.modules)"
    )
    assert run_python(code).strip() == "False"


def test_doctests():
    import doctest

    from tokenstile import limits

    for module in (xgr, limits):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0
