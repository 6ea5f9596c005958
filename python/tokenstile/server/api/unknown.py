"""Fields of a request that the server does not know.

Clients send fields of other servers, and a request should not fail for them: each is named in the answer's
``warnings``. But nobody may believe that an answer was held to something when it was not. So a field that names a
constraint, or looks like one with a typing error, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tokenstile.server.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["note_unknown", "resembles"]

_CONSTRAINTS: Final = (
    "choice",
    "constraint",
    "ebnf",
    "format",
    "functions",
    "grammar",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_json_object",
    "guided_regex",
    "guided_whitespace_pattern",
    "json_object",
    "json_schema",
    "lark",
    "output_config",
    "output_format",
    "regex",
    "response_format",
    "response_model",
    "response_schema",
    "schema",
    "structural_tag",
    "structured_outputs",
    "tool_choice",
    "tools",
)
_MOST_ERRORS: Final = 2
_SHORTEST_WITH_TWO: Final = 6
_MOST_SHOWN: Final = 64


def note_unknown(names: Iterable[str], known: Iterable[str], *, strict: bool) -> list[str]:
    """Give a warning for each field that is not known; raises `ApiError` for those that nobody may overlook."""
    warnings = []
    constraints = [*_CONSTRAINTS, *(name for name in known if name in _CONSTRAINTS)]
    for name in names:
        shown = name[:_MOST_SHOWN]
        meant = next((one for one in constraints if resembles(name, one)), None)
        if meant is not None:
            hint = f"did you mean {meant!r}?" if meant in known else "this server takes no constraint there"
            raise ApiError(
                400, f"Invalid {shown}: it is not known; {hint}", code="unknown_parameter", param=shown
            )
        if strict:
            raise ApiError(400, f"Invalid {shown}: it is not known", code="unknown_parameter", param=shown)
        warnings.append(f"{shown} is not known, and was ignored")
    return warnings


def resembles(name: str, other: str) -> bool:
    """Tell whether a name is another one, but for two typing errors; in a short one for one."""
    name, other = name.lower().replace("-", "_"), other.lower()
    most = _MOST_ERRORS if len(other) >= _SHORTEST_WITH_TWO else 1
    if abs(len(name) - len(other)) > most:
        return False
    before: list[int] = []
    last = list(range(len(other) + 1))
    for at, character in enumerate(name, 1):
        row = [at]
        for to, wanted in enumerate(other, 1):
            least = min(last[to] + 1, row[to - 1] + 1, last[to - 1] + (character != wanted))
            if at > 1 and to > 1 and character == other[to - 2] and name[at - 2] == wanted:
                least = min(least, before[to - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1] <= most
