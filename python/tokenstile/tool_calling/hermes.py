"""Hermes 2 Pro and Hermes 3, and Granite 4, which writes the same: JSON in a tag, and no thinking."""

from __future__ import annotations

from tokenstile.tool_calling.template import Call, Template, builder, in_json

__all__ = ["HERMES", "get_hermes_structural_tag"]

HERMES = Template(
    call=Call(begin='<tool_call>\n{"name": "$name", "arguments": ', end="}\n</tool_call>", escape=in_json),
    trigger="<tool_call>",
    excludes=(),
)

get_hermes_structural_tag = builder("hermes", HERMES)
