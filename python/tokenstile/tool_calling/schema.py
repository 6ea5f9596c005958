"""Tools and choices of tools, as OpenAI's chat API has them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

try:
    from pydantic import BaseModel, field_validator
except ImportError as error:  # pragma: no cover - an installation without Pydantic
    raise ImportError("tokenstile.tool_calling needs pydantic: pip install 'tokenstile[pydantic]'") from error

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


class FunctionDefinition(BaseModel):
    """A function: its name, and the schema of its arguments."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    """The schema of the arguments; any arguments where there is none."""
    strict: bool | None = None
    """Whether the schema is enforced; ``False`` is any arguments."""


class FunctionToolParam(BaseModel):
    """A tool that is a function."""

    type: Literal["function"] = "function"
    function: FunctionDefinition


class BuiltinToolParam(BaseModel):
    """A tool that the family brings along."""

    type: str
    """What the API calls it."""
    name: str | None = None
    """What the model calls it; the type where it is left out."""
    parameters: dict[str, Any] | None = None
    """The schema of the arguments; any arguments where there is none."""

    @field_validator("type")
    @classmethod
    def _is_builtin(cls, value: str) -> str:
        # Otherwise a function with a mistake in it would pass as a tool without a schema.
        if value == "function":
            raise ValueError("a tool of type 'function' is a FunctionToolParam")
        return value


ToolParam: TypeAlias = FunctionToolParam | BuiltinToolParam
"""A tool."""


class NamedToolChoiceFunction(BaseModel):
    """The name of a function."""

    name: str


class NamedToolChoiceParam(BaseModel):
    """Just this function."""

    type: Literal["function"] = "function"
    function: NamedToolChoiceFunction


class BuiltinToolChoiceParam(BaseModel):
    """Just this built-in tool."""

    type: str
    name: str | None = None


class AllowedToolRef(BaseModel):
    """A tool that is allowed: a function by its name, a built-in tool by its type."""

    type: str
    function: NamedToolChoiceFunction | None = None
    name: str | None = None


class AllowedToolsParam(BaseModel):
    """Some of the tools, and whether one of them must be called."""

    mode: Literal["auto", "required"]
    tools: list[AllowedToolRef]


class AllowedToolChoiceParam(BaseModel):
    """Only some of the tools."""

    type: Literal["allowed_tools"] = "allowed_tools"
    allowed_tools: AllowedToolsParam


ToolChoiceOptionParam: TypeAlias = (
    Literal["none", "auto", "required"]
    | NamedToolChoiceParam
    | AllowedToolChoiceParam
    | BuiltinToolChoiceParam
)
"""Which tools may or must be called."""
