"""The structural tag that a template means, for a choice of tools: once for all families that are data."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tokenstile.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OptionalFormat,
    OrFormat,
    RegexFormat,
    TagFormat,
    TagsWithSeparatorFormat,
    TriggeredTagsFormat,
)
from tokenstile.tool_calling.arguments import may_be_empty
from tokenstile.tool_calling.family import check_choice, family, literal, sequence
from tokenstile.tool_calling.names import check_names

if TYPE_CHECKING:
    from tokenstile.tool_calling.family import ModelBuilder, Options, ReasoningMode, Request
    from tokenstile.tool_calling.schema import FunctionToolParam
    from tokenstile.tool_calling.template import Block, Call, Template

__all__ = ["builder"]


def builder(name: str, template: Template) -> ModelBuilder:
    """Register a template, and return the function of its family."""

    @family(name, default_reasoning=template.reasoning)
    def build(request: Request) -> Format:
        check_choice(name, request)
        for call in filter(None, (template.call, template.other_call)):
            check_names(name, request.tools, call.begin, call.escape, call.name_ends)
        return sequence(_thought(template, request.options, request.reasoning), _rest(template, request))

    return build


def _excludes(template: Template, *, triggers: bool) -> tuple[str, ...]:
    """Return what text may not hold, the triggers among it or not."""
    marks = (template.trigger, *template.other_triggers) if triggers else ()
    return (*marks, *template.excludes)


def _thought(template: Template, options: Options, mode: ReasoningMode) -> Format | None:
    thinking = template.thinking
    if thinking is None:
        return None
    if mode == "disabled":
        return literal(thinking.skipped)
    prompted = mode == "enabled" and thinking.prompted
    marks = _excludes(template, triggers=template.thoughts_hold_no_trigger)
    excludes = () if prompted and thinking.bare else marks
    tag: Format = TagFormat(
        begin="" if prompted else thinking.begin,
        content=AnyTextFormat(excludes=options.texts(*excludes)),
        end=thinking.end,
    )
    if mode == "enabled":
        return sequence(tag, literal(thinking.suffix))
    if thinking.may_end_at_once:
        tag = OrFormat(elements=[tag, ConstStringFormat(value=thinking.end)])
    return OptionalFormat(content=sequence(tag, literal(thinking.suffix)))


_PLACEHOLDERS = {"$index": r"[0-9]+", "$id": r"[a-zA-Z0-9]{9}"}


def _calls(template: Template, options: Options, tool: FunctionToolParam) -> list[TagFormat]:
    """Return the ways to call a tool."""
    return [_call(call, options, tool) for call in (template.call, template.other_call) if call is not None]


def _call(call: Call, options: Options, tool: FunctionToolParam) -> TagFormat:
    name = call.escape(tool.function.name)
    # Split first: a name may look like a placeholder.
    begin, *more = re.split(r"(\$index|\$id)", call.begin)
    parts: list[Format | None] = []
    for piece in more:
        pattern = _PLACEHOLDERS.get(piece)
        parts.append(RegexFormat(pattern=pattern) if pattern else literal(piece.replace("$name", name)))
    content = sequence(*parts, _arguments(call, options, tool))
    return TagFormat(begin=begin.replace("$name", name), content=content, end=call.end.replace("$name", name))


def _arguments(call: Call, options: Options, tool: FunctionToolParam) -> Format:
    """Return the arguments, and what comes after them if there are any."""
    arguments = options.arguments(tool, call.style, call.excludes)
    if not call.after_arguments:
        return arguments
    some = sequence(arguments, literal(call.after_arguments))
    return OptionalFormat(content=some) if may_be_empty(arguments.json_schema) else some


def _blocks(block: Block, calls: list[TagFormat], options: Options) -> list[TagFormat]:
    content = TagsWithSeparatorFormat(
        tags=calls,
        separator=block.separator,
        at_least_one=True,
        stop_after_first=not options.parallel_tool_calls,
    )
    begins = (block.begin, *block.other_begins)
    return [TagFormat(begin=begin, content=content, end=block.end) for begin in begins]


def _any_of(tags: list[TagFormat]) -> Format:
    return tags[0] if len(tags) == 1 else OrFormat(elements=list(tags))


def _rest(template: Template, request: Request) -> Format:
    """Return what comes after thinking."""
    options, choice = request.options, request.choice
    if not request.tools:
        marks = _excludes(template, triggers=template.text_holds_no_trigger)
        return AnyTextFormat(excludes=options.texts(*marks))
    if choice == "forced":
        options = replace(options, parallel_tool_calls=False)
    calls = [call for tool in request.tools for call in _calls(template, options, tool)]
    block = template.block
    if choice == "forced" and block is None:
        return _any_of(calls)
    if choice != "auto" and block is not None:
        return sequence(literal(block.lead), _any_of(_blocks(block, calls, options)))
    return TriggeredTagsFormat(
        triggers=[template.trigger, *template.other_triggers],
        tags=calls if block is None else _blocks(block, calls, options),
        at_least_one=choice == "required",
        stop_after_first=not options.parallel_tool_calls,
        excludes=options.texts(*template.excludes, *template.excludes_beside_calls),
    )
