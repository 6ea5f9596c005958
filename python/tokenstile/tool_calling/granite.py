"""Granite: 3.x writes a list of JSON objects after a mark, 4.0 a JSON object in a tag, name first, as Qwen does.

3.0, 3.2 and 3.3 follow the chat templates of ibm-granite/granite-3.0-8b-instruct and granite-3.3-8b-instruct, which
ask for ``<|tool_call|>`` and a JSON list; 3.1 writes ``<tool_call>`` in its place, and vLLM's parser reads both. 4.0
and 4.1 follow the chat template of ibm-granite/granite-4.0-h-small.
"""

from __future__ import annotations

from tokenstile.tool_calling.hermes import HERMES
from tokenstile.tool_calling.template import Block, Call, Template, builder, in_json

__all__ = ["get_granite_4_structural_tag", "get_granite_structural_tag"]

get_granite_structural_tag = builder(
    "granite",
    Template(
        call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
        block=Block(begin="<|tool_call|>[", other_begins=("<tool_call>[",), end="]", separator=", "),
        trigger="<|tool_call|>",
        other_triggers=("<tool_call>",),
        excludes=(),
    ),
)
get_granite_4_structural_tag = builder("granite_4", HERMES)
