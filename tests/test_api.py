"""The modules of the package, and what importing it costs. Names and signatures are in `test_api_table.py`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tokenstile as xgr


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
    assert callable(kernels.find("cpu"))


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
