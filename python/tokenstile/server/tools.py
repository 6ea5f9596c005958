"""Tool calls: what the model is held to, and how its text is read back as calls.

What is read is what is enforced, see `tokenstile.tool_calling.reading`: families that write arguments in another way
than JSON cannot be served, and are refused when the server starts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokenstile.tool_calling import get_model_structural_tag
from tokenstile.tool_calling.ending import end_with_calls
from tokenstile.tool_calling.reading import ToolReader, call_marks, definition

if TYPE_CHECKING:
    from tokenstile.server.api.chat import Tool

__all__ = ["ToolFormat", "describe"]


class ToolFormat:
    """The way of a family of models to call tools."""

    def __init__(self, family: str, max_whitespace: int | None = None) -> None:
        self.family = family
        self.max_whitespace = max_whitespace
        call_marks(family, "probe")

    def structural_tag(self, tools: list[Tool], choice: Any, *, parallel: bool) -> dict[str, Any]:  # noqa: ANN401 - as in the API
        """Give the structural tag of outputs that may or must call tools; those that must end with their calls.

        Raises ``ValueError`` for a bad choice.
        """
        tag = get_model_structural_tag(
            self.family,
            [definition(tool.function.name, _parameters(tool)) for tool in tools],
            "auto" if choice is None else choice,
            reasoning=False,
            parallel_tool_calls=parallel,
            max_whitespace_cnt=self.max_whitespace,
        )
        return end_with_calls(tag).model_dump(mode="json")

    def reader(self, tools: list[Tool]) -> ToolReader:
        """Give a reader for an output."""
        return ToolReader([call_marks(self.family, tool.function.name) for tool in tools])

    def write_call(self, name: str, arguments: str) -> str:
        """Give the text of a call."""
        marks = call_marks(self.family, name)
        return marks.begin + arguments + marks.end


def _parameters(tool: Tool) -> dict[str, Any] | None:
    """Give the schema of the arguments; none where it is not to be enforced."""
    return None if tool.function.strict is False else tool.function.parameters


def describe(tools: list[Tool], format_: ToolFormat) -> str:
    """Say which tools there are, for models whose template does not."""
    lines = [json.dumps(tool.model_dump(exclude_none=True), ensure_ascii=False) for tool in tools]
    example = format_.write_call("NAME", '{"ARGUMENT": "VALUE"}')
    return "\n".join(["You can call these tools:", *lines, "A call of a tool is written like this:", example])
