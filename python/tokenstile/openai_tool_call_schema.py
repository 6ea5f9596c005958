"""Tools and choices of tools under the module name that XGrammar gives them; see `tokenstile.tool_calling.schema`."""

from tokenstile.tool_calling.schema import (
    AllowedToolChoiceParam,
    AllowedToolRef,
    AllowedToolsParam,
    BuiltinToolChoiceParam,
    BuiltinToolParam,
    FunctionDefinition,
    FunctionToolParam,
    NamedToolChoiceFunction,
    NamedToolChoiceParam,
    ToolChoiceOptionParam,
    ToolParam,
)

__all__ = [
    "AllowedToolChoiceParam",
    "AllowedToolRef",
    "AllowedToolsParam",
    "BuiltinToolChoiceParam",
    "BuiltinToolParam",
    "FunctionDefinition",
    "FunctionToolParam",
    "NamedToolChoiceFunction",
    "NamedToolChoiceParam",
    "ToolChoiceOptionParam",
    "ToolParam",
]
