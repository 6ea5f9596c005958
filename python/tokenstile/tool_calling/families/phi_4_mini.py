"""Phi-4-mini: a list of JSON objects after the word ``functools``.

Follows the chat template and the parser that vLLM has for microsoft/Phi-4-mini-instruct.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_json
from tokenstile.tool_calling.template import Block, Call, Template

__all__ = ["TEMPLATE", "get_phi_4_mini_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
    block=Block(begin="functools[", end="]", separator=", "),
    trigger="functools[",
    excludes=(),
)

get_phi_4_mini_structural_tag = builder("phi_4_mini", TEMPLATE)
