"""DeepSeek: R1 and V3.1 write JSON between special tokens, V3.2, V4 and V4.1 the tags of DSML."""

# ruff: noqa: RUF001 - the bars are theirs

from __future__ import annotations

from tokenstile.tool_calling.template import Block, Call, Template, Thinking, builder

__all__ = [
    "get_deepseek_r1_structural_tag",
    "get_deepseek_v3_1_structural_tag",
    "get_deepseek_v3_2_structural_tag",
    "get_deepseek_v4_1_structural_tag",
    "get_deepseek_v4_structural_tag",
]

_THINKING = Thinking()
_BEGIN, _END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"

get_deepseek_r1_structural_tag = builder(
    "deepseek_r1",
    Template(
        call=Call(
            begin="<｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n",
            end="\n```<｜tool▁call▁end｜>",
        ),
        block=Block(begin=_BEGIN, end=_END, separator="\n"),
        trigger=_BEGIN,
        thinking=_THINKING,
    ),
)

get_deepseek_v3_1_structural_tag = builder(
    "deepseek_v3_1",
    Template(
        call=Call(begin="<｜tool▁call▁begin｜>$name<｜tool▁sep｜>", end="<｜tool▁call▁end｜>"),
        block=Block(begin=_BEGIN, end=_END),
        trigger=_BEGIN,
        thinking=_THINKING,
    ),
)

get_deepseek_v3_2_structural_tag = builder(
    "deepseek_v3_2",
    Template(
        call=Call(begin='<｜DSML｜invoke name="$name">\n', end="</｜DSML｜invoke>\n", style="deepseek_xml"),
        block=Block(begin="<｜DSML｜function_calls>\n", end="</｜DSML｜function_calls>", lead="\n\n"),
        trigger="<｜DSML｜function_calls>",
        thinking=_THINKING,
    ),
)

get_deepseek_v4_structural_tag = builder(
    "deepseek_v4",
    Template(
        call=Call(begin='<｜DSML｜invoke name="$name">\n', end="</｜DSML｜invoke>\n", style="deepseek_xml"),
        block=Block(begin="<｜DSML｜tool_calls>\n", end="</｜DSML｜tool_calls>", lead="\n\n"),
        trigger="<｜DSML｜tool_calls>",
        thinking=_THINKING,
    ),
)

get_deepseek_v4_1_structural_tag = builder(
    "deepseek_v4_1",
    Template(
        call=Call(
            begin='<｜DSML｜ invoke name="$name">\n', end="</｜DSML｜ invoke>\n", style="deepseek_v4_1_xml"
        ),
        block=Block(begin="<｜DSML｜ calls>\n", end="</｜DSML｜ calls>", lead="\n\n"),
        trigger="<｜DSML｜ calls>",
        thinking=_THINKING,
    ),
)
