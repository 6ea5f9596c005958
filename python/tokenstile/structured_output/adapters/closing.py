"""JSON Schemas closed: objects that name properties and are silent about others get none.

It is what vLLM's ``disable_additional_properties`` does, for libraries that leave such objects open. Each schema is
closed by itself, so a schema that spreads the properties of one object over several (``allOf``) allows less than it
meant to, and never more; what is under ``not`` and ``if`` stays as it is, because closing that would allow more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["close_schema"]

_ONE: Final = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "items",
    "then",
    "unevaluatedItems",
)
_LISTS: Final = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_MAPS: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def close_schema(text: str) -> str:
    """Return the text of a schema whose objects are closed.

    >>> close_schema('{"properties": {"a": {}}}')
    '{"properties": {"a": {}}, "additionalProperties": false}'
    """
    try:
        schema = json.loads(text)
        agenda = [schema]
        while agenda:
            found = agenda.pop()
            if isinstance(found, dict):
                agenda += _parts(found)
                _close(found)
        return json.dumps(schema)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"the schema is not JSON: {error}") from None


def _close(schema: dict[str, Any]) -> None:
    names_some = "properties" in schema or "patternProperties" in schema
    if names_some and not {"additionalProperties", "unevaluatedProperties"} & schema.keys():
        schema["additionalProperties"] = False


def _parts(schema: dict[str, Any]) -> Iterator[Any]:
    """Give the schemas inside of a schema."""
    for key in _ONE:
        yield schema.get(key)
    for key in _LISTS:
        found = schema.get(key)
        yield from found if isinstance(found, list) else ()
    for key in _MAPS:
        found = schema.get(key)
        yield from found.values() if isinstance(found, dict) else ()
