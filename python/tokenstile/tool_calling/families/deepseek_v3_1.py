"""DeepSeek-V3.1 and V3.2-Exp: the name, a separator, and JSON, between tokens of its own.

Follows ``tokenizer_config.json`` of deepseek-ai/DeepSeek-V3.1.
"""

# ruff: noqa: RUF001 - the bars are theirs

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_deepseek_v3_1_structural_tag"]

TEMPLATE = Template(
    call=Call(begin="<｜tool▁call▁begin｜>$name<｜tool▁sep｜>", end="<｜tool▁call▁end｜>"),
    block=Block(begin="<｜tool▁calls▁begin｜>", end="<｜tool▁calls▁end｜>"),
    trigger="<｜tool▁calls▁begin｜>",
    thinking=Thinking(),
)

get_deepseek_v3_1_structural_tag = builder("deepseek_v3_1", TEMPLATE)
