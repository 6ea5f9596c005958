"""MiMo-V2.6: Qwen's tags without line breaks; the model writes the begin of its thinking itself.

Follows the chat template of XiaomiMiMo/MiMo-V2.6-Pro-RL.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Call, Template, Thinking

__all__ = ["TEMPLATE", "get_mimo_structural_tag"]

TEMPLATE = Template(
    call=Call(begin="<tool_call><function=$name>", end="</function></tool_call>", style="qwen_xml"),
    trigger="<tool_call>",
    thinking=Thinking(prompted=False),
    excludes=("<think>", "</think>", "</tool_call>", "<function="),
    thoughts_hold_no_trigger=True,
    text_holds_no_trigger=True,
)

get_mimo_structural_tag = builder("mimo", TEMPLATE)
