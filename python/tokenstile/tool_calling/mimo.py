"""MiMo-V2.6: Qwen's tags without line breaks; the model writes the begin of its thinking itself."""

from __future__ import annotations

from tokenstile.tool_calling.template import Call, Template, Thinking, builder

__all__ = ["get_mimo_structural_tag"]

get_mimo_structural_tag = builder(
    "mimo",
    Template(
        call=Call(begin="<tool_call><function=$name>", end="</function></tool_call>", style="qwen_xml"),
        trigger="<tool_call>",
        thinking=Thinking(prompted=False),
        excludes=("<think>", "</think>", "</tool_call>", "<function="),
        calls_are_marked=True,
    ),
)
