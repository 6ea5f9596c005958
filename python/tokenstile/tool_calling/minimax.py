"""MiniMax M2.5 and M2.7, and M3, whose tags each follow a mark and whose thinking is left to the model."""

from __future__ import annotations

from tokenstile.tool_calling.template import Block, Call, Template, Thinking, builder

__all__ = ["get_minimax_m3_structural_tag", "get_minimax_structural_tag"]

_MARK = "]<]minimax[>["

get_minimax_structural_tag = builder(
    "minimax",
    Template(
        call=Call(begin='<invoke name="$name">\n', end="</invoke>\n", style="minimax_xml"),
        block=Block(begin="<minimax:tool_call>\n", end="</minimax:tool_call>", lead="\n"),
        trigger="<minimax:tool_call>",
        thinking=Thinking(suffix="\n\n", bare=True, skipped="\n</think>\n\n\n\n"),
    ),
)

get_minimax_m3_structural_tag = builder(
    "minimax_m3",
    Template(
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
        calls_are_marked=True,
        reasoning="auto",
    ),
)
