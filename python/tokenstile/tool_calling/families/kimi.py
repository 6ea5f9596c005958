"""Kimi-K2 and K2.5: numbered calls in a block.

Follows ``docs/tool_call_guidance.md`` of moonshotai/Kimi-K2-Instruct.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_kimi_structural_tag"]

TEMPLATE = Template(
    call=Call(
        begin="<|tool_call_begin|>functions.$name:$index<|tool_call_argument_begin|>",
        end="<|tool_call_end|>",
    ),
    block=Block(begin="<|tool_calls_section_begin|>", end="<|tool_calls_section_end|>"),
    trigger="<|tool_calls_section_begin|>",
    thinking=Thinking(bare=True),
    excludes_beside_calls=("<|tool_call_begin|>",),
)

get_kimi_structural_tag = builder("kimi", TEMPLATE)
