"""JSON texts of any value, as programs write them or as RFC 8259 has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile._core import Grammar
from tokenstile.config import get_default_spelling
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from tokenstile.json_schema import Spelling

RULES = r"""
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" blank ("}" | member (blank "," blank member)* blank "}")
member ::= string blank ":" blank value
array  ::= "[" blank ("]" | value (blank "," blank value)* blank "]")
string ::= "\"" character* "\""
character ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9A-Fa-f]{4})
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+\-]? [0-9]+)?
"""

_ROOTS = {"value": "value", "container": "object | array", "object": "object", "array": "array"}
_TYPES: dict[str, bool | dict[str, Any]] = {
    "value": True,
    "container": {"type": ["object", "array"]},
    "object": {"type": "object"},
    "array": {"type": "array"},
}


def json(root: str = "value", *, spelling: Spelling | None = None) -> Grammar:
    """Return the grammar of JSON texts, with white space between the tokens and none around the text.

    ``root`` is what the text is: any ``"value"``, an ``"object"``, an ``"array"``, or a ``"container"``, which is
    either. ``spelling`` is as in `tokenstile.Grammar.from_json_schema`, which is also for the values of a schema. In
    the canonical spelling no key comes twice in an object.
    """
    if not isinstance(root, str) or root not in _ROOTS:
        raise InvalidArgumentError(f"the root is one of {', '.join(_ROOTS)}, not {root!r}")
    if (spelling or get_default_spelling()) == "any":
        return Grammar.from_ebnf(f"root ::= {_ROOTS[root]}{RULES}blank ::= [ \\n\\r\\t]*\n")
    return Grammar.from_json_schema(_TYPES[root], strict_mode=False, spelling=spelling)
