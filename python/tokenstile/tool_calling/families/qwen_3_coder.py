"""Qwen3-Coder and Qwen3-Coder-Next: what Qwen3.5 writes."""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.families import qwen_3_5

__all__ = ["TEMPLATE", "get_qwen_3_coder_structural_tag"]

TEMPLATE = qwen_3_5.TEMPLATE

get_qwen_3_coder_structural_tag = builder("qwen_3_coder", TEMPLATE)
