"""DeepSeek-V3.2: calls and arguments are the tags of DSML.

Follows ``encoding/encoding_dsv32.py`` of deepseek-ai/DeepSeek-V3.2.
"""

# ruff: noqa: RUF001 - the bars are theirs

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_deepseek_v3_2_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='<｜DSML｜invoke name="$name">\n', end="</｜DSML｜invoke>\n", style="deepseek_xml"),
    block=Block(begin="<｜DSML｜function_calls>\n", end="</｜DSML｜function_calls>", lead="\n\n"),
    trigger="<｜DSML｜function_calls>",
    thinking=Thinking(),
)

get_deepseek_v3_2_structural_tag = builder("deepseek_v3_2", TEMPLATE)
