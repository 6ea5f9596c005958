"""What models write when they call tools and when they reason, as structural tags.

>>> from tokenstile.tool_calling import get_model_structural_tag
>>> tools = [{"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}]
>>> get_model_structural_tag("hermes", tools).format.triggers
['<tool_call>']

`get_model_structural_tag` takes the name of a family and tools as OpenAI's API has them. A family is a file of
`families`: what its calls look like is data (`template.Template`), and what that means for each choice of tools is in
`build`, once for all. The few families that do not fit have a function of their own. ``docs/structural_tags.md`` lists
the families, and has the recipe for adding one.

Needs the package ``pydantic``, as `tokenstile.structural_tag` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.tool_calling import families
from tokenstile.tool_calling.choice import ChosenTools, normalize_tool_choice, read_tools
from tokenstile.tool_calling.impossible import possible_tools
from tokenstile.tool_calling.registry import find_builder, model_names, register_model_structural_tag

if TYPE_CHECKING:
    from tokenstile.structural_tag import StructuralTag
    from tokenstile.tool_calling.impossible import OnImpossibleTool
    from tokenstile.tool_calling.schema import ToolChoiceOptionParam, ToolParam

__all__ = [
    "families",
    "get_builtin_structural_tag",
    "get_model_structural_tag",
    "model_names",
    "normalize_tool_choice",
    "register_model_structural_tag",
]

_MODES = ("enabled", "disabled", "auto")


def get_model_structural_tag(  # noqa: PLR0917 - XGrammar's signature
    model: str,
    tools: list[ToolParam | dict[str, Any]] | None = None,
    tool_choice: ToolChoiceOptionParam | dict[str, Any] | None = "auto",
    reasoning: bool | Literal["enabled", "disabled", "auto"] = "enabled",
    force_reasoning: bool = False,  # noqa: ARG001 - XGrammar has it, and ignores it too
    any_order: bool = False,
    exclude_special_tokens: bool = True,
    max_whitespace_cnt: int | None = None,
    parallel_tool_calls: bool = True,
    *,
    on_impossible_tool: OnImpossibleTool | None = None,
) -> StructuralTag:
    """Return what a model of a family writes, given its tools.

    ``model`` is the name of a family, such as ``"qwen_3"``; `model_names` lists them.

    ``tools`` are function tools as in OpenAI's chat API, or built-in ones of the family: ``{"type": ..., "name": ...,
    "parameters": ...}``. A function without parameters, or with ``strict=False``, takes any arguments.

    ``tool_choice`` is ``"auto"`` (text, calls, or both), ``"none"`` (text), ``"required"`` (at least one call), a
    function or a built-in tool by name (just that call), or ``allowed_tools`` (some of the tools, with a mode).

    ``reasoning`` is ``"enabled"`` (the model reasons, after what the prompt began with), ``"disabled"`` (it does not),
    or ``"auto"`` (it may, and begins by itself). Families that do not reason ignore it.

    ``any_order`` and ``max_whitespace_cnt`` are those of the arguments' `JSONSchemaFormat`. ``exclude_special_tokens``
    keeps the marks of the family out of free text. With ``parallel_tool_calls=False`` there is at most one call, and
    nothing after it.

    A tool that no model can call, such as one whose schema no value satisfies, makes the tag an error where it is
    compiled. With ``on_impossible_tool="error"`` each tool is looked at here, and the error names it; with ``"drop"``
    it is left out with a warning, unless it is the one that must be called.

    Raises ``ValueError`` for a family that does not exist, and for choices that the tools do not allow.
    """
    builder = find_builder(model)
    mode = _mode(reasoning)
    if not isinstance(parallel_tool_calls, bool):
        raise InvalidArgumentError("The 'parallel_tool_calls' argument must be a bool.")
    known = read_tools(tools)
    function_tools, builtin_tools, choice = normalize_tool_choice([*known], tool_choice)
    options: dict[str, Any] = {
        "any_order": any_order,
        "exclude_special_tokens": exclude_special_tokens,
        "max_whitespace_cnt": max_whitespace_cnt,
        "parallel_tool_calls": parallel_tool_calls,
    }
    if on_impossible_tool is not None:
        possible = possible_tools(
            lambda functions, builtins: builder(functions, builtins, "auto", mode, **options),
            [*function_tools, *builtin_tools],
            known,
            choice,
            on_impossible_tool,
        )
        function_tools = [tool for tool in function_tools if tool in possible]
        builtin_tools = [tool for tool in builtin_tools if tool in possible]
    return builder(
        ChosenTools(function_tools, known), ChosenTools(builtin_tools, known), choice, mode, **options
    )


def _mode(reasoning: bool | str) -> str:
    """Return the mode of reasoning that an argument stands for."""
    if isinstance(reasoning, bool):
        return "enabled" if reasoning else "disabled"
    if isinstance(reasoning, str) and reasoning in _MODES:
        return reasoning
    raise InvalidArgumentError(
        "The 'reasoning' argument must be a bool or one of: 'enabled', 'disabled', 'auto'."
    )


get_builtin_structural_tag = get_model_structural_tag
