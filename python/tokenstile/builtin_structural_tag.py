"""The families under the module name that XGrammar gives them; see `tokenstile.tool_calling`.

What they take and make can be imported from here too, because XGrammar's module has it, and what programs import from
there in spite of its underscore: ``_structural_tag_registry``, the families by name, above all.
"""

from __future__ import annotations

from typing import Any

from tokenstile.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    JSONSchemaFormat,
    OptionalFormat,
    OrFormat,
    RegexFormat,
    SequenceFormat,
    StructuralTag,
    TagFormat,
    TagsWithSeparatorFormat,
    TriggeredTagsFormat,
)
from tokenstile.tool_calling import (
    get_builtin_structural_tag,
    get_model_structural_tag,
    normalize_tool_choice,
    register_model_structural_tag,
)
from tokenstile.tool_calling import registry as _registry
from tokenstile.tool_calling.arguments import parameters_of
from tokenstile.tool_calling.choice import SimplifiedToolChoice
from tokenstile.tool_calling.families.cohere import get_cohere_structural_tag
from tokenstile.tool_calling.families.deepseek_r1 import get_deepseek_r1_structural_tag
from tokenstile.tool_calling.families.deepseek_v3_1 import get_deepseek_v3_1_structural_tag
from tokenstile.tool_calling.families.deepseek_v3_2 import get_deepseek_v3_2_structural_tag
from tokenstile.tool_calling.families.deepseek_v4 import get_deepseek_v4_structural_tag
from tokenstile.tool_calling.families.deepseek_v4_1 import get_deepseek_v4_1_structural_tag
from tokenstile.tool_calling.families.exaone import get_exaone_structural_tag
from tokenstile.tool_calling.families.glm_4_7 import get_glm_4_7_structural_tag
from tokenstile.tool_calling.families.harmony import get_harmony_structural_tag
from tokenstile.tool_calling.families.kimi import get_kimi_structural_tag
from tokenstile.tool_calling.families.kimi_k3 import get_kimi_k3_structural_tag
from tokenstile.tool_calling.families.llama import get_llama_structural_tag
from tokenstile.tool_calling.families.mimo import get_mimo_structural_tag
from tokenstile.tool_calling.families.minimax import get_minimax_structural_tag
from tokenstile.tool_calling.families.minimax_m3 import get_minimax_m3_structural_tag
from tokenstile.tool_calling.families.qwen_3 import get_qwen_3_structural_tag
from tokenstile.tool_calling.families.qwen_3_5 import get_qwen_3_5_structural_tag
from tokenstile.tool_calling.families.qwen_3_coder import get_qwen_3_coder_structural_tag
from tokenstile.tool_calling.registry import Builder as BuiltinStructuralTagFn
from tokenstile.tool_calling.schema import (
    AllowedToolChoiceParam,
    BuiltinToolChoiceParam,
    BuiltinToolParam,
    FunctionDefinition,
    FunctionToolParam,
    NamedToolChoiceParam,
    ToolChoiceOptionParam,
    ToolParam,
)

_structural_tag_registry = _registry.BUILDERS

__all__ = [
    "AllowedToolChoiceParam",
    "AnyTextFormat",
    "BuiltinStructuralTagFn",
    "BuiltinToolChoiceParam",
    "BuiltinToolParam",
    "ConstStringFormat",
    "Format",
    "FunctionDefinition",
    "FunctionToolParam",
    "JSONSchemaFormat",
    "NamedToolChoiceParam",
    "OptionalFormat",
    "OrFormat",
    "RegexFormat",
    "SequenceFormat",
    "SimplifiedToolChoice",
    "StructuralTag",
    "TagFormat",
    "TagsWithSeparatorFormat",
    "ToolChoiceOptionParam",
    "ToolParam",
    "TriggeredTagsFormat",
    "_get_builtin_tool_name",
    "_get_function_parameters",
    "_structural_tag_registry",
    "get_builtin_structural_tag",
    "get_cohere_structural_tag",
    "get_deepseek_r1_structural_tag",
    "get_deepseek_v3_1_structural_tag",
    "get_deepseek_v3_2_structural_tag",
    "get_deepseek_v4_1_structural_tag",
    "get_deepseek_v4_structural_tag",
    "get_exaone_structural_tag",
    "get_glm_4_7_structural_tag",
    "get_harmony_structural_tag",
    "get_kimi_k3_structural_tag",
    "get_kimi_structural_tag",
    "get_llama_structural_tag",
    "get_mimo_structural_tag",
    "get_minimax_m3_structural_tag",
    "get_minimax_structural_tag",
    "get_model_structural_tag",
    "get_qwen_3_5_structural_tag",
    "get_qwen_3_coder_structural_tag",
    "get_qwen_3_structural_tag",
    "normalize_tool_choice",
    "register_model_structural_tag",
]


def _get_function_parameters(function: FunctionDefinition | BuiltinToolParam) -> dict[str, Any] | bool:
    """Return the schema of the arguments; anything where none is given or it is not enforced."""
    if isinstance(function, FunctionDefinition):
        return parameters_of(FunctionToolParam(function=function))
    return parameters_of(function)


def _get_builtin_tool_name(tool: BuiltinToolParam) -> str:
    """Return what the model calls a built-in tool."""
    return tool.name or tool.type
