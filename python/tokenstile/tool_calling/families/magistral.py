"""Magistral since 2507: the calls of `mistral`, and thoughts between marks, which it begins by itself."""

from __future__ import annotations

from dataclasses import replace

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.families import mistral
from tokenstile.tool_calling.template import Thinking

__all__ = ["TEMPLATE", "get_magistral_structural_tag"]

TEMPLATE = replace(
    mistral.TEMPLATE,
    thinking=Thinking(begin="[THINK]", end="[/THINK]", prompted=False),
    excludes=("[THINK]", "[/THINK]"),
)

get_magistral_structural_tag = builder("magistral", TEMPLATE)
