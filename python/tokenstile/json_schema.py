"""What may stand for a JSON Schema, and `check_schema`.

Pydantic is not imported here, and need not be installed: its classes are known by their methods.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from tokenstile._core import check_schema
from tokenstile.exceptions import InvalidArgumentError, JSONSchemaError

__all__ = ["Model", "ModelV1", "Schema", "Spelling", "TypeAdapter", "check_schema", "schema_text"]


class Model(Protocol):
    """A model class of Pydantic 2."""

    def model_json_schema(self) -> dict[str, Any]:
        """Return its schema."""


class ModelV1(Protocol):
    """A model class of Pydantic 1."""

    def schema_json(self) -> str:
        """Return its schema as a JSON text."""


class TypeAdapter(Protocol):
    """A ``TypeAdapter`` of Pydantic 2, for types that are no models."""

    def json_schema(self) -> dict[str, Any]:
        """Return the schema of the type."""


Spelling: TypeAlias = Literal["canonical", "any"]
"""Which of the texts of a JSON value are written: those that programs write, or all that JSON has."""

Schema: TypeAlias = str | bool | Mapping[str, Any] | Model | ModelV1 | TypeAdapter
"""What may stand for a schema: a JSON text, what ``json.loads`` makes of one, or something of Pydantic's."""


def schema_text(schema: object) -> str:
    """Return the JSON text of whatever stands for a schema.

    >>> schema_text({"type": "string"})
    '{"type": "string"}'
    """
    if isinstance(schema, str):
        return schema
    if isinstance(schema, bool | dict):
        return _dump(schema)
    names = ("model_json_schema", "schema_json") if isinstance(schema, type) else ("json_schema",)
    for name in names:
        method = getattr(schema, name, None)
        if callable(method):
            found = method()
            return found if isinstance(found, str) else _dump(found)
    if isinstance(schema, Mapping):
        return _dump(dict(schema))
    raise InvalidArgumentError(
        "The schema should be a string or a Pydantic model, a dict, a bool or a TypeAdapter, "
        f"not {_describe(schema)}"
    )


def _dump(schema: object) -> str:
    try:
        return json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise JSONSchemaError(f"the schema cannot be written as JSON: {error}") from error


def _describe(schema: object) -> str:
    return f"the class {schema.__name__}" if isinstance(schema, type) else type(schema).__name__
