"""E-mail addresses, in the form that everybody has: a dotted name and a host name of two labels or more."""

from __future__ import annotations

from tokenstile._core import Grammar

_RULES = r"""
root   ::= AtMost(local, 64) "@" AtMost(domain, 253)
local  ::= atom ("." atom)*
atom   ::= [a-zA-Z0-9!#$%&'*+/=?\^_`{|}~\-]+
domain ::= (label ".")+ top
label  ::= edge (inner{0,61} edge)?
inner  ::= [a-zA-Z0-9\-]
edge   ::= [a-zA-Z0-9]
top    ::= [a-zA-Z]{2,63}
"""


def email() -> Grammar:
    """Return the grammar of addresses such as ``ann.lee+news@mail.example.org``.

    Quoted names, comments and numeric hosts, which the standards allow too, are left out.
    """
    return Grammar.from_ebnf(_RULES)
