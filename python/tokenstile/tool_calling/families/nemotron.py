"""Nemotron Nano v2 and Llama-Nemotron: a list of JSON objects in a tag.

Follows the chat template of nvidia/NVIDIA-Nemotron-Nano-9B-v2.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_json
from tokenstile.tool_calling.template import Block, Call, Template, Thinking

__all__ = ["TEMPLATE", "get_nemotron_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
    block=Block(begin="<TOOLCALL>[", end="]</TOOLCALL>", separator=", "),
    trigger="<TOOLCALL>",
    thinking=Thinking(),
)

get_nemotron_structural_tag = builder("nemotron", TEMPLATE)
