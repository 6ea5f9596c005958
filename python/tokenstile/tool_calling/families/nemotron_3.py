"""Nemotron 3: the tags of Qwen3.5, and nothing between thinking and the answer.

Follows the chat template of nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.
"""

from __future__ import annotations

from dataclasses import replace

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.families import qwen_3_5
from tokenstile.tool_calling.template import Thinking

__all__ = ["TEMPLATE", "get_nemotron_3_structural_tag"]

TEMPLATE = replace(qwen_3_5.TEMPLATE, thinking=Thinking())

get_nemotron_3_structural_tag = builder("nemotron_3", TEMPLATE)
