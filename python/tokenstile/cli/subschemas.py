"""The parts of a JSON Schema that no value satisfies.

A part is checked where it stands: by a reference to its place in the whole document, so that what it refers to itself
is found. A part that is just ``false`` is meant so, and is not reported; nor is a part inside of one that is.
"""

import json
import time
import warnings
from collections.abc import Iterator
from typing import Any, Final

from tokenstile.cli.sources import SchemaOptions
from tokenstile.exceptions import GrammarError, JSONSchemaError
from tokenstile.json_schema import check_schema

__all__ = ["subschema_pointers", "unsatisfiable_parts"]

_ADDRESS: Final = "urn:tokenstile:checked"
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties", "contains", "then", "else", "propertyNames")
_NO_VALUE: Final = "no value satisfies the schema"
_SECONDS: Final = 5.0
"""How long it goes on; parts that come later are not looked at."""


def unsatisfiable_parts(text: str, options: SchemaOptions) -> list[dict[str, str]]:
    """Give the pointers of the parts that no value satisfies, each with what contradicts what."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        # What is wrong with the whole has been said by then.
        return []
    until = time.monotonic() + _SECONDS
    found: list[dict[str, str]] = []
    for pointer in subschema_pointers(document):
        if time.monotonic() > until:
            break
        if any(pointer.startswith(part["pointer"] + "/") for part in found):
            continue
        message = _contradiction(document, pointer, options)
        if message is not None:
            found.append({"pointer": pointer, "message": message})
    return found


def _contradiction(document: Any, pointer: str, options: SchemaOptions) -> str | None:  # noqa: ANN401 - any JSON
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_schema(
                {"$ref": f"{_ADDRESS}#{_in_address(pointer)}"},
                **options.for_checking | {"registry": {**(options.documents or {}), _ADDRESS: document}},
            )
    except JSONSchemaError as error:
        if error.message.startswith(_NO_VALUE):
            why = error.message.removeprefix(_NO_VALUE).removeprefix(": ") or "nothing is left of it"
            return _place_within(pointer, error.pointer, why) + why
        return None
    except GrammarError:
        # What is refused is reported for the whole schema.
        return None
    return None


def _place_within(pointer: str, found: str | None, why: str) -> str:
    """Say where in a part it is, unless it is the part as a whole or a keyword of it."""
    where = (found or "").removeprefix(f"{_ADDRESS}#")
    above, _, keyword = where.rpartition("/")
    is_here = where == pointer or (above == pointer and f'"{keyword}"' in why)
    return "" if is_here else f"at {where}: "


def _in_address(pointer: str) -> str:
    return "".join(
        char if char.isascii() and (char.isalnum() or char in "/~_.$-") else _percent(char)
        for char in pointer
    )


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def subschema_pointers(document: object) -> Iterator[str]:
    """Give the pointers of all parts that are schemas with keywords, outer ones first; not the whole."""
    pending: list[tuple[str, object]] = [("", document)]
    while pending:
        pointer, schema = pending.pop(0)
        if not isinstance(schema, dict):
            continue
        if pointer:
            yield pointer
        pending += _children(pointer, schema)


def _children(pointer: str, schema: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for keyword in _MAPS:
        if isinstance(schema.get(keyword), dict):
            for name, value in schema[keyword].items():
                yield f"{pointer}/{keyword}/{name.replace('~', '~0').replace('/', '~1')}", value
    for keyword in (*_LISTS, "items"):
        if isinstance(schema.get(keyword), list):
            for at, value in enumerate(schema[keyword]):
                yield f"{pointer}/{keyword}/{at}", value
    for keyword in _SINGLE:
        yield f"{pointer}/{keyword}", schema.get(keyword)
