"""Arithmetic: numbers, variables and functions under ``+ - * / **`` and parentheses, as Python reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile._core import Grammar
from tokenstile.grammars._text import check_names, names_of, one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_RULES = r"""
root    ::= sum
sum     ::= product (" "? [+\-] " "? product)*
product ::= power (" "? ("*" | "/") " "? power)*
power   ::= "-"? atom ("**" power)?
number  ::= ("0" | [1-9] [0-9]*) ("." [0-9]+)?
"""


def arithmetic(*, variables: Sequence[str] = (), functions: Sequence[str] = ()) -> Grammar:
    """Return the grammar of arithmetic expressions.

    ``variables`` are the names that may stand for numbers, and ``functions`` those that may be called, with one
    argument or more. Blanks may stand around the operators that have two sides.
    """
    atoms = ["number", '"(" sum ")"']
    rules = _RULES
    if variables not in ((), []):
        names = names_of(variables, "variable")
        check_names(names, "variable")
        atoms.append(one_of(names))
    if functions not in ((), []):
        names = names_of(functions, "function")
        check_names(names, "function")
        atoms.append(f'{one_of(names)} "(" sum ("," " "? sum)* ")"')
    return Grammar.from_ebnf(f"{rules}atom ::= {' | '.join(atoms)}\n")
