"""Structured generation: a grammar and a vocabulary in, exact token masks out.

>>> import tokenstile
>>> info = tokenstile.TokenizerInfo(["a", "b", "ab", "</s>"])
>>> compiled = tokenstile.GrammarCompiler(info).compile_grammar('root ::= "a" "b"*')
>>> matcher = tokenstile.GrammarMatcher(compiled)
>>> matcher.accept_token(2)
True
>>> matcher.is_completed()
True

The names are XGrammar's: ``import tokenstile as xgr`` runs code that was written for it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from tokenstile import bitmask as _bitmask
from tokenstile import exception, exceptions, testing
from tokenstile._core import __version__
from tokenstile.bitmask import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)
from tokenstile.compiler import CancelToken, CompiledGrammar, GrammarCompiler
from tokenstile.config import (
    get_cache_limit_bytes,
    get_default_spelling,
    get_max_recursion_depth,
    get_serialization_version,
    max_recursion_depth,
    set_cache_limit_bytes,
    set_default_spelling,
    set_max_recursion_depth,
)
from tokenstile.exceptions import (
    BitmaskError,
    CancelledError,
    DeserializeError,
    DeserializeFormatError,
    DeserializeVersionError,
    EBNFError,
    GrammarError,
    InvalidArgumentError,
    InvalidJSONError,
    InvalidStructuralTagError,
    JSONSchemaError,
    LarkError,
    LimitExceededError,
    MaskTimeoutError,
    MatcherError,
    RegexError,
    TokenBudgetError,
    TokenizerError,
    TokenstileError,
    UnsupportedFeatureError,
)
from tokenstile.grammar import Grammar
from tokenstile.json_schema import check_schema
from tokenstile.limits import Limits
from tokenstile.matcher import BatchGrammarMatcher, Capture, GrammarMatcher
from tokenstile.schema_report import Finding, Outcome, SchemaWarning
from tokenstile.tokenizer_info import TokenizerInfo, VocabType

if TYPE_CHECKING:
    from tokenstile import structural_tag
    from tokenstile.generation import (
        Generator,
        OutputError,
        RemoteModel,
        ToolCall,
        Tools,
        generate,
        generate_async,
    )
    from tokenstile.structural_tag import StructuralTag, StructuralTagItem
    from tokenstile.tool_calling import (
        get_builtin_structural_tag,
        get_model_structural_tag,
        normalize_tool_choice,
        register_model_structural_tag,
    )

__all__ = [
    "BatchGrammarMatcher",
    "BitmaskError",
    "CancelToken",
    "CancelledError",
    "Capture",
    "CompiledGrammar",
    "DeserializeError",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "EBNFError",
    "Finding",
    "Generator",
    "Grammar",
    "GrammarCompiler",
    "GrammarError",
    "GrammarMatcher",
    "InvalidArgumentError",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "JSONSchemaError",
    "LarkError",
    "LimitExceededError",
    "Limits",
    "MaskTimeoutError",
    "MatcherError",
    "Outcome",
    "OutputError",
    "RegexError",
    "RemoteModel",
    "SchemaWarning",
    "StructuralTag",
    "StructuralTagItem",
    "TokenBudgetError",
    "TokenizerError",
    "TokenizerInfo",
    "TokenstileError",
    "ToolCall",
    "Tools",
    "UnsupportedFeatureError",
    "VocabType",
    "__version__",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "check_schema",
    "exception",
    "exceptions",
    "generate",
    "generate_async",
    "get_bitmask_shape",
    "get_builtin_structural_tag",
    "get_cache_limit_bytes",
    "get_default_spelling",
    "get_max_recursion_depth",
    "get_model_structural_tag",
    "get_serialization_version",
    "hf",
    "max_recursion_depth",
    "normalize_tool_choice",
    "register_model_structural_tag",
    "reset_token_bitmask",
    "set_cache_limit_bytes",
    "set_default_spelling",
    "set_max_recursion_depth",
    "structural_tag",
    "testing",
]


# What takes time to import or needs Pydantic, by the module that it is in: imported when somebody asks for it.
_LAZY = {
    "StructuralTag": "tokenstile.structural_tag",
    "StructuralTagItem": "tokenstile.structural_tag",
    "Generator": "tokenstile.generation",
    "OutputError": "tokenstile.generation",
    "RemoteModel": "tokenstile.generation",
    "ToolCall": "tokenstile.generation",
    "Tools": "tokenstile.generation",
    "generate": "tokenstile.generation",
    "generate_async": "tokenstile.generation",
    "get_builtin_structural_tag": "tokenstile.tool_calling",
    "get_model_structural_tag": "tokenstile.tool_calling",
    "normalize_tool_choice": "tokenstile.tool_calling",
    "register_model_structural_tag": "tokenstile.tool_calling",
}
if _find_spec("pydantic") is None:
    # So that `from tokenstile import *` gives what there is.
    for _name in ("structural_tag", *_LAZY):
        __all__.remove(_name)
    del _name

_LAZY_MODULES = {
    "base",
    "builtin_structural_tag",
    "compat",
    "contrib",
    "generation",
    "grammars",
    "kernels",
    "lark",
    "load_binding",
    "openai_tool_call_schema",
    "structural_tag",
    "structured_output",
    "tool_calling",
}


def __getattr__(name: str) -> object:
    if name == "bitmask_dtype":
        return _bitmask.bitmask_dtype
    if name == "hf":
        # It imports transformers, which takes seconds.
        return import_module("tokenstile.contrib.hf")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _LAZY_MODULES:
        return import_module(f"tokenstile.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
