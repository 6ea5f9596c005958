"""GLM-4.7 and GLM-5: the name, then keys and values, each a tag."""

from __future__ import annotations

from tokenstile.tool_calling.template import Call, Template, Thinking, builder

__all__ = ["get_glm_4_7_structural_tag"]

get_glm_4_7_structural_tag = builder(
    "glm_4_7",
    Template(
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
        calls_are_marked=True,
    ),
)
