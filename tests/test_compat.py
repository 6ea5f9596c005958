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


# The modules of XGrammar 0.2.8 that are no binding, with some of what programs import from each.
MODULES = {
    "": "Grammar GrammarCompiler GrammarMatcher StructuralTag TokenizerInfo VocabType",
    "._version": "__version__ __version_tuple__ version version_tuple __commit_id__ commit_id",
    ".base": "XGRObject",
    ".builtin_structural_tag": "get_model_structural_tag normalize_tool_choice get_llama_structural_tag "
    "register_model_structural_tag FunctionToolParam StructuralTag TriggeredTagsFormat",
    ".compiler": "CompiledGrammar GrammarCompiler Grammar StructuralTag StructuralTagItem TokenizerInfo",
    ".config": "get_max_recursion_depth get_serialization_version max_recursion_depth set_max_recursion_depth",
    ".contrib.hf": "LogitsProcessor",
    ".exception": "DeserializeFormatError DeserializeVersionError InvalidJSONError InvalidStructuralTagError",
    ".grammar": "Grammar StructuralTagItem StructuralTag",
    ".kernels": "",
    ".kernels.apply_token_bitmask_inplace_cpu": "apply_token_bitmask_inplace_cpu",
    ".load_binding": "",
    ".matcher": "BatchGrammarMatcher GrammarMatcher allocate_token_bitmask apply_token_bitmask_inplace "
    "get_bitmask_shape reset_token_bitmask",
    ".openai_tool_call_schema": "FunctionToolParam ToolParam ToolChoiceOptionParam",
    ".structural_tag": "StructuralTag TagFormat TriggeredTagsFormat JSONSchemaFormat",
    ".testing": "_is_grammar_accept_string _get_matcher_from_grammar",
    ".tokenizer_info": "TokenizerInfo VocabType",
}


def test_every_module_of_xgrammar_is_there():
    code = f"""
import importlib
from tokenstile.compat import install_as_xgrammar
install_as_xgrammar()
for name, wanted in {MODULES!r}.items():
    module = importlib.import_module("xgrammar" + name)
    for one in wanted.split():
        getattr(module, one)
# It has had these once.
for gone in ("support", "version"):
    try:
        importlib.import_module("xgrammar." + gone)
    except ModuleNotFoundError as error:
        print(error.name)
"""
    assert run(code) == "xgrammar.support\nxgrammar.version\n"


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
