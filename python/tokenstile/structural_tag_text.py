"""What may stand for a structural tag, as one JSON text.

Pydantic is not imported here, and need not be installed: the models of `tokenstile.structural_tag` are known by their
methods.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from tokenstile.exceptions import InvalidArgumentError, InvalidStructuralTagError
from tokenstile.json_schema import schema_text

__all__ = ["StructuralTagLike", "TagItemLike", "legacy_structural_tag", "structural_tag_text"]


class _Model(Protocol):
    """A model of Pydantic."""

    def model_dump_json(self) -> str:
        """Return its JSON text."""


StructuralTagLike: TypeAlias = str | Mapping[str, Any] | _Model
"""A JSON text, what ``json.loads`` makes of one, or a ``StructuralTag``."""

TagItemLike: TypeAlias = Mapping[str, Any] | _Model
"""A ``StructuralTagItem``, or a dict with its fields."""


def structural_tag_text(*args: object, **kwargs: object) -> str:
    r"""Return the JSON text of a structural tag, given as one argument or as ``tags`` and ``triggers``.

    >>> structural_tag_text({"format": {"type": "const_string", "value": "é"}})
    '{"format": {"type": "const_string", "value": "\\u00e9"}}'
    """
    names = (
        ("structural_tag",) if len(args) + len(kwargs) == 1 and "tags" not in kwargs else ("tags", "triggers")
    )
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or set(given) & set(kwargs) or set(given) | set(kwargs) != set(names):
        raise InvalidArgumentError(
            "a structural tag is given as one argument, structural_tag, or as two, tags and triggers; not as "
            f"{len(args)} arguments by place and {sorted(kwargs)} by name"
        )
    given |= kwargs
    if "structural_tag" in given:
        return _text_of(given["structural_tag"])
    return _dump(legacy_structural_tag(given["tags"], given["triggers"]))


def legacy_structural_tag(tags: object, triggers: object) -> dict[str, Any]:
    """Return the structural tag that the older form, a list of items and a list of triggers, stands for."""
    if isinstance(tags, str | bytes) or not isinstance(tags, Sequence):
        raise InvalidArgumentError(f"tags must be a list of StructuralTagItem, not {type(tags).__name__}")
    if isinstance(triggers, str | bytes) or not isinstance(triggers, Sequence):
        raise InvalidArgumentError(f"triggers must be a list of str, not {type(triggers).__name__}")
    return {
        "type": "structural_tag",
        "format": {
            "type": "triggered_tags",
            "triggers": list(triggers),
            "tags": [_tag_of(item) for item in tags],
        },
    }


def _tag_of(item: object) -> dict[str, Any]:
    if isinstance(item, Mapping):
        get = item.get
    else:
        get = {
            "begin": getattr(item, "begin", None),
            "schema": getattr(item, "schema_", None),
            "end": getattr(item, "end", None),
        }.get
    begin, schema, end = get("begin"), get("schema"), get("end")
    if not isinstance(begin, str) or not isinstance(end, str) or schema is None:
        raise InvalidArgumentError(
            f"a tag is a StructuralTagItem with begin, schema and end, not {type(item).__name__}"
        )
    try:
        read = json.loads(schema_text(schema))
    except ValueError as error:
        raise InvalidStructuralTagError(f"the schema of the tag {begin!r} is not JSON: {error}") from error
    content = {"type": "json_schema", "json_schema": read}
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _text_of(tag: object) -> str:
    if isinstance(tag, str):
        return tag
    if isinstance(tag, Mapping):
        return _dump(dict(tag))
    dump = getattr(tag, "model_dump_json", None)
    if callable(dump) and not isinstance(tag, type):
        text = _text_of_model(tag, dump)
        if isinstance(text, str):
            return text
    raise InvalidArgumentError(
        f"a structural tag is a StructuralTag, a dict or a JSON text, not {type(tag).__name__}"
    )


def _text_of_model(tag: Any, dump: Callable[[], object]) -> object:  # noqa: ANN401 - any model
    try:
        return dump()
    except ValueError as error:
        # Pydantic says what is wrong, and not where: what `json` makes of it says so, if it can be told at all.
        try:
            fields = tag.model_dump()
        except ValueError:
            raise _unwritable(error) from error
        return _dump(fields)


def _dump(tag: object) -> str:
    try:
        text = json.dumps(tag, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _unwritable(error) from error
    if "\\ud" in text and (path := _place_of_surrogate(tag)) is not None:
        message = "a lone surrogate: no text can hold it"
        raise InvalidStructuralTagError(f"at {path}: {message}", message=message, path=path)
    return text


def _unwritable(error: Exception) -> InvalidStructuralTagError:
    return InvalidStructuralTagError(f"the structural tag cannot be written as JSON: {error}")


def _place_of_surrogate(tag: object) -> str | None:
    """Return the path of the first string that holds half of a character."""
    # Not by recursion: what a caller passes may nest deeper than Python's stack is.
    waiting: list[tuple[str, object]] = [("", tag)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str) and _is_broken(value):
            return path or "$"
        if isinstance(value, Mapping):
            keys = [key for key in value if isinstance(key, str) and _is_broken(key)]
            if keys:
                return path or "$"
            inner = [(f"{path}.{key}".lstrip("."), item) for key, item in value.items()]
            waiting.extend(reversed(inner))
        elif isinstance(value, list | tuple):
            waiting.extend(reversed([(f"{path}[{at}]", item) for at, item in enumerate(value)]))
    return None


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
