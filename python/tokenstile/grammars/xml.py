"""XML of a given shape: an element with its attributes, and what stands inside of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenstile._core import Grammar
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.grammars._text import check_unique, counts, names_of, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

_TEXT = r"""
text      ::= (character | entity)*
character ::= [^<>&\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]
entity    ::= "&" ("lt" | "gt" | "amp" | "quot" | "apos") ";"
value     ::= ([^<>&"\x00-\x1f\ufffe\uffff] | entity)*
blank     ::= [ \n\t]*
"""


_MOST_ELEMENTS = 100_000


@dataclass(frozen=True)
class Element:
    """An element: its name, the attributes that it has, and what is inside, elements or text.

    ``attributes`` are written in this order, all of them. ``children`` come in this order too, each ``min_count`` to
    ``max_count`` times, with white space between them; an element without children holds text, or nothing if ``text``
    is false.
    """

    name: str
    attributes: Sequence[str] = ()
    children: Sequence[Element] = ()
    text: bool = True
    min_count: int = 1
    max_count: int | None = 1


def xml(root: Element, *, declaration: bool = False) -> Grammar:
    """Return the grammar of XML texts whose root is this element.

    With ``declaration`` the text begins with ``<?xml version="1.0" encoding="UTF-8"?>`` on a line of its own.
    """
    rules: list[str] = []
    pending = [(root, "element_0")]
    made = 1
    while pending:
        element, rule = pending.pop()
        _check_element(element)
        if made > _MOST_ELEMENTS:
            raise InvalidArgumentError(f"there are more than {_MOST_ELEMENTS} elements")
        parts = []
        for child in element.children:
            name = f"element_{made}"
            made += 1
            pending.append((child, name))
            parts.append(f"(blank {name}){counts(child.min_count, child.max_count)}")
        rules.append(f"{rule} ::= {_body(element, parts)}")
    prolog = quote('<?xml version="1.0" encoding="UTF-8"?>\n') + " " if declaration else ""
    return Grammar.from_ebnf("\n".join([f"root ::= {prolog}element_0", *rules]) + _TEXT)


def _body(element: Element, children: list[str]) -> str:
    _check_name(element.name)
    check_unique(element.attributes, "attribute")
    start = quote("<" + element.name)
    for attribute in element.attributes:
        _check_name(attribute)
        start += " " + quote(f' {attribute}="') + ' value "\\""'
    if children:
        inside = " ".join(children) + " blank"
    elif element.text:
        inside = "text"
    else:
        return f'{start} "/>"'
    return f'{start} ">" {inside} {quote("</" + element.name + ">")}'


def _check_element(element: object) -> None:
    """Raise unless all fields of an element are what they should be."""
    if not isinstance(element, Element):
        raise InvalidArgumentError(f"an element of XML must be an Element, not {type(element).__name__}")
    if not isinstance(element.name, str):
        raise InvalidArgumentError(f"the name of an element must be a str, not {type(element.name).__name__}")
    if element.attributes not in ((), []):
        names_of(element.attributes, "attribute")
    are_listed = isinstance(element.children, list | tuple)
    if not are_listed or not all(isinstance(child, Element) for child in element.children):
        raise InvalidArgumentError(
            f"the children of {element.name!r} must be a list of Element, not {type(element.children).__name__}"
        )


def _check_name(name: str) -> None:
    """Raise unless a name is one of XML, in ASCII, without a colon."""
    rest = name.replace("-", "").replace(".", "")
    well_formed = (
        name.isascii() and rest.replace("_", "a").isalnum() and (name[0].isalpha() or name[0] == "_")
    )
    if not well_formed or name[:3].lower() == "xml":
        raise InvalidArgumentError(f"{name!r} cannot be a name in this XML")
