"""Harmony, the format of gpt-oss: messages of the assistant, each on a channel, some of them to a tool.

A call to a function is on the channel ``commentary``; the recipient stands after the channel or before it, and the
mark before ``json`` may be left out. A call to a built-in tool is ``code`` to its own name. What is thought is on the
channel ``analysis``, and the answer on ``final``. The prompt ends with ``<|start|>assistant``, which also stands
between two messages.

Follows OpenAI's cookbook on the format and the chat template of openai/gpt-oss-120b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OptionalFormat,
    OrFormat,
    StarFormat,
    TagFormat,
    TagsWithSeparatorFormat,
)
from tokenstile.tool_calling.choice import placed
from tokenstile.tool_calling.family import family, sequence
from tokenstile.tool_calling.names import check_names, name_of, refuse_name, unwritable

if TYPE_CHECKING:
    from tokenstile.tool_calling.family import Request
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


@family("harmony")
def get_harmony_structural_tag(request: Request) -> Format:
    """Return the structural tag of the family ``harmony``."""
    _check_names(request)
    calls = _calls(request)
    if request.choice != "auto" and not calls:
        raise ValueError("a call is required, and the family 'harmony' was given no tools")
    if request.choice == "forced" and len(request.tools) + len(request.builtin_tools) != 1:
        raise ValueError("Forced tool choice must resolve to exactly one tool.")
    thought = [] if request.reasoning == "disabled" else [_message("analysis")]
    once = request.choice == "forced" or not request.options.parallel_tool_calls
    if request.choice == "auto":
        return _calls_among(calls, [_message("final"), *thought], once=once)
    return _calls_after(calls, thought, once=once)


def _check_names(request: Request) -> None:
    for begin in _FUNCTION:
        check_names("harmony", request.tools, begin)
    tools: list[tuple[str, FunctionToolParam | BuiltinToolParam]] = [
        *placed("tools", request.tools),
        *placed("builtin_tools", request.builtin_tools),
    ]
    for place, tool in tools:
        reason = _unwritable(name_of(tool)[1])
        if reason is not None:
            refuse_name("harmony", place, tool, reason)


def _unwritable(name: str) -> str | None:
    if "<|" in name or any(map(str.isspace, name)):
        return "a recipient ends at white space and at marks"
    return unwritable(name)


def _message(channel: str) -> TagFormat:
    return TagFormat(begin=f"<|channel|>{channel}<|message|>", content=AnyTextFormat(), end=_ENDS)


def _calls(request: Request) -> list[TagFormat]:
    tools: list[tuple[str, str, FunctionToolParam | BuiltinToolParam]] = [
        (begin, tool.function.name, tool) for tool in request.tools for begin in _FUNCTION
    ]
    tools += [(begin, name_of(tool)[1], tool) for tool in request.builtin_tools for begin in _BUILTIN]
    return [
        TagFormat(begin=begin.replace("$name", name), content=request.options.arguments(tool), end="<|call|>")
        for begin, name, tool in tools
    ]


def _list(tags: list[TagFormat], *, once: bool = False) -> TagsWithSeparatorFormat:
    return TagsWithSeparatorFormat(tags=tags, separator=_NEXT, at_least_one=True, stop_after_first=once)


# In what follows every call is written down once: the text of a tag is as long as its calls are many.


def _calls_among(calls: list[TagFormat], messages: list[TagFormat], *, once: bool) -> Format:
    """Return messages and calls in any order, or nothing; if there is one call at most, it comes last."""
    if not (once and calls):
        return OptionalFormat(content=_list([*calls, *messages]))
    last = sequence(_before(messages), _list(calls, once=True))
    return OptionalFormat(content=OrFormat(elements=[_list(messages), last]))


def _calls_after(calls: list[TagFormat], thought: list[TagFormat], *, once: bool) -> Format:
    """Return thoughts, a call, and where there may be more than one, thoughts and calls."""
    if not thought:
        return _list(calls, once=once)
    call = sequence(_before(thought), _list(calls, once=True))
    if once:
        return call
    return sequence(_list([TagFormat(begin="", content=call, end="")]), _after(thought))


def _before(messages: list[TagFormat]) -> Format:
    """Return any number of messages that something follows."""
    return StarFormat(content=sequence(_list(messages, once=True), ConstStringFormat(value=_NEXT)))


def _after(messages: list[TagFormat]) -> Format:
    """Return any number of messages that follow something."""
    return StarFormat(content=sequence(ConstStringFormat(value=_NEXT), _list(messages, once=True)))
