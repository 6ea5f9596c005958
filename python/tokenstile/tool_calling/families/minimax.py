"""MiniMax M2.5 and M2.7: calls and arguments are tags, in a block.

Follows the chat template of MiniMaxAI/MiniMax-M2.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_minimax_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='<invoke name="$name">\n', end="</invoke>\n", style="minimax_xml"),
    block=Block(begin="<minimax:tool_call>\n", end="</minimax:tool_call>", lead="\n"),
    trigger="<minimax:tool_call>",
    thinking=Thinking(suffix="\n\n", bare=True, skipped="\n</think>\n\n\n\n"),
)

get_minimax_structural_tag = builder("minimax", TEMPLATE)
