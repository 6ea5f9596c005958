"""Tokenstile under XGrammar's name, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def run(code):
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_modules_are_ours():
    code = """
import warnings
warnings.simplefilter("error")
from tokenstile.compat import install_as_xgrammar
install_as_xgrammar()
install_as_xgrammar()
import tokenstile, tokenstile.matcher
import xgrammar as xgr
import xgrammar.testing
import xgrammar.contrib.hf
import xgrammar.matcher
from xgrammar.compiler import GrammarCompiler
from xgrammar.exception import InvalidJSONError
from xgrammar.grammar import Grammar
from xgrammar.kernels import cpu
from xgrammar.tokenizer_info import TokenizerInfo
assert xgr is tokenstile and xgrammar.testing is tokenstile.testing
assert xgrammar.matcher is tokenstile.matcher and xgrammar.contrib.hf is tokenstile.hf
assert Grammar is tokenstile.Grammar and InvalidJSONError is tokenstile.InvalidJSONError
assert tokenstile.__spec__.name == tokenstile.__name__ == "tokenstile"
assert tokenstile.contrib.hf.__spec__.name == "tokenstile.contrib.hf"
info = TokenizerInfo(["a", "b"])
matcher = xgr.GrammarMatcher(GrammarCompiler(info).compile_grammar('root ::= "a" "b"'))
assert matcher.accept_token(0)
try:
    import xgrammar.no_such_module
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run(code) == "xgrammar.no_such_module\n"


def test_too_late():
    code = """
import sys, types
sys.modules["xgrammar"] = types.ModuleType("xgrammar")
from tokenstile import TokenstileError
from tokenstile.compat import install_as_xgrammar
try:
    install_as_xgrammar()
except TokenstileError as error:
    print(error)
"""
    assert "imported already" in run(code)
