"""Phi-4-mini: a list of JSON objects after the word ``functools``."""

from __future__ import annotations

from tokenstile.tool_calling.template import Block, Call, Template, builder, in_json

__all__ = ["get_phi_4_mini_structural_tag"]

get_phi_4_mini_structural_tag = builder(
    "phi_4_mini",
    Template(
        call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
        block=Block(begin="functools[", end="]", separator=", "),
        trigger="functools[",
        excludes=(),
    ),
)
