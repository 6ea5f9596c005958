"""Mistral: since tokenizer v13 a name and arguments after marks, before that a list of JSON objects.

Magistral writes the former, and thinks.
"""

from __future__ import annotations

from dataclasses import replace

from tokenstile.tool_calling.template import Block, Call, Template, Thinking, builder, in_json

__all__ = [
    "get_magistral_structural_tag",
    "get_mistral_json_structural_tag",
    "get_mistral_structural_tag",
]

_MISTRAL = Template(
    call=Call(begin="[TOOL_CALLS]$name[ARGS]", end=""),
    trigger="[TOOL_CALLS]",
    excludes=(),
)

get_mistral_structural_tag = builder("mistral", _MISTRAL)

get_magistral_structural_tag = builder(
    "magistral",
    replace(
        _MISTRAL,
        thinking=Thinking(begin="[THINK]", end="[/THINK]", prompted=False),
        excludes=("[THINK]", "[/THINK]"),
    ),
)

get_mistral_json_structural_tag = builder(
    "mistral_json",
    Template(
        call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
        block=Block(begin="[TOOL_CALLS] [", end="]", separator=", "),
        trigger="[TOOL_CALLS]",
        excludes=(),
    ),
)
