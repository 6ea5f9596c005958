"""Bodies of requests, read and checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from tokenstile.server.errors import ApiError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["read_body"]

_Body = TypeVar("_Body", bound=BaseModel)


def read_body(kind: type[_Body], body: bytes) -> _Body:
    """Read a request; raises `ApiError` with the field that is wrong."""
    try:
        data = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is not JSON: {error}", code="invalid_json") from error
    if not isinstance(data, dict):
        raise ApiError(400, "the body must be a JSON object", code="invalid_json")
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise _explain(error.errors(include_url=False)) from error


def _explain(errors: list[ErrorDetails]) -> ApiError:
    """Say what is wrong with the field that came furthest: of several kinds that it may be, that one was meant."""
    error = max(errors, key=lambda each: len(each["loc"]))
    param = _path(error["loc"])
    code = "unknown_parameter" if error["type"] == "extra_forbidden" else "invalid_value"
    text = (
        "it is not known"
        if error["type"] == "extra_forbidden"
        else error["msg"].removeprefix("Value error, ")
    )
    return ApiError(400, f"Invalid {param or 'request'}: {text}", code=code, param=param or None)


def _path(parts: tuple[int | str, ...]) -> str:
    """Write a path as clients know it; the names of types that pydantic puts between are left out."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() and part not in {"str", "int", "bool"}:
            path += f".{part}" if path else part
    return path


def _refuse_constant(name: str) -> Any:  # noqa: ANN401 - it never returns
    raise ValueError(f"{name} is no number of JSON")
