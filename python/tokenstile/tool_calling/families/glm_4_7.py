"""GLM-4.7 and GLM-5: the name, then keys and values, each a tag.

Follows the chat template of zai-org/GLM-4.7.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Call, Template, Thinking

__all__ = ["TEMPLATE", "get_glm_4_7_structural_tag"]

TEMPLATE = Template(
    call=Call(
        begin="<tool_call>$name",
        end="</tool_call>",
        style="glm_xml",
        name_ends=("<arg_key>", "</tool_call>"),
    ),
    trigger="<tool_call>",
    thinking=Thinking(),
    excludes=(
        "<think>",
        "</think>",
        "</tool_call>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
    ),
    thoughts_hold_no_trigger=True,
    text_holds_no_trigger=True,
)

get_glm_4_7_structural_tag = builder("glm_4_7", TEMPLATE)
