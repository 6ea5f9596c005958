"""What a family writes, as data, and the structural tag that it means.

The output of a model is what it thinks, if it does, and then text and calls. `Template` says what a call looks like,
whether calls stand in a block, and what thinking looks like; `build` puts that together for a choice of tools.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    JSONSchemaFormat,
    JSONSchemaStyle,
    OptionalFormat,
    OrFormat,
    RegexFormat,
    SequenceFormat,
    StructuralTag,
    TagFormat,
    TagsWithSeparatorFormat,
    TriggeredTagsFormat,
)
from tokenstile.tool_calling.registry import register_model_structural_tag
from tokenstile.tool_calling.schema import BuiltinToolParam, FunctionToolParam

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile.tool_calling.choice import SimplifiedToolChoice

__all__ = ["Block", "Call", "ModelBuilder", "Options", "ReasoningMode", "Template", "Thinking", "builder"]

ReasoningMode: TypeAlias = Literal["enabled", "disabled", "auto"]


def as_it_is(name: str) -> str:
    """Return a name as it is."""
    return name


def in_json(name: str) -> str:
    """Return a name as it stands in a JSON string."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def in_attribute(name: str) -> str:
    """Return a name as it stands in an attribute, quoted."""
    return name.replace("&", "&amp;").replace('"', "&quot;")


def in_xml(name: str) -> str:
    """Return a name as it stands in XML."""
    return in_attribute(name).replace("<", "&lt;").replace(">", "&gt;")


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call: ``begin``, the arguments in a ``style``, ``end``."""

    begin: str
    """``$name`` stands for the name of the tool, ``$index`` for a number, ``$id`` for nine letters and digits."""
    end: str
    """``$name`` stands for the name of the tool here too."""
    style: JSONSchemaStyle = "json"
    escape: Callable[[str], str] = as_it_is
    """How a name is written."""
    excludes: tuple[str, ...] = ()
    """What the strings of the arguments may not hold."""
    name_ends: tuple[str, ...] = ()
    """What ends a name that has nothing after it in ``begin``."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """What calls stand in."""

    begin: str
    end: str
    other_begins: tuple[str, ...] = ()
    """What a block may begin with instead."""
    separator: str = ""
    """What stands between two calls."""
    lead: str = ""
    """What comes before a block that must come."""


@dataclass(frozen=True, kw_only=True)
class Thinking:
    """How a model thinks: ``begin``, text, ``end``, ``suffix``."""

    begin: str = "<think>"
    end: str = "</think>"
    suffix: str = ""
    prompted: bool = True
    """Whether the prompt holds the begin already where thinking is enabled."""
    bare: bool = False
    """Whether text after a begin of the prompt may hold the begin again."""
    skipped: str = ""
    """What is written in place of thinking where it is disabled."""
    may_end_at_once: bool = False
    """Whether, where the model decides, the end may come without a begin."""


@dataclass(frozen=True, kw_only=True)
class Template:
    """What a family writes."""

    call: Call
    trigger: str
    """What switches from text to calls."""
    other_triggers: tuple[str, ...] = ()
    """What does so too."""
    other_call: Call | None = None
    """Another way to write a call."""
    block: Block | None = None
    thinking: Thinking | None = None
    excludes: tuple[str, ...] = field(default=("<think>", "</think>"))
    """What text may not hold."""
    calls_are_marked: bool = False
    """Whether text may not hold the trigger where nothing can be called, and not while thinking."""
    reasoning: ReasoningMode = "enabled"
    """What the builder of the family takes for reasoning by itself."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a builder."""

    any_order: bool = False
    exclude_special_tokens: bool = True
    max_whitespace_cnt: int | None = None
    parallel_tool_calls: bool = True

    def texts(self, *excludes: str) -> list[str]:
        """Return what text may not hold."""
        return list(dict.fromkeys(excludes)) if self.exclude_special_tokens else []

    def arguments(
        self,
        tool: FunctionToolParam | BuiltinToolParam,
        style: JSONSchemaStyle = "json",
        excludes: tuple[str, ...] = (),
    ) -> JSONSchemaFormat:
        """Return the format of the arguments of a tool."""
        return JSONSchemaFormat(
            json_schema=parameters_of(tool),
            style=style,
            any_order=self.any_order,
            max_whitespace_cnt=self.max_whitespace_cnt,
            excludes=self.texts(*excludes),
        )


class ModelBuilder(Protocol):
    """The function of a family."""

    def __call__(  # noqa: PLR0917 - XGrammar's signature
        self,
        tools: list[FunctionToolParam] | None = None,
        builtin_tools: list[BuiltinToolParam] | None = None,
        tool_choice: SimplifiedToolChoice = "auto",
        reasoning: ReasoningMode = "enabled",
        any_order: bool = False,
        exclude_special_tokens: bool = True,
        max_whitespace_cnt: int | None = None,
        parallel_tool_calls: bool = True,
        **kwargs: Any,  # noqa: ANN401
    ) -> StructuralTag:
        """Return the structural tag of the family."""


def parameters_of(tool: FunctionToolParam | BuiltinToolParam) -> bool | dict[str, Any]:
    """Return the schema of the arguments of a tool."""
    if isinstance(tool, BuiltinToolParam):
        return True if tool.parameters is None else tool.parameters
    if tool.function.strict is False or tool.function.parameters is None:
        return True
    return tool.function.parameters


def sequence(*parts: Format | None) -> Format:
    """Return the parts that are there, one after the other."""
    there = [part for part in parts if part is not None]
    return there[0] if len(there) == 1 else SequenceFormat(elements=there)


def literal(text: str) -> Format | None:
    """Return a text, or nothing where it is empty."""
    return ConstStringFormat(value=text) if text else None


def builder(name: str, template: Template) -> ModelBuilder:
    """Register a template, and return the function of its family."""

    def build(  # noqa: PLR0917 - XGrammar's signature
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
        options = Options(
            any_order=any_order,
            exclude_special_tokens=exclude_special_tokens,
            max_whitespace_cnt=max_whitespace_cnt,
            parallel_tool_calls=parallel_tool_calls,
        )
        check_choice(name, tools or [], builtin_tools or [], tool_choice)
        for call in filter(None, (template.call, template.other_call)):
            check_names(name, tools or [], call.begin, call.escape, call.name_ends)
        thought = _thought(template, options, reasoning)
        rest = _rest(template, options, tools or [], tool_choice)
        return StructuralTag(format=sequence(thought, rest))

    defaults = list(build.__defaults__ or ())
    defaults[3] = template.reasoning
    build.__defaults__ = tuple(defaults)
    build.__name__ = build.__qualname__ = f"get_{name}_structural_tag"
    build.__doc__ = f"Return the structural tag of the family ``{name}``."
    return register_model_structural_tag(name)(build)


def check_choice(
    name: str,
    functions: list[FunctionToolParam],
    builtins: list[BuiltinToolParam],
    choice: SimplifiedToolChoice,
) -> None:
    """Raise unless there are functions where some must be called, just one where it is forced."""
    if choice == "forced" and len(functions) != 1:
        raise ValueError("Forced tool choice must resolve to exactly one tool.")
    if choice == "required" and not functions:
        kind = "only built-in tools, which it does not have" if builtins else "no tools"
        raise ValueError(f"a call is required, and the family {name!r} was given {kind}")


# How families write the tokens that structure their texts.
_MARK = re.compile(r"<[|\uff5c]|[|\uff5c]>|\[[A-Z_]{3,}\]")


def check_names(
    family: str,
    tools: list[FunctionToolParam],
    begin: str,
    escape: Callable[[str], str] = as_it_is,
    ends: tuple[str, ...] = (),
) -> None:
    """Raise if the name of a tool holds what ends a name, so that nobody could tell where it does.

    What ends it stands behind ``$name`` in ``begin``, or is one of ``ends`` where nothing does. JSON has escapes. A
    mark in a name, such as ``<|call|>``, would be read as the token of that name.
    """
    after = begin.partition("$name")[2].partition("$")[0]
    after = after.rstrip() or after
    if "$name" not in begin or escape is in_json:
        return
    stops = ('"',) if after.startswith('"') else (after,) if after else ends
    for at, tool in enumerate(tools):
        written = escape(tool.function.name)
        mark = _MARK.search(written)
        if mark is not None:
            raise InvalidArgumentError(
                f"tools[{at}].function.name: the family {family!r} cannot write the name "
                f"{tool.function.name!r}, since {mark.group()!r} in it would be taken for a mark"
            )
        for stop in stops:
            if (written + stop).find(stop) != len(written):
                raise InvalidArgumentError(
                    f"tools[{at}].function.name: the family {family!r} cannot write the name "
                    f"{tool.function.name!r}, since {stop!r} in it would be taken for its end"
                )


def _text_excludes(template: Template) -> tuple[str, ...]:
    marks = (template.trigger, *template.other_triggers) if template.calls_are_marked else ()
    return (*marks, *template.excludes)


def _thought(template: Template, options: Options, mode: ReasoningMode) -> Format | None:
    thinking = template.thinking
    if thinking is None:
        return None
    if mode == "disabled":
        return literal(thinking.skipped)
    prompted = mode == "enabled" and thinking.prompted
    excludes = () if prompted and thinking.bare else _text_excludes(template)
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
    arguments = options.arguments(tool, call.style, call.excludes)
    content = sequence(*parts, arguments)
    return TagFormat(begin=begin.replace("$name", name), content=content, end=call.end.replace("$name", name))


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


def _rest(
    template: Template, options: Options, tools: list[FunctionToolParam], choice: SimplifiedToolChoice
) -> Format:
    """Return what comes after thinking."""
    if not tools:
        return AnyTextFormat(excludes=options.texts(*_text_excludes(template)))
    if choice == "forced":
        options = replace(options, parallel_tool_calls=False)
    calls = [call for tool in tools for call in _calls(template, options, tool)]
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
        excludes=options.texts(*template.excludes),
    )
