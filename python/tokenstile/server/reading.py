"""Bodies of requests, read and checked.

This runs on threads, while the event loop serves others, and threads of Python share one lock. So a body is weighed
before it is read: how many values it has is counted without making any of them. It is read by pydantic's own parser,
which is quick, has a depth, and knows no half surrogate pairs. Checking stops at the first entry of a list that is
wrong.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from tokenstile.server.errors import ApiError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["DEFAULT_MAX_VALUES", "explain_invalid", "read_body"]

DEFAULT_MAX_VALUES: Final = 200_000
_Body = TypeVar("_Body", bound=BaseModel)
_PLACE: Final = re.compile(r" at line (\d+) column (\d+)$")
_MAY_OVERFLOW: Final = re.compile(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{309}")
"""What a number has that no double can hold: three digits of an exponent, or very many digits."""
_LONGEST_PATH: Final = 200


def read_body(kind: type[_Body], body: bytes, max_values: int = DEFAULT_MAX_VALUES) -> _Body:
    """Read a request; raises `ApiError` with the field that is wrong."""
    outside = _outside_texts(body, max_values)
    try:
        data = from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        raise _not_json(str(error)) from error
    if not isinstance(data, dict):
        raise ApiError(400, "the body must be a JSON object", code="invalid_json")
    if _MAY_OVERFLOW.search(outside):
        _check_numbers(data)
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise explain_invalid(error) from error


def explain_invalid(error: ValidationError) -> ApiError:
    """Say which field of a request is wrong, and why."""
    return _explain(error.errors(include_url=False, include_input=False, include_context=False))


def _outside_texts(body: bytes, max_values: int) -> bytes:
    """Give what is outside of texts; refuses a body with too many values or keys, before any of them is made."""
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")
    count, outside = plain.count(b'"') // 2, b""
    if count <= max_values:
        outside = b"".join(plain.split(b'"')[::2])
        count = 1 + sum(outside.count(mark) for mark in (b",", b"[", b"{"))
    if count > max_values:
        text = f"the body has about {count} values, and may have {max_values}"
        raise ApiError(400, text, code="limit_exceeded")
    return outside


def _not_json(reason: str) -> ApiError:
    """Say what is wrong with a text that is not JSON, and where."""
    place = _PLACE.search(reason)
    details = {} if place is None else {"line": int(place[1]), "column": int(place[2])}
    if reason.startswith("recursion limit"):
        reason = reason.replace("recursion limit exceeded", "it is nested too deeply")
    return ApiError(400, f"the body is not JSON: {reason}", code="invalid_json", details=details)


def _check_numbers(data: dict[str, Any]) -> None:
    """Refuse numbers that no double can hold: they were read as infinity, which is no number of JSON."""
    agenda: list[tuple[tuple[int | str, ...], Any]] = [((), data)]
    while agenda:
        path, value = agenda.pop()
        if isinstance(value, dict):
            agenda += [((*path, key), each) for key, each in value.items()]
        elif isinstance(value, list):
            agenda += [((*path, at), each) for at, each in enumerate(value)]
        elif isinstance(value, float) and math.isinf(value):
            param = _path(path, every_key=True)
            text = f"Invalid {param}: the number is larger than any double"
            raise ApiError(400, text, code="invalid_value", param=param)


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


def _path(parts: tuple[int | str, ...], *, every_key: bool = False) -> str:
    """Write a path as clients know it; the names of types that pydantic puts between are left out."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif every_key or (part.isidentifier() and part not in {"str", "int", "bool"}):
            path += f".{part}" if path else part
        if len(path) > _LONGEST_PATH:
            return path[:_LONGEST_PATH] + "..."
    return path
