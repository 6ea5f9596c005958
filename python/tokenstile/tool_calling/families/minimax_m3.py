"""MiniMax M3: each tag follows a mark, values nest as tags, and thinking is left to the model."""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_minimax_m3_structural_tag"]

_MARK = "]<]minimax[>["

TEMPLATE = Template(
    call=Call(begin=f'{_MARK}<invoke name="$name">', end=f"{_MARK}</invoke>\n", style="minimax_m3_xml"),
    block=Block(begin=f"{_MARK}<tool_call>\n", end=f"{_MARK}</tool_call>"),
    trigger=f"{_MARK}<tool_call>",
    thinking=Thinking(begin="<mm:think>", end="</mm:think>", may_end_at_once=True),
    excludes=(
        "<mm:think>",
        "</mm:think>",
        f"{_MARK}</tool_call>",
        f"{_MARK}<invoke",
        f"{_MARK}</invoke>",
    ),
    thoughts_hold_no_trigger=True,
    text_holds_no_trigger=True,
    reasoning="auto",
)

get_minimax_m3_structural_tag = builder("minimax_m3", TEMPLATE)
