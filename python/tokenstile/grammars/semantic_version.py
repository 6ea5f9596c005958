"""Semantic versions, as semver.org has them in its version 2.0.0."""

from __future__ import annotations

from tokenstile._core import Grammar

_RULES = r"""
root    ::= number "." number "." number ("-" before)? ("+" build)?
number  ::= "0" | [1-9] [0-9]*
before  ::= part ("." part)*
part    ::= number | [0-9]* [a-zA-Z\-] [0-9a-zA-Z\-]*
build   ::= [0-9a-zA-Z\-]+ ("." [0-9a-zA-Z\-]+)*
"""


def semantic_version() -> Grammar:
    """Return the grammar of versions such as ``1.4.0-rc.1+build.5``: numbers have no leading noughts."""
    return Grammar.from_ebnf(_RULES)
