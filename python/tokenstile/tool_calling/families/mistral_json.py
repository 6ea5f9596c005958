"""Mistral of tokenizers v3 and v7 (Mistral 7B v0.3 and its like): a list of JSON objects after one mark.

Follows mistral-common, ``tokens/tokenizers/instruct.py``: the list stands behind a blank where the tokenizer is
SentencePiece's, and without it where it is Tekken.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.names import in_json
from tokenstile.tool_calling.template import Block, Call, Template

__all__ = ["TEMPLATE", "get_mistral_json_structural_tag"]

TEMPLATE = Template(
    call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
    block=Block(begin="[TOOL_CALLS] [", other_begins=("[TOOL_CALLS][",), end="]", separator=", "),
    trigger="[TOOL_CALLS]",
    excludes=(),
)

get_mistral_json_structural_tag = builder("mistral_json", TEMPLATE)
