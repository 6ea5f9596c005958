"""Functions as tools, and the calls of them that a model writes."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tokenstile._core import Grammar
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.generation.outputs import NOTHING, Answer, Output, OutputError, partial_json
from tokenstile.structured_output.params import StructuredOutputsParams

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenstile.tool_calling.reading import ToolReader

__all__ = ["ToolCall", "Tools", "ToolsOutput"]

_ANY_ARGUMENTS: Final = {"type": "object", "additionalProperties": True}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model wants to be made."""

    name: str
    arguments: dict[str, Any]
    function: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    """The function itself, where the tool is one."""

    def run(self) -> Any:  # noqa: ANN401 - what the function gives
        """Call the function, with arguments of the types that it declares."""
        if self.function is None:
            raise InvalidArgumentError(
                f"the tool {self.name!r} was given as a schema: there is no function to run"
            )
        import pydantic  # noqa: PLC0415 - only when used

        return pydantic.validate_call(self.function)(**self.arguments)


@dataclass(frozen=True)
class Tools:
    """Tools of which a model is to call at least one.

    A tool is a function with annotations, or an object as OpenAI's API has it. ``parallel`` allows more calls than one.
    ``family`` is how a model in this process writes calls, the name of a family of `tokenstile.tool_calling`; a server
    knows its own way.
    """

    tools: Sequence[Callable[..., Any] | dict[str, Any]]
    parallel: bool = False
    family: str = "qwen_3"

    def __post_init__(self) -> None:
        if not self.tools:
            raise InvalidArgumentError("there must be at least one tool")
        names = [one["function"]["name"] for one in self.definitions]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidArgumentError(
                f"the tools have names of their own; {', '.join(twice)} is there twice"
            )

    @cached_property
    def definitions(self) -> list[dict[str, Any]]:
        """The tools as OpenAI's API has them."""
        return [_definition(tool, at) for at, tool in enumerate(self.tools)]

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions among the tools, by their names."""
        return {
            defined["function"]["name"]: tool
            for tool, defined in zip(self.tools, self.definitions, strict=True)
            if not isinstance(tool, dict)
        }


def _definition(tool: Any, at: int) -> dict[str, Any]:  # noqa: ANN401 - what a caller gave
    if isinstance(tool, dict):
        function = tool.get("function", tool)
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise InvalidArgumentError(f"tools[{at}] has no name: it must look like OpenAI's functions")
        return {"type": "function", "function": function}
    if not callable(tool):
        raise InvalidArgumentError(f"tools[{at}] must be a function or a dict, not {type(tool).__name__}")
    try:
        import pydantic  # noqa: PLC0415 - only when used
    except ImportError as error:
        raise ImportError("functions as tools need Pydantic: pip install 'tokenstile[pydantic]'") from error
    try:
        schema = pydantic.TypeAdapter(tool).json_schema()
    except pydantic.errors.PydanticUserError as error:
        raise InvalidArgumentError(f"tools[{at}] has no schema: {str(error).splitlines()[0]}") from error
    name = getattr(tool, "__name__", type(tool).__name__)
    if schema.get("type") != "object":
        raise InvalidArgumentError(f"tools[{at}], {name}, must take its arguments by their names")
    described = inspect.getdoc(tool)
    function = {"name": name, **({"description": described} if described else {}), "parameters": schema}
    return {"type": "function", "function": function}


class ToolsOutput(Output):
    """Calls of tools."""

    def __init__(self, tools: Tools) -> None:
        from tokenstile.tool_calling import get_model_structural_tag  # noqa: PLC0415 - it needs Pydantic
        from tokenstile.tool_calling.ending import end_with_calls  # noqa: PLC0415 - it does too

        self._tools = tools
        tag = get_model_structural_tag(
            tools.family,
            [*tools.definitions],
            "required",
            reasoning=False,
            parallel_tool_calls=tools.parallel,
        )
        self.structure = StructuredOutputsParams(structural_tag=end_with_calls(tag).model_dump_json())
        self._reader()  # a family whose calls cannot be read is refused now

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that a model is told about, as OpenAI's API has them."""
        return self._tools.definitions

    @property
    def is_parallel(self) -> bool:
        """Whether there may be more calls than one."""
        return self._tools.parallel

    @cached_property
    def _grammars(self) -> dict[str, Grammar]:
        return {
            one["function"]["name"]: Grammar.from_json_schema(
                one["function"].get("parameters") or _ANY_ARGUMENTS, spelling="any", any_order=True
            )
            for one in self._tools.definitions
        }

    def fits(self, answer: Answer) -> bool:
        """Tell whether an answer is a text of the grammar."""
        known = self._grammars
        return (
            bool(answer.calls)
            and (self._tools.parallel or len(answer.calls) == 1)
            and all(name in known and known[name].accepts(arguments) for name, arguments in answer.calls)
        )

    def read(self, answer: Answer) -> list[ToolCall]:
        """Give the calls of a whole answer; one that is equal to another is given once."""
        try:
            calls = [self._call(name, json.loads(arguments)) for name, arguments in self._calls(answer)]
        except ValueError as error:
            raise OutputError(f"the arguments of a call are no JSON: {error}", answer.text) from error
        return [call for at, call in enumerate(calls) if call not in calls[:at]]

    def read_part(self, answer: Answer) -> object:
        """Make what can be made of the beginning of an answer; `NOTHING` if that is nothing."""
        found = [(name, partial_json(arguments)) for name, arguments in self._calls(answer)]
        calls = [self._call(name, value) for name, value in found if isinstance(value, dict)]
        return calls or NOTHING

    def _call(self, name: str, arguments: dict[str, Any]) -> ToolCall:
        return ToolCall(name, arguments, self._tools.functions.get(name))

    def _calls(self, answer: Answer) -> list[tuple[str, str]]:
        if answer.calls:
            return list(answer.calls)
        from tokenstile.tool_calling.reading import CallBegin, CallPiece  # noqa: PLC0415 - it needs Pydantic

        calls: list[tuple[str, str]] = []
        for piece in self._reader().push(answer.text):
            if isinstance(piece, CallBegin):
                calls.append((piece.name, ""))
            elif isinstance(piece, CallPiece):
                name, arguments = calls[-1]
                calls[-1] = name, arguments + piece.arguments
        return calls

    def _reader(self) -> ToolReader:
        from tokenstile.tool_calling.reading import ToolReader, call_marks  # noqa: PLC0415 - it needs Pydantic

        names = [one["function"]["name"] for one in self._tools.definitions]
        return ToolReader([call_marks(self._tools.family, name) for name in names])
