"""Mistral: since tokenizer v11 a name and arguments after marks, before that a list of JSON objects.

Follows mistral-common, ``tokens/tokenizers/instruct.py``, which is what the models were trained with:

- v13 (``mistral``: Devstral 2, Ministral 3, Magistral 2507 and later) writes the name between ``[TOOL_CALLS]`` and
  ``[ARGS]``, and one such pair for each call;
- v11 (``mistral_v11``: Mistral Small 3.2) has ``[CALL_ID]`` and an id of nine letters and digits between them, or not;
- v3 and v7 (``mistral_json``) write a list after one ``[TOOL_CALLS]``, behind a blank where the tokenizer is
  SentencePiece's, without it where it is Tekken.

Magistral writes what v13 does, and thinks between ``[THINK]`` and ``[/THINK]``, which it begins by itself.
"""

from __future__ import annotations

from dataclasses import replace

from tokenstile.tool_calling.template import Block, Call, Template, Thinking, builder, in_json

__all__ = [
    "get_magistral_structural_tag",
    "get_mistral_json_structural_tag",
    "get_mistral_structural_tag",
    "get_mistral_v11_structural_tag",
]

_MISTRAL = Template(
    call=Call(begin="[TOOL_CALLS]$name[ARGS]", end=""),
    trigger="[TOOL_CALLS]",
    excludes=(),
)

get_mistral_structural_tag = builder("mistral", _MISTRAL)

get_mistral_v11_structural_tag = builder(
    "mistral_v11",
    replace(_MISTRAL, other_call=Call(begin="[TOOL_CALLS]$name[CALL_ID]$id[ARGS]", end="")),
)

get_magistral_structural_tag = builder(
    "magistral",
    replace(
        _MISTRAL,
        thinking=Thinking(begin="[THINK]", end="[/THINK]", prompted=False),
        excludes=("[THINK]", "[/THINK]"),
    ),
)

get_mistral_json_structural_tag = builder(
    "mistral_json",
    Template(
        call=Call(begin='{"name": "$name", "arguments": ', end="}", escape=in_json),
        block=Block(begin="[TOOL_CALLS] [", other_begins=("[TOOL_CALLS][",), end="]", separator=", "),
        trigger="[TOOL_CALLS]",
        excludes=(),
    ),
)
