"""Structural tags as engines send them: a JSON text, of today's form or of the older one."""

from __future__ import annotations

import json
from typing import Any

from tokenstile.exceptions import InvalidStructuralTagError
from tokenstile.structural_tag_text import legacy_structural_tag

__all__ = ["read_structural_tag"]


def read_structural_tag(text: str) -> dict[str, Any]:
    """Read the JSON text of a structural tag; ``structures`` and ``triggers`` become a format of triggered tags.

    >>> item = '{"begin": "<a>", "schema": {}, "end": "</a>"}'
    >>> read_structural_tag('{"structures": [' + item + '], "triggers": ["<a"]}')["format"]["type"]
    'triggered_tags'
    """
    try:
        tag = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidStructuralTagError(f"the structural tag is not JSON: {error}") from error
    if not isinstance(tag, dict):
        raise InvalidStructuralTagError(
            f"a structural tag is an object of JSON, not of type {type(tag).__name__}"
        )
    if "structures" not in tag:
        return tag
    legacy = legacy_structural_tag(tag["structures"], tag.get("triggers"))
    if tag.get("at_least_one"):
        legacy["format"]["at_least_one"] = True
    return legacy
