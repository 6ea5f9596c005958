"""EXAONE 4.0: JSON in a tag, without line breaks.

Follows the chat template of LGAI-EXAONE/EXAONE-4.0-32B.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_json
from tokenstile.tool_calling.template import Call, Template, Thinking

__all__ = ["TEMPLATE", "get_exaone_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='<tool_call>{"name": "$name", "arguments": ', end="}</tool_call>", escape=in_json),
    trigger="<tool_call>",
    thinking=Thinking(suffix="\n\n", bare=True),
)

get_exaone_structural_tag = builder("exaone", TEMPLATE)
