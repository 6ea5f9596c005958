"""Llama 3, 3.1 and 3.2: a call is a JSON object by itself.

Follows the chat template of meta-llama/Llama-3.1-8B-Instruct, which asks for ``{"name": function name, "parameters":
dictionary of argument name and its value}``.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_json
from tokenstile.tool_calling.template import Call, Template

__all__ = ["TEMPLATE", "get_llama_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='{"name": "$name", "parameters": ', end="}", escape=in_json),
    trigger='{"name": ',
)

get_llama_structural_tag = builder("llama", TEMPLATE)
