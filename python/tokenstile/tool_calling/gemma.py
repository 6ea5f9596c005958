"""Gemma 4: a call has a syntax of its own, with strings quoted by a token."""

from __future__ import annotations

from tokenstile.tool_calling.template import Call, Template, builder

__all__ = ["get_gemma_4_structural_tag"]

get_gemma_4_structural_tag = builder(
    "gemma_4",
    Template(
        call=Call(begin="<|tool_call>call:$name", end="<tool_call|>", style="gemma", name_ends=("{",)),
        trigger="<|tool_call>",
        excludes=(),
    ),
)
