"""Harmony, the format of gpt-oss: messages of the assistant, each on a channel, some of them to a tool.

A call to a function is on the channel ``commentary``; the recipient stands after the channel or before it, and the
mark before ``json`` may be left out. A call to a built-in tool is ``code`` to its own name. What is thought is on the
channel ``analysis``, and the answer on ``final``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OptionalFormat,
    OrFormat,
    StructuralTag,
    TagFormat,
    TagsWithSeparatorFormat,
)
from tokenstile.tool_calling.registry import register_model_structural_tag
from tokenstile.tool_calling.template import Options, ReasoningMode, check_names, sequence

if TYPE_CHECKING:
    from tokenstile.tool_calling.choice import SimplifiedToolChoice
    from tokenstile.tool_calling.schema import BuiltinToolParam, FunctionToolParam

__all__ = ["get_harmony_structural_tag"]

_NEXT = "<|start|>assistant"
_ENDS = ["<|end|>", "<|return|>"]
_FUNCTION = (
    "<|channel|>commentary to=functions.$name<|constrain|>json<|message|>",
    " to=functions.$name<|channel|>commentary <|constrain|>json<|message|>",
    " to=functions.$name<|channel|>commentary json<|message|>",
)
_BUILTIN = (
    "<|channel|>commentary to=$name code<|message|>",
    " to=$name<|channel|>commentary code<|message|>",
)


def _message(channel: str) -> TagFormat:
    return TagFormat(begin=f"<|channel|>{channel}<|message|>", content=AnyTextFormat(), end=_ENDS)


def _calls(
    functions: list[FunctionToolParam], builtins: list[BuiltinToolParam], options: Options
) -> list[TagFormat]:
    tools: list[tuple[str, str, FunctionToolParam | BuiltinToolParam]] = [
        (begin, tool.function.name, tool) for tool in functions for begin in _FUNCTION
    ]
    tools += [(begin, tool.name or tool.type, tool) for tool in builtins for begin in _BUILTIN]
    return [
        TagFormat(begin=begin.replace("$name", name), content=options.arguments(tool), end="<|call|>")
        for begin, name, tool in tools
    ]


def _list(tags: list[TagFormat], *, once: bool = False) -> TagsWithSeparatorFormat:
    return TagsWithSeparatorFormat(tags=tags, separator=_NEXT, at_least_one=True, stop_after_first=once)


def _messages(
    calls: list[TagFormat], answer: TagFormat, thought: list[TagFormat], choice: str, options: Options
) -> Format:
    """Return the messages: thoughts and answers in any order, with calls among them or at the end."""
    one = choice == "forced" or not options.parallel_tool_calls
    if choice == "auto" and not (one and calls):
        return OptionalFormat(content=_list([*calls, answer, *thought]))
    before = [answer, *thought] if choice == "auto" else thought
    some_call: Format = _list(calls, once=True) if one else _list([*calls, *thought])
    if not one and thought:
        # At least one call: thoughts, a call, and then whatever comes.
        then = sequence(ConstStringFormat(value=_NEXT), some_call)
        some_call = sequence(_list(calls, once=True), OptionalFormat(content=then))
    led = sequence(_list(before), ConstStringFormat(value=_NEXT), some_call) if before else some_call
    if choice != "auto":
        return OrFormat(elements=[some_call, led]) if before else some_call
    return OptionalFormat(content=OrFormat(elements=[_list(before), some_call, led]))


@register_model_structural_tag("harmony")
def get_harmony_structural_tag(  # noqa: PLR0917 - XGrammar's signature
    tools: list[FunctionToolParam] | None = None,
    builtin_tools: list[BuiltinToolParam] | None = None,
    tool_choice: SimplifiedToolChoice = "auto",
    reasoning: ReasoningMode = "enabled",
    any_order: bool = False,
    exclude_special_tokens: bool = True,
    max_whitespace_cnt: int | None = None,
    parallel_tool_calls: bool = True,
    **kwargs: Any,  # noqa: ANN401, ARG001 - what a family does not know, it ignores
) -> StructuralTag:
    """Return the structural tag of the family ``harmony``.

    The prompt ends with ``<|start|>assistant``, which also stands between two messages.
    """
    options = Options(
        any_order=any_order,
        exclude_special_tokens=exclude_special_tokens,
        max_whitespace_cnt=max_whitespace_cnt,
        parallel_tool_calls=parallel_tool_calls,
    )
    for begin in _FUNCTION:
        check_names("harmony", tools or [], begin)
    for at, tool in enumerate(tools or []):
        if any(map(str.isspace, tool.function.name)):
            raise InvalidArgumentError(
                f"tools[{at}].function.name: the family 'harmony' cannot write the name {tool.function.name!r}, "
                "since white space ends a recipient"
            )
    calls = _calls(tools or [], builtin_tools or [], options)
    if tool_choice != "auto" and not calls:
        raise ValueError("a call is required, and the family 'harmony' was given no tools")
    if tool_choice == "forced" and len(tools or []) + len(builtin_tools or []) != 1:
        raise ValueError("Forced tool choice must resolve to exactly one tool.")
    thought = [] if reasoning == "disabled" else [_message("analysis")]
    return StructuralTag(format=_messages(calls, _message("final"), thought, tool_choice, options))
