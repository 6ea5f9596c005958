"""Nemotron: Nano v2 and Llama-Nemotron write a list of JSON objects in a tag, Nemotron 3 the tags of Qwen's coder."""

from __future__ import annotations

from tokenstile.tool_calling.template import Block, Call, Template, Thinking, builder, in_json

__all__ = ["get_nemotron_3_structural_tag", "get_nemotron_structural_tag"]

get_nemotron_structural_tag = builder(
    "nemotron",
    Template(
        call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
        block=Block(begin="<TOOLCALL>[", end="]</TOOLCALL>", separator=", "),
        trigger="<TOOLCALL>",
        thinking=Thinking(),
    ),
)

get_nemotron_3_structural_tag = builder(
    "nemotron_3",
    Template(
        call=Call(begin="<tool_call>\n<function=$name>\n", end="</function>\n</tool_call>", style="qwen_xml"),
        trigger="<tool_call>\n<function=",
        thinking=Thinking(),
    ),
)
