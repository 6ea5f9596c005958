"""JSON texts of any value, as RFC 8259 has them."""

from __future__ import annotations

from tokenstile._core import Grammar
from tokenstile.exceptions import InvalidArgumentError

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


def json(root: str = "value") -> Grammar:
    """Return the grammar of JSON texts, with white space between the tokens and none around the text.

    ``root`` is what the text is: any ``"value"``, an ``"object"``, an ``"array"``, or a ``"container"``, which is
    either. For the values of a schema see `tokenstile.Grammar.from_json_schema`.
    """
    if not isinstance(root, str) or root not in _ROOTS:
        raise InvalidArgumentError(f"the root is one of {', '.join(_ROOTS)}, not {root!r}")
    return Grammar.from_ebnf(f"root ::= {_ROOTS[root]}{RULES}blank ::= [ \\n\\r\\t]*\n")
