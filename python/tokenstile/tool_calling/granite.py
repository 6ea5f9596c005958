"""Granite: 3.x writes a list of JSON objects after a mark, 4.0 what Hermes writes."""

from __future__ import annotations

from tokenstile.tool_calling.hermes import HERMES
from tokenstile.tool_calling.template import Block, Call, Template, builder, in_json

__all__ = ["get_granite_4_structural_tag", "get_granite_structural_tag"]

get_granite_structural_tag = builder(
    "granite",
    Template(
        call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
        block=Block(begin="<|tool_call|>[", end="]", separator=", "),
        trigger="<|tool_call|>",
        excludes=(),
    ),
)
get_granite_4_structural_tag = builder("granite_4", HERMES)
