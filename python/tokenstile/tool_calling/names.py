"""How the name of a tool is written, and which names cannot be.

Where a name stands in JSON or in XML it has escapes. Elsewhere it is written as it is, and then a reader finds its end
by what comes behind it; so a name that holds that is refused, and so is one that holds a mark: both would be read as
another call. Readers look for such a name within a line and strip it, so line breaks, and white space around it, are
refused too. An empty name calls nothing, and is refused by every family. The names of parameters are looked at where
the arguments are, by the styles of ``json_schema``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NoReturn

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.tool_calling.choice import placed
from tokenstile.tool_calling.schema import BuiltinToolParam, FunctionToolParam

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "as_it_is",
    "check_names",
    "in_attribute",
    "in_json",
    "in_xml",
    "name_of",
    "refuse_name",
    "unwritable",
]


def as_it_is(name: str) -> str:
    """Return a name as it is."""
    return name


def in_json(name: str) -> str:
    """Return a name as it stands in a JSON string."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def in_attribute(name: str) -> str:
    """Return a name as it stands in an attribute, quoted."""
    return name.replace("&", "&amp;").replace('"', "&quot;")


def in_xml(name: str) -> str:
    """Return a name as it stands in XML."""
    return in_attribute(name).replace("<", "&lt;").replace(">", "&gt;")


# How families write the tokens that structure their texts.
_MARK = re.compile(r"<[|\uff5c]|[|\uff5c]>|\[[A-Z_]{3,}\]")


def check_names(
    family: str,
    tools: list[FunctionToolParam],
    begin: str,
    escape: Callable[[str], str] = as_it_is,
    ends: Iterable[str] = (),
) -> None:
    """Raise if the name of a tool is empty, or cannot be told from what stands around it.

    What ends a name stands behind ``$name`` in ``begin``, or is one of ``ends`` where nothing does. JSON has escapes. A
    mark in a name, such as ``<|call|>``, would be read as the token of that name.
    """
    if "$name" not in begin:
        return
    stops = _stops(begin, ends)
    for place, tool in placed("tools", tools):
        name = tool.function.name
        reason = (
            unwritable(name)
            if escape is in_json
            else unwritable(name) or _refusal_as_it_is(escape(name), stops)
        )
        if reason is not None:
            refuse_name(family, place, tool, reason)


def unwritable(name: str) -> str | None:
    """Return why no family can write a name, if none can."""
    if not name:
        return "it is empty"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "it holds a lone surrogate, which no text can hold"
    return None


def _refusal_as_it_is(written: str, stops: tuple[str, ...]) -> str | None:
    """Return why a name cannot be written without the quotes and escapes of JSON, if it cannot."""
    if len(written.splitlines()) != 1 or written != written.strip():
        return "readers look for it within a line and strip it: it may hold no line break, nor begin or end with space"
    mark = _MARK.search(written)
    if mark is not None:
        return f"{mark.group()!r} in it would be taken for a mark"
    for stop in stops:
        if (written + stop).find(stop) != len(written):
            return f"{stop!r} in it would be taken for its end"
    return None


def _stops(begin: str, ends: Iterable[str]) -> tuple[str, ...]:
    after = begin.partition("$name")[2].partition("$")[0]
    after = after.rstrip() or after
    if after.startswith('"'):
        return ('"',)
    return (after,) if after else tuple(ends)


def name_of(tool: FunctionToolParam | BuiltinToolParam) -> tuple[str, str]:
    """Return the field of a tool that has its name, and the name."""
    if isinstance(tool, FunctionToolParam):
        return "function.name", tool.function.name
    return ("name", tool.name) if tool.name else ("type", tool.type)


def refuse_name(family: str, place: str, tool: FunctionToolParam | BuiltinToolParam, reason: str) -> NoReturn:
    """Raise, since a family cannot write the name of the tool that stands at a place."""
    field, name = name_of(tool)
    raise InvalidArgumentError(
        f"{place}.{field}: the family {family!r} cannot write the name {name!r}, since {reason}"
    )
