"""Qwen3 and Qwen3-Next: a call is JSON in a tag. Qwen3-Coder, Qwen3.5 and 3.6: the arguments are tags too."""

from __future__ import annotations

from tokenstile.tool_calling.template import Call, Template, Thinking, builder, in_json

__all__ = [
    "get_qwen_3_5_structural_tag",
    "get_qwen_3_coder_structural_tag",
    "get_qwen_3_structural_tag",
]

_THINKING = Thinking(suffix="\n\n")

_CODER = Template(
    call=Call(begin="<tool_call>\n<function=$name>\n", end="</function>\n</tool_call>", style="qwen_xml"),
    trigger="<tool_call>\n<function=",
    thinking=_THINKING,
)

get_qwen_3_structural_tag = builder(
    "qwen_3",
    Template(
        call=Call(
            begin='<tool_call>\n{"name": "$name", "arguments": ', end="}\n</tool_call>", escape=in_json
        ),
        trigger="<tool_call>",
        thinking=_THINKING,
    ),
)
get_qwen_3_5_structural_tag = builder("qwen_3_5", _CODER)
get_qwen_3_coder_structural_tag = builder("qwen_3_coder", _CODER)
