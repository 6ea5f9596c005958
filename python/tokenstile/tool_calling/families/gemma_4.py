"""Gemma 4: a call has a syntax of its own, with strings quoted by a token; thoughts are on a channel.

Follows Google's page on prompt formatting for Gemma 4 and the chat template of google/gemma-4-e2b-it. The model opens
the channel of its thoughts by itself; where thinking is off, the prompt holds an empty one or none.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Call, Template, Thinking

__all__ = ["TEMPLATE", "get_gemma_4_structural_tag"]

TEMPLATE = Template(
    call=Call(begin="<|tool_call>call:$name", end="<tool_call|>", style="gemma", name_ends=("{",)),
    trigger="<|tool_call>",
    thinking=Thinking(begin="<|channel>thought\n", end="<channel|>", prompted=False),
    excludes=("<|channel>", "<channel|>"),
)

get_gemma_4_structural_tag = builder("gemma_4", TEMPLATE)
