"""DeepSeek-V4: what V3.2 writes, but for the name of the block."""

# ruff: noqa: RUF001 - the bars are theirs

from __future__ import annotations

from dataclasses import replace

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.families import deepseek_v3_2
from tokenstile.tool_calling.template import Block

__all__ = ["TEMPLATE", "get_deepseek_v4_structural_tag"]

TEMPLATE = replace(
    deepseek_v3_2.TEMPLATE,
    block=Block(begin="<｜DSML｜tool_calls>\n", end="</｜DSML｜tool_calls>", lead="\n\n"),
    trigger="<｜DSML｜tool_calls>",
)

get_deepseek_v4_structural_tag = builder("deepseek_v4", TEMPLATE)
