"""Cohere's Command models with XML calls: numbered calls in a block, nested values as tags."""

from __future__ import annotations

from tokenstile.tool_calling.template import Block, Call, Template, Thinking, builder, in_xml

__all__ = ["get_cohere_structural_tag"]

_THINKING = Thinking(begin="<|START_THINKING|>", end="<|END_THINKING|>", bare=True)

get_cohere_structural_tag = builder(
    "cohere",
    Template(
        call=Call(
            begin='<cofl:tool_call id="$index" name="$name">',
            end="</cofl:tool_call>",
            style="cohere_xml",
            escape=in_xml,
        ),
        block=Block(begin="<cofl:tool_calls>", end="</cofl:tool_calls>"),
        trigger="<cofl:tool_calls>",
        thinking=_THINKING,
        excludes=(_THINKING.begin, _THINKING.end),
    ),
)
