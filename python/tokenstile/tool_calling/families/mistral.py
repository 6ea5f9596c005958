"""Mistral since tokenizer v13 (Devstral 2, Ministral 3): a name and arguments after marks, a pair for each call.

Follows mistral-common, ``tokens/tokenizers/instruct.py``, which is what the models were trained with: the name stands
between ``[TOOL_CALLS]`` and ``[ARGS]``.
"""

from __future__ import annotations

from tokenstile.tool_calling.build import builder
from tokenstile.tool_calling.template import Call, Template

__all__ = ["TEMPLATE", "get_mistral_structural_tag"]

TEMPLATE = Template(
    call=Call(begin="[TOOL_CALLS]$name[ARGS]", end=""),
    trigger="[TOOL_CALLS]",
    excludes=(),
)

get_mistral_structural_tag = builder("mistral", TEMPLATE)
