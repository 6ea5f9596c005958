"""Cohere's Command models with XML calls: numbered calls in a block, nested values as tags."""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_xml
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_cohere_structural_tag"]

TEMPLATE = Template(
    call=Call(
        begin='<cofl:tool_call id="$index" name="$name">',
        end="</cofl:tool_call>",
        style="cohere_xml",
        escape=in_xml,
    ),
    block=Block(begin="<cofl:tool_calls>", end="</cofl:tool_calls>"),
    trigger="<cofl:tool_calls>",
    thinking=Thinking(begin="<|START_THINKING|>", end="<|END_THINKING|>", bare=True),
    excludes=("<|START_THINKING|>", "<|END_THINKING|>"),
)

get_cohere_structural_tag = builder("cohere", TEMPLATE)
