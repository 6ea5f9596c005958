"""Mistral of tokenizer v11 (Mistral Small 3.2): as v13, with an id of nine letters and digits, or without.

Follows mistral-common, as `mistral` does; the id stands after ``[CALL_ID]``.
"""

from __future__ import annotations

from dataclasses import replace

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.families import mistral
from tokenstile.tool_calling.template import Call

__all__ = ["TEMPLATE", "get_mistral_v11_structural_tag"]

TEMPLATE = replace(
    mistral.TEMPLATE,
    other_call=Call(begin="[TOOL_CALLS]$name[CALL_ID]$id[ARGS]", end=""),
)

get_mistral_v11_structural_tag = builder("mistral_v11", TEMPLATE)
