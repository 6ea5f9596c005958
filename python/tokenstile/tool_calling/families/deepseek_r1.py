"""DeepSeek-R1 and R1-0528: the name, then JSON in a fence, between tokens of its own.

Follows ``tokenizer_config.json`` of deepseek-ai/DeepSeek-R1.
"""

# ruff: noqa: RUF001 - the bars are theirs

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_deepseek_r1_structural_tag"]

TEMPLATE = Template(
    call=Call(
        begin="<｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n",
        end="\n```<｜tool▁call▁end｜>",
    ),
    block=Block(begin="<｜tool▁calls▁begin｜>", end="<｜tool▁calls▁end｜>", separator="\n"),
    trigger="<｜tool▁calls▁begin｜>",
    thinking=Thinking(),
)

get_deepseek_r1_structural_tag = builder("deepseek_r1", TEMPLATE)
