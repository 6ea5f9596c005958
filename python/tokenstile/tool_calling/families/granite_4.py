"""Granite 4.0 and 4.1: a JSON object in a tag, the name first.

Follows the chat template of ibm-granite/granite-4.0-h-small.
"""

from __future__ import annotations

from dataclasses import replace

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.families import hermes

__all__ = ["TEMPLATE", "get_granite_4_structural_tag"]

TEMPLATE = replace(hermes.TEMPLATE, other_call=None)

get_granite_4_structural_tag = builder("granite_4", TEMPLATE)
