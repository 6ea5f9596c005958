"""Hermes 2 Pro and Hermes 3: JSON in a tag, and no thinking.

Follows the chat templates ``tool_use`` of NousResearch/Hermes-2-Pro-Llama-3-8B and NousResearch/Hermes-3-Llama-3.1-8B.
Their prompts ask for ``{"arguments": ..., "name": ...}`` and write earlier calls the other way round, and the models do
both; so both are here.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_json
from tokenstile.tool_calling.template import Call, Template

__all__ = ["TEMPLATE", "get_hermes_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='<tool_call>\n{"name": "$name", "arguments": ', end="}\n</tool_call>", escape=in_json),
    other_call=Call(
        begin='<tool_call>\n{"arguments": ', end=', "name": "$name"}\n</tool_call>', escape=in_json
    ),
    trigger="<tool_call>",
    excludes=(),
)

get_hermes_structural_tag = builder("hermes", TEMPLATE)
