"""Calls of Python functions, with literals for arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokenstile._core import Grammar
from tokenstile.grammars._text import check_names, names_of, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

_VALUES = r"""
value   ::= number | string | "True" | "False" | "None" | list | tuple | dict
number  ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ("e" [+\-]? [0-9]{1,3})?
string  ::= "\"" ([^"\\\x00-\x1f\x7f] | escape)* "\"" | "'" ([^'\\\x00-\x1f\x7f] | escape)* "'"
escape  ::= "\\" (["'\\nrt] | "x" [0-9a-f]{2} | "u" [0-9a-f]{4})
list    ::= "[" (value (", " value)*)? "]"
tuple   ::= "(" (value "," | value (", " value)+)? ")"
dict    ::= "{" (pair (", " pair)*)? "}"
pair    ::= key ": " value
key     ::= number | string | "True" | "False" | "None"
"""


def python_call(functions: Sequence[str] | Mapping[str, Sequence[str] | None]) -> Grammar:
    """Return the grammar of calls such as ``move(3, speed='slow')``.

    ``functions`` are the names that may be called, or maps each name to the names of its parameters. Known parameters
    are passed by keyword, in their order, and any of them may be left out; where they are not known (``None``, or only
    names are given), the arguments are positional. Arguments are literals: numbers, strings, ``True``, ``False``,
    ``None``, lists, tuples and dicts of these.
    """
    names = names_of(functions, "function")
    check_names(names, "function")
    given = functions if isinstance(functions, Mapping) else dict.fromkeys(names)
    rules = ["root ::= " + " | ".join(f"call_{at}" for at in range(len(given)))]
    for at, (name, parameters) in enumerate(given.items()):
        if parameters is None:
            rules.append(f'call_{at} ::= {quote(name + "(")} (value (", " value)*)? ")"')
        else:
            listed = [] if parameters in ((), []) else names_of(parameters, "parameter")
            rules += _keyword_rules(f"call_{at}", name, listed)
    return Grammar.from_ebnf("\n".join(rules) + _VALUES)


def _keyword_rules(rule: str, name: str, parameters: Sequence[str]) -> list[str]:
    """Return the rules of a call in which each parameter comes once at most, in order."""
    if not parameters:
        return [f"{rule} ::= {quote(name + '()')}"]
    check_names(parameters, "parameter")
    rules = []
    for at, parameter in enumerate(parameters):
        following = f" ({rule}_after_{at + 1})?" if at + 1 < len(parameters) else ""
        rules.append(f"{rule}_from_{at} ::= {quote(parameter + '=')} value{following}")
    for at in range(1, len(parameters)):
        ways = " | ".join(f"{rule}_from_{later}" for later in range(at, len(parameters)))
        rules.append(f'{rule}_after_{at} ::= ", " ({ways})')
    first = " | ".join(f"{rule}_from_{at}" for at in range(len(parameters)))
    return [f'{rule} ::= {quote(name + "(")} ({first})? ")"', *rules]
