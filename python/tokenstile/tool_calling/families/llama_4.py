"""Llama 4 where it is prompted for JSON: what Llama 3 writes.

Follows the chat template of meta-llama/Llama-4-Scout-17B-16E-Instruct. Llama 4 can also be prompted for calls as Python
expressions (``prompt_format.md`` of meta-llama/llama-models); those are not here.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.families import llama

__all__ = ["TEMPLATE", "get_llama_4_structural_tag"]

TEMPLATE = llama.TEMPLATE

get_llama_4_structural_tag = builder("llama_4", TEMPLATE)
