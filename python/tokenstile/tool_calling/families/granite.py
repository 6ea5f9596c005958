"""Granite 3: a list of JSON objects after a mark.

3.0, 3.2 and 3.3 follow the chat templates of ibm-granite/granite-3.0-8b-instruct and granite-3.3-8b-instruct, which
ask for ``<|tool_call|>`` and a JSON list; 3.1 writes ``<tool_call>`` in its place, and vLLM's parser reads both.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_json
from tokenstile.tool_calling.template import Block, Call, Template

__all__ = ["TEMPLATE", "get_granite_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
    block=Block(begin="<|tool_call|>[", other_begins=("<tool_call>[",), end="]", separator=", "),
    trigger="<|tool_call|>",
    other_triggers=("<tool_call>",),
    excludes=(),
)

get_granite_structural_tag = builder("granite", TEMPLATE)
