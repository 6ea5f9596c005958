"""Kimi-K2 and K2.5: numbered calls in a block. Kimi-K3: thinking, response and tools are blocks of one message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OptionalFormat,
    RegexFormat,
    SequenceFormat,
    StructuralTag,
    TagFormat,
    TagsWithSeparatorFormat,
)
from tokenstile.tool_calling.registry import register_model_structural_tag
from tokenstile.tool_calling.template import (
    Block,
    Call,
    Options,
    ReasoningMode,
    Template,
    Thinking,
    builder,
    check_choice,
    check_names,
    in_attribute,
    sequence,
)

if TYPE_CHECKING:
    from tokenstile.tool_calling.choice import SimplifiedToolChoice
    from tokenstile.tool_calling.schema import BuiltinToolParam, FunctionToolParam

__all__ = ["get_kimi_k3_structural_tag", "get_kimi_structural_tag"]

get_kimi_structural_tag = builder(
    "kimi",
    Template(
        call=Call(
            begin="<|tool_call_begin|>functions.$name:$index<|tool_call_argument_begin|>",
            end="<|tool_call_end|>",
        ),
        block=Block(begin="<|tool_calls_section_begin|>", end="<|tool_calls_section_end|>"),
        trigger="<|tool_calls_section_begin|>",
        thinking=Thinking(bare=True),
    ),
)

_MARKS = ("<|open|>", "<|close|>")


def _opened(name: str) -> str:
    return f"<|open|>{name}<|sep|>"


def _closed(name: str) -> str:
    return f"<|close|>{name}<|sep|>"


def _block(name: str, options: Options, *, prompted: bool) -> TagFormat:
    return TagFormat(
        begin="" if prompted else _opened(name),
        content=AnyTextFormat(excludes=options.texts(*_MARKS)),
        end=_closed(name),
    )


def _call(tool: FunctionToolParam, options: Options) -> TagFormat:
    arguments = options.arguments(tool, "kimi_k3_xml", (*_MARKS, "<|sep|>"))
    return TagFormat(
        begin=f'<|open|>call tool="{in_attribute(tool.function.name)}" index="',
        content=SequenceFormat(
            elements=[RegexFormat(pattern=r"[0-9]+"), ConstStringFormat(value='"<|sep|>'), arguments]
        ),
        end=_closed("call"),
    )


def _calls(tools: list[FunctionToolParam], choice: SimplifiedToolChoice, options: Options) -> Format | None:
    if not tools:
        return None
    calls = TagsWithSeparatorFormat(
        tags=[_call(tool, options) for tool in tools],
        separator="",
        at_least_one=True,
        stop_after_first=choice == "forced" or not options.parallel_tool_calls,
    )
    block = TagFormat(begin=_opened("tools"), content=calls, end=_closed("tools"))
    return OptionalFormat(content=block) if choice == "auto" else block


@register_model_structural_tag("kimi_k3")
def get_kimi_k3_structural_tag(  # noqa: PLR0917 - XGrammar's signature
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
    """Return the structural tag of the family ``kimi_k3``.

    The prompt opens the first block: thinking where it is enabled, the response where it is disabled.
    """
    options = Options(
        any_order=any_order,
        exclude_special_tokens=exclude_special_tokens,
        max_whitespace_cnt=max_whitespace_cnt,
        parallel_tool_calls=parallel_tool_calls,
    )
    check_choice("kimi_k3", tools or [], builtin_tools or [], tool_choice)
    check_names("kimi_k3", tools or [], 'tool="$name"', in_attribute)
    thought: Format | None = None
    if reasoning == "enabled":
        thought = _block("think", options, prompted=True)
    elif reasoning == "auto":
        thought = OptionalFormat(content=_block("think", options, prompted=False))
    response = _block("response", options, prompted=reasoning == "disabled")
    calls = _calls(tools or [], tool_choice, options)
    end = ConstStringFormat(value=_closed("message"))
    return StructuralTag(format=sequence(thought, response, calls, end))
