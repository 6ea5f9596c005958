"""The schema of a tool's arguments."""

from __future__ import annotations

from typing import Any

from tokenstile.exceptions import TokenstileError
from tokenstile.grammar import Grammar
from tokenstile.tool_calling.schema import BuiltinToolParam, FunctionToolParam

__all__ = ["may_be_empty", "parameters_of"]

# What a schema can hold without a say in whether an object may be empty.
_SILENT = frozenset({
    "$comment", "$defs", "$schema", "additionalProperties", "default", "definitions", "description", "examples",
    "maxProperties", "patternProperties", "properties", "propertyNames", "title",
})  # fmt: skip


def parameters_of(tool: FunctionToolParam | BuiltinToolParam) -> bool | dict[str, Any]:
    """Return the schema of the arguments of a tool; anything where none is given or it is not enforced."""
    if isinstance(tool, BuiltinToolParam):
        return True if tool.parameters is None else tool.parameters
    if tool.function.strict is False or tool.function.parameters is None:
        return True
    return tool.function.parameters


def may_be_empty(schema: bool | dict[str, Any]) -> bool:
    """Return whether a schema allows an object without members.

    Nearly all schemas tell at a glance. The others are asked; a wrong one is an error where it is compiled.
    """
    if isinstance(schema, bool):
        return schema
    if schema.keys() - _SILENT <= {"type", "required"} and schema.get("type", "object") == "object":
        return not schema.get("required")
    try:
        return Grammar.from_json_schema(schema).accepts("{}")
    except TokenstileError:
        return False
