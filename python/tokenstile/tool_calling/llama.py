"""Llama 3, 3.1, 3.2, and Llama 4 where it is prompted for JSON: a call is a JSON object by itself.

Follows the chat templates of meta-llama/Llama-3.1-8B-Instruct and meta-llama/Llama-4-Scout-17B-16E-Instruct, which ask
for ``{"name": function name, "parameters": dictionary of argument name and its value}``. Llama 4 can also be prompted
for calls as Python expressions (``prompt_format.md`` of meta-llama/llama-models); those are not here.
"""

from __future__ import annotations

from tokenstile.tool_calling.template import Call, Template, builder, in_json

__all__ = ["get_llama_4_structural_tag", "get_llama_structural_tag"]

_TEMPLATE = Template(
    call=Call(begin='{"name": "$name", "parameters": ', end="}", escape=in_json),
    trigger='{"name": ',
)

get_llama_structural_tag = builder("llama", _TEMPLATE)
get_llama_4_structural_tag = builder("llama_4", _TEMPLATE)
