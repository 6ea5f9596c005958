"""Lark as vLLM takes it where a request gives a ``grammar``: texts in single quotes too, and any rule to start from.

vLLM turns such a text into EBNF line by line. Here it becomes the Lark that means the same, so that what is wrong with
it is said at its line.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["as_lark", "looks_like_lark"]

_TEXT_OR_COMMENT: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|(?:#|//)[^\n]*')

_OPAQUE: Final = re.compile(
    r"""
      (?P<comment> (?: \# | // ) [^\n]* )
    | (?P<text> " (?: \\. | [^"\\\n] )* " )
    | (?P<single> ' (?: \\. | [^'\\\n] )* ' )
    | (?P<regex> / (?! [/*] ) (?: \\. | [^/\\\n] )+ / )
    """,
    re.VERBOSE,
)
_RULE: Final = re.compile(
    r"^[ \t]*[?!]*(?P<name>[A-Za-z_][A-Za-z0-9_]*)[^\S\n]*(?:\[[^\]\n]*\]|\.[0-9]+)*[^\S\n]*:", re.MULTILINE
)
_QUOTE_IN_SINGLE: Final = re.compile(r"""\\(.)|(")""", re.DOTALL)


def looks_like_lark(text: str) -> bool:
    """Tell whether a grammar's text is Lark and not EBNF: it has no ``::=``, but in texts and comments.

    >>> looks_like_lark('start: "::=" // not ::='), looks_like_lark('root ::= "a"')
    (True, False)
    """
    return "::=" not in text or "::=" not in _TEXT_OR_COMMENT.sub(" ", text)


def as_lark(text: str) -> str:
    r"""Return the same grammar with texts in double quotes, and with a rule ``start``: the first one where it has none.

    >>> as_lark("?sum: 'a' | 'it\\'s'")
    '?sum: "a" | "it\'s"\nstart: sum\n'
    """
    quoted = _OPAQUE.sub(lambda found: _quoted(found["single"]) if found["single"] else found[0], text)
    # Nothing in texts, patterns and comments is a rule.
    bare = _OPAQUE.sub(lambda found: " " * len(found[0]), quoted)
    names = [found["name"] for found in _RULE.finditer(bare)]
    if not names or "start" in names:
        return quoted
    return f"{quoted.rstrip()}\nstart: {names[0]}\n"


def _quoted(single: str) -> str:
    def escaped(found: re.Match[str]) -> str:
        if found[2]:
            return '\\"'
        return "'" if found[1] == "'" else found[0]

    return f'"{_QUOTE_IN_SINGLE.sub(escaped, single[1:-1])}"'
