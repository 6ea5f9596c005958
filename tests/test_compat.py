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
    ".base": "XGRObject _core",
    ".builtin_structural_tag": "get_model_structural_tag normalize_tool_choice get_llama_structural_tag "
    "register_model_structural_tag FunctionToolParam StructuralTag TriggeredTagsFormat Format ToolParam "
    "ToolChoiceOptionParam SimplifiedToolChoice BuiltinStructuralTagFn _structural_tag_registry "
    "_get_function_parameters _get_builtin_tool_name",
    ".compiler": "CompiledGrammar GrammarCompiler Grammar StructuralTag StructuralTagItem TokenizerInfo XGRObject "
    "_core _convert_named_grammars_to_lists _convert_schema_to_str _get_structural_tag_str_from_args",
    ".config": "get_max_recursion_depth get_serialization_version max_recursion_depth set_max_recursion_depth",
    ".contrib.hf": "LogitsProcessor",
    ".exception": "DeserializeFormatError DeserializeVersionError InvalidJSONError InvalidStructuralTagError",
    ".grammar": "Grammar StructuralTagItem StructuralTag XGRObject _core _convert_schema_to_str "
    "_convert_named_grammars_to_lists _convert_instance_to_str _get_structural_tag_str_from_args",
    ".kernels": "",
    ".kernels.apply_token_bitmask_inplace_cpu": "apply_token_bitmask_inplace_cpu",
    ".load_binding": "LIB",
    ".matcher": "BatchGrammarMatcher GrammarMatcher allocate_token_bitmask apply_token_bitmask_inplace "
    "get_bitmask_shape reset_token_bitmask XGRObject _core _FULL_MASK",
    ".openai_tool_call_schema": "FunctionToolParam ToolParam ToolChoiceOptionParam",
    ".structural_tag": "StructuralTag TagFormat TriggeredTagsFormat JSONSchemaFormat",
    ".testing": "_is_grammar_accept_string _get_matcher_from_grammar",
    ".tokenizer_info": "TokenizerInfo VocabType XGRObject _BYTE_LEVEL_CHARSET _build_byte_level_charset",
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


def test_what_a_plain_import_brings():
    code = """
import tokenstile as xgr
print(xgr.contrib.hf.LogitsProcessor.__name__, xgr.hf is xgr.contrib.hf, xgr.load_binding.LIB is xgr.base._core)
print(isinstance(xgr.TokenizerInfo(["a"]), xgr.base.XGRObject), xgr.kernels.find("cpu").__name__)
try:
    xgr.contrib.no_such_library
except AttributeError as error:
    print(error)
"""
    assert run(code).splitlines() == [
        "LogitsProcessor True True",
        "True apply_token_bitmask_inplace",
        "module 'tokenstile.contrib' has no attribute 'no_such_library'",
    ]


def test_star_import_without_pydantic():
    code = """
import sys
sys.modules["pydantic"] = None
from tokenstile import *
print("StructuralTag" in globals(), Grammar.from_regex("a") is not None)
import tokenstile
try:
    tokenstile.StructuralTag
except ImportError as error:
    print("pip install" in str(error))
"""
    assert run(code) == "False True\nTrue\n"


def test_star_import_has_all_names():
    code = """
from tokenstile import *
print(StructuralTag.__name__, structural_tag.__name__, GrammarMatcher.__name__)
"""
    assert run(code) == "StructuralTag tokenstile.structural_tag GrammarMatcher\n"


def test_the_helpers_that_programs_import_in_spite_of_their_underscore():
    code = """
from tokenstile.compat import install_as_xgrammar
install_as_xgrammar()
from xgrammar.tokenizer_info import _BYTE_LEVEL_CHARSET
from xgrammar.grammar import _convert_instance_to_str, _get_structural_tag_str_from_args
from xgrammar.grammar import _convert_named_grammars_to_lists
from xgrammar.builtin_structural_tag import _structural_tag_registry, _get_function_parameters
from xgrammar.builtin_structural_tag import FunctionDefinition, get_llama_structural_tag
from xgrammar.structural_tag import StructuralTag, StructuralTagItem
print(len(_BYTE_LEVEL_CHARSET), "\u0120" in _BYTE_LEVEL_CHARSET, " " in _BYTE_LEVEL_CHARSET)
print("llama" in _structural_tag_registry)
tag = {"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}
print(_convert_instance_to_str(tag) == _get_structural_tag_str_from_args([], {"structural_tag": tag}))
print(StructuralTag.from_json(_convert_instance_to_str(StructuralTag.from_json(tag))) == StructuralTag.from_json(tag))
item = StructuralTagItem(begin="<f>", schema={"type": "object"}, end="</f>")
print("triggered_tags" in _get_structural_tag_str_from_args([[item], ["<f"]], {}))
print(_convert_named_grammars_to_lists({"a": "start: A"}), _convert_named_grammars_to_lists(None))
print(_get_function_parameters(FunctionDefinition(name="f", parameters={"type": "object"}, strict=False)))
for call in (
    lambda: _convert_instance_to_str(1),
    lambda: _get_structural_tag_str_from_args([], {}),
    lambda: _convert_named_grammars_to_lists({"a": 1}),
):
    try:
        call()
    except (TypeError, ValueError) as error:
        print(type(error).__name__)
"""
    assert run(code).splitlines() == [
        "256 True False",
        "True",
        "True",
        "True",
        "True",
        "(['a'], ['start: A']) ([], [])",
        "True",
        "ValueError",
        "TypeError",
        "TypeError",
    ]


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
