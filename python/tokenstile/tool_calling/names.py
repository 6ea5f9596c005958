"""How the name of a tool is written, and which names cannot be.

Where a name stands in JSON or in XML it has escapes. Elsewhere it is written as it is, and then a reader finds its end
by what comes behind it; so a name that holds that is refused, and so is one that holds a mark: both would be read as
another call. The names of parameters are looked at where the arguments are, by the styles of ``json_schema``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokenstile.tool_calling.schema import FunctionToolParam

__all__ = ["as_it_is", "check_names", "in_attribute", "in_json", "in_xml", "refuse_name"]


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
    """Raise if the name of a tool holds what ends a name, so that nobody could tell where it does.

    What ends it stands behind ``$name`` in ``begin``, or is one of ``ends`` where nothing does. JSON has escapes. A
    mark in a name, such as ``<|call|>``, would be read as the token of that name.
    """
    if "$name" not in begin or escape is in_json:
        return
    stops = _stops(begin, ends)
    for at, tool in enumerate(tools):
        written = escape(tool.function.name)
        mark = _MARK.search(written)
        if mark is not None:
            refuse_name(family, tools, at, f"{mark.group()!r} in it would be taken for a mark")
        for stop in stops:
            if (written + stop).find(stop) != len(written):
                refuse_name(family, tools, at, f"{stop!r} in it would be taken for its end")


def _stops(begin: str, ends: Iterable[str]) -> tuple[str, ...]:
    after = begin.partition("$name")[2].partition("$")[0]
    after = after.rstrip() or after
    if after.startswith('"'):
        return ('"',)
    return (after,) if after else tuple(ends)


def refuse_name(family: str, tools: list[FunctionToolParam], at: int, reason: str) -> None:
    """Raise, since a family cannot write the name of the tool at a place."""
    name = tools[at].function.name
    raise InvalidArgumentError(
        f"tools[{at}].function.name: the family {family!r} cannot write the name {name!r}, since {reason}"
    )
