"""DeepSeek-V4.1-Flash: the tags of DSML with a blank before their names.

Follows ``encoding/encoding.py`` of deepseek-ai/DeepSeek-V4.1-Flash.
"""

# ruff: noqa: RUF001 - the bars are theirs

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_deepseek_v4_1_structural_tag"]

TEMPLATE = Template(
    call=Call(
        begin='<｜DSML｜ invoke name="$name">\n', end="</｜DSML｜ invoke>\n", style="deepseek_v4_1_xml"
    ),
    block=Block(begin="<｜DSML｜ calls>\n", end="</｜DSML｜ calls>", lead="\n\n"),
    trigger="<｜DSML｜ calls>",
    thinking=Thinking(),
    text_holds_no_trigger=True,
)

get_deepseek_v4_1_structural_tag = builder("deepseek_v4_1", TEMPLATE)
