"""Qwen3 and Qwen3-Next: a call is JSON in a tag.

Follows the chat template of Qwen/Qwen3-8B.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_json
from tokenstile.tool_calling.template import Call, Template, Thinking

__all__ = ["TEMPLATE", "get_qwen_3_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='<tool_call>\n{"name": "$name", "arguments": ', end="}\n</tool_call>", escape=in_json),
    trigger="<tool_call>",
    thinking=Thinking(suffix="\n\n"),
)

get_qwen_3_structural_tag = builder("qwen_3", TEMPLATE)
