"""What a request asks for, as a kind of grammar and its text.

Two requests with equal keys, for one tokenizer, can share a compiled grammar; so the key is what compilations are
shared by. It is a plain tuple, as in vLLM.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from tokenstile.exceptions import InvalidArgumentError

__all__ = [
    "GrammarSpec",
    "GrammarType",
    "StructuredOutputKey",
    "StructuredOutputOptions",
    "find_grammar_type",
    "find_spec",
]


class GrammarType(Enum):
    """The kinds of grammars that a request can bring."""

    JSON = "json"
    """A JSON Schema; its text is the schema as JSON."""
    JSON_OBJECT = "json_object"
    """Any JSON object; its text is empty."""
    REGEX = "regex"
    """A regular expression."""
    CHOICE = "choice"
    """One of several texts; its text is a JSON array of them."""
    GRAMMAR = "grammar"
    """An EBNF text, or a Lark text if no line of it has ``::=``."""
    STRUCTURAL_TAG = "structural_tag"
    """A structural tag as JSON."""
    LARK = "lark"
    """A Lark text."""
    ALL_OF = "all_of"
    """What several structures have in common; its text is a JSON array of them."""
    ANY_OF = "any_of"
    """Any one of several structures, in the same way."""
    THEN = "then"
    """Several structures, one after the other, in the same way."""

    JSON_SCHEMA = "json"  # noqa: PIE796 - another name of it
    EBNF = "grammar"  # noqa: PIE796 - another name of it


GrammarSpec: TypeAlias = str | Mapping[str, Any] | Sequence[str] | bool | None
"""The text of a constraint, or the object that it stands for: a schema, choices, a structural tag."""

StructuredOutputOptions = GrammarType
"""vLLM's name of `GrammarType`."""


class StructuredOutputKey(NamedTuple):
    """A kind of grammar and its text."""

    grammar_type: GrammarType
    grammar_spec: str


def find_grammar_type(kind: object) -> GrammarType:
    """Return a kind of grammar that is given as itself or by its name, in any case.

    >>> find_grammar_type("json"), find_grammar_type("EBNF")
    (<GrammarType.JSON: 'json'>, <GrammarType.GRAMMAR: 'grammar'>)
    """
    if isinstance(kind, GrammarType):
        return kind
    # Other libraries have enumerations of the same names.
    name = kind.name if isinstance(kind, Enum) else kind
    known = {**{one.value: one for one in GrammarType}, **_members_by_name()}
    if not isinstance(name, str):
        raise InvalidArgumentError(
            f"grammar_type must be a GrammarType or the name of one, not {type(kind).__name__}"
        )
    if name.lower() not in known:
        names = ", ".join(sorted(known))
        raise InvalidArgumentError(f"grammar_type must be one of {names}, not {name!r}")
    return known[name.lower()]


def _members_by_name() -> dict[str, GrammarType]:
    return {name.lower(): member for name, member in GrammarType.__members__.items()}


def find_spec(grammar_type: GrammarType, spec: GrammarSpec) -> str:
    """Return the text of a specification: a text, or the object that the text of some kinds stands for.

    >>> find_spec(GrammarType.JSON, {"type": "null"}), find_spec(GrammarType.JSON_OBJECT, None)
    ('{"type": "null"}', '')
    """
    if isinstance(spec, str):
        return spec
    if grammar_type is GrammarType.JSON_OBJECT and (spec is None or spec is True):
        return ""
    allowed = _OBJECTS.get(grammar_type, ())
    if not isinstance(spec, allowed):
        names = " or ".join(one.__name__ for one in (str, *allowed))
        raise InvalidArgumentError(
            f"grammar_spec must be {names} for {grammar_type.value}, not {type(spec).__name__}"
        )
    try:
        return json.dumps(dict(spec) if isinstance(spec, Mapping) else spec, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"grammar_spec is not JSON: {error}") from None


_OBJECTS: dict[GrammarType, tuple[type, ...]] = {
    GrammarType.JSON: (Mapping, bool),
    GrammarType.CHOICE: (list, tuple),
    GrammarType.STRUCTURAL_TAG: (Mapping,),
    **dict.fromkeys((GrammarType.ALL_OF, GrammarType.ANY_OF, GrammarType.THEN), (list, tuple)),
}
