"""Qwen3.5 and 3.6: the arguments are tags too, each on lines of its own.

Follows the chat template of Qwen/Qwen3-Coder-480B-A35B-Instruct: a line break after the function's name and after every
parameter, and so none but the first where there are no parameters.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Call, Template, Thinking

__all__ = ["TEMPLATE", "get_qwen_3_5_structural_tag"]

TEMPLATE = Template(
    call=Call(
        begin="<tool_call>\n<function=$name>\n",
        after_arguments="\n",
        end="</function>\n</tool_call>",
        style="qwen_xml",
    ),
    trigger="<tool_call>\n<function=",
    thinking=Thinking(suffix="\n\n"),
)

get_qwen_3_5_structural_tag = builder("qwen_3_5", TEMPLATE)
