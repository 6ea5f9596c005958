"""Tools that no model can call: no value has their schema, a keyword cannot be enforced, or a name cannot be written.

One of them makes the tag of all tools an error when it is compiled. Where a caller asks for it, each tool is looked at
by itself, and those that cannot be called are left out, or named.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, TypeAlias

from tokenstile.exceptions import (
    CancelledError,
    InvalidArgumentError,
    InvalidStructuralTagError,
    TokenstileError,
)
from tokenstile.grammar import Grammar
from tokenstile.tool_calling.choice import ChosenTools, placed
from tokenstile.tool_calling.schema import FunctionToolParam

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile.structural_tag import StructuralTag
    from tokenstile.tool_calling.choice import SimplifiedToolChoice
    from tokenstile.tool_calling.schema import BuiltinToolParam, ToolParam

    Build: TypeAlias = Callable[[list[FunctionToolParam], list[BuiltinToolParam]], StructuralTag]

__all__ = ["OnImpossibleTool", "possible_tools"]

OnImpossibleTool: TypeAlias = Literal["error", "drop"]
"""What becomes of a tool that cannot be called: an error that names it, or a warning and the others without it."""


def possible_tools(
    build: Build,
    chosen: list[ToolParam],
    known: list[ToolParam],
    choice: SimplifiedToolChoice,
    on_impossible: str,
) -> list[ToolParam]:
    """Return those of the chosen tools that can be called; ``build`` makes the tag of one where text may come too."""
    if on_impossible not in {"error", "drop"}:
        raise InvalidArgumentError(
            f"on_impossible_tool must be 'error', 'drop' or None, not {on_impossible!r}"
        )
    possible = []
    for place, tool in placed("tools", ChosenTools(chosen, known)):
        error = _why_impossible(build, tool, known)
        if error is None:
            possible.append(tool)
            continue
        name = tool.function.name if isinstance(tool, FunctionToolParam) else tool.type
        message = f"{place}, {name!r}, cannot be called: {getattr(error, 'message', error)}"
        if on_impossible == "error" or choice == "forced":
            raise InvalidStructuralTagError(message) from error
        warnings.warn(f"{message}; it is left out", stacklevel=3)
    if choice == "required" and not possible:
        raise InvalidArgumentError("a call is required, and none of the tools can be called")
    return possible


def _why_impossible(build: Build, tool: ToolParam, known: list[ToolParam]) -> TokenstileError | None:
    try:
        if isinstance(tool, FunctionToolParam):
            tag = build(ChosenTools([tool], known), ChosenTools([], known))
        else:
            tag = build(ChosenTools([], known), ChosenTools([tool], known))
        Grammar.from_structural_tag(tag)
    except CancelledError:
        raise
    except TokenstileError as error:
        return error
    return None
