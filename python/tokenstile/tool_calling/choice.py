"""The choice of tools, brought to one of three: auto, required, forced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from pydantic import TypeAdapter, ValidationError

from tokenstile.tool_calling.schema import (
    AllowedToolChoiceParam,
    BuiltinToolChoiceParam,
    BuiltinToolParam,
    FunctionToolParam,
    NamedToolChoiceParam,
    ToolChoiceOptionParam,
    ToolParam,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ChosenTools", "SimplifiedToolChoice", "Tools", "normalize_tool_choice", "placed", "read_tools"]

SimplifiedToolChoice: TypeAlias = Literal["auto", "required", "forced"]
"""What a builder is asked for: text or calls, at least one call, just this call."""

Tools: TypeAlias = tuple[list[FunctionToolParam], list[BuiltinToolParam]]

_Tool = TypeVar("_Tool")

_TOOL: TypeAdapter[ToolParam] = TypeAdapter(ToolParam)
_CHOICE: TypeAdapter[ToolChoiceOptionParam] = TypeAdapter(ToolChoiceOptionParam)


def normalize_tool_choice(
    tools: list[ToolParam | dict[str, Any]] | None = None,
    tool_choice: ToolChoiceOptionParam | dict[str, Any] | None = "auto",
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam], SimplifiedToolChoice]:
    """Return the function tools, the built-in tools, and whether to call them: what a builder takes.

    ``"none"`` is ``"auto"`` without tools; a tool by name is ``"forced"`` with that tool alone; ``allowed_tools``
    leaves the tools that it names. Raises ``ValueError`` where that leaves no tool that must be called.
    """
    known = read_tools(tools)
    functions = [tool for tool in known if isinstance(tool, FunctionToolParam)]
    builtins = [tool for tool in known if isinstance(tool, BuiltinToolParam)]
    choice = "auto" if tool_choice is None else _CHOICE.validate_python(tool_choice)
    (functions, builtins), simplified = _chosen((functions, builtins), choice)
    if simplified == "required" and not functions + builtins:
        raise ValueError("The 'tools' list is empty, which is not allowed when 'tool_choice' is 'required'.")
    return functions, builtins, simplified


class ChosenTools(list[_Tool]):
    """Some of the tools of a request, which know where they stand in it.

    A family is given the function tools in one list and the built-in ones in another; errors speak of all of them.
    """

    def __init__(self, chosen: Iterable[_Tool], request: list[ToolParam]) -> None:
        """Take those that were chosen, which are among those of the request themselves."""
        super().__init__(chosen)
        self.request = request


def placed(name: str, tools: list[_Tool]) -> list[tuple[str, _Tool]]:
    """Return tools with their places: in the request where it is known, or else in a list of this name."""
    places: dict[int, int] = {}
    for at, tool in enumerate(tools.request if isinstance(tools, ChosenTools) else ()):
        places.setdefault(id(tool), at)
    return [
        (f"tools[{places[id(tool)]}]" if id(tool) in places else f"{name}[{at}]", tool)
        for at, tool in enumerate(tools)
    ]


def read_tools(tools: list[ToolParam | dict[str, Any]] | None) -> list[ToolParam]:
    """Return the tools as models; those that are models already are themselves."""
    if not isinstance(tools, list | None):
        raise ValueError("The 'tools' argument must be a list.")  # noqa: TRY004 - what XGrammar raises
    return [_read_tool(place, tool) for place, tool in enumerate(tools or [])]


def _read_tool(place: int, tool: ToolParam | dict[str, Any]) -> ToolParam:
    try:
        return _TOOL.validate_python(tool)
    except ValidationError as error:
        error.add_note(f"This is about tools[{place}].")
        raise


def _chosen(tools: Tools, choice: ToolChoiceOptionParam) -> tuple[Tools, SimplifiedToolChoice]:
    functions, builtins = tools
    if isinstance(choice, AllowedToolChoiceParam):
        return _allowed(tools, choice), choice.allowed_tools.mode
    if isinstance(choice, NamedToolChoiceParam):
        return (_named(functions, choice.function.name), []), "forced"
    if isinstance(choice, BuiltinToolChoiceParam):
        found = [tool for tool in builtins if tool.type == choice.type]
        if len(found) != 1:
            raise ValueError(
                f"Builtin tool choice must match exactly one builtin tool, got {len(found)} matches."
            )
        return ([], found), "forced"
    if choice == "none":
        return ([], []), "auto"
    return tools, choice


def _named(functions: list[FunctionToolParam], name: str) -> list[FunctionToolParam]:
    found = [tool for tool in functions if tool.function.name == name]
    if not found:
        raise ValueError(f"The tool with name '{name}' is not found in the tools list.")
    if len(found) > 1:
        raise ValueError("Forced tool choice must resolve to exactly one tool.")
    return found


def _allowed(tools: Tools, choice: AllowedToolChoiceParam) -> Tools:
    functions, builtins = tools
    known_names = {tool.function.name for tool in functions}
    known_types = {tool.type for tool in builtins}
    names, types = set[str](), set[str]()
    for at, ref in enumerate(choice.allowed_tools.tools):
        place = f"tool_choice.allowed_tools.tools[{at}]"
        if ref.function is None:
            if ref.type not in known_types:
                raise ValueError(f"{place}: the builtin tool {ref.type!r} is not found in the tools list.")
            types.add(ref.type)
        else:
            if ref.function.name not in known_names:
                raise ValueError(
                    f"{place}: the function tool {ref.function.name!r} is not found in the tools list."
                )
            names.add(ref.function.name)
    return (
        [tool for tool in functions if tool.function.name in names],
        [tool for tool in builtins if tool.type in types],
    )
