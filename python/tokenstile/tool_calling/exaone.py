"""EXAONE 4.0: JSON in a tag, without line breaks."""

from __future__ import annotations

from tokenstile.tool_calling.template import Call, Template, Thinking, builder, in_json

__all__ = ["get_exaone_structural_tag"]

get_exaone_structural_tag = builder(
    "exaone",
    Template(
        call=Call(begin='<tool_call>{"name": "$name", "arguments": ', end="}</tool_call>", escape=in_json),
        trigger="<tool_call>",
        thinking=Thinking(suffix="\n\n", bare=True),
    ),
)
