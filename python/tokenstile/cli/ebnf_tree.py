"""The text of a grammar as a tree, for drawings and for lists of its parts.

It reads what ``str(grammar)`` prints, one rule a line, and nothing else: the library has read the grammar before, so
this is no second opinion on what a grammar means. Macros keep their arguments as they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias

from tokenstile.exceptions import InvalidArgumentError

__all__ = [
    "Alternatives",
    "Argument",
    "Call",
    "Complement",
    "Conjunction",
    "Leaf",
    "Name",
    "Node",
    "Repeat",
    "Rule",
    "Sequence",
    "parse_rules",
    "walk",
]


@dataclass(frozen=True)
class Leaf:
    """A literal, a class or a token, as it is written."""

    text: str


@dataclass(frozen=True)
class Name:
    """A rule, by its name."""

    name: str


@dataclass(frozen=True)
class Sequence:
    """One after the other."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Alternatives:
    """Any one."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Conjunction:
    """All at once."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Complement:
    """Anything else."""

    item: "Node"


@dataclass(frozen=True)
class Repeat:
    """Several times."""

    item: "Node"
    low: int
    high: int | None


@dataclass(frozen=True)
class Call:
    """A macro, with its arguments by place and by name."""

    name: str
    source: str
    arguments: tuple["Argument", ...] = ()
    options: dict[str, "Argument"] = field(default_factory=dict, hash=False)


Node: TypeAlias = Leaf | Name | Sequence | Alternatives | Conjunction | Complement | Repeat | Call
Argument: TypeAlias = "Node | tuple[Argument, ...]"


@dataclass(frozen=True)
class Rule:
    """A rule: its name, its options as written, and its body."""

    name: str
    options: str
    body: Node


_RULE: Final = re.compile(r"^([^\W\d][\w.-]*)(\[[^\n]*?\])? ::= (.*)$", re.MULTILINE)
_PIECE: Final = re.compile(
    r"""\s*(?:
        (?P<leaf>"(?:\\.|[^"\\])*" | \[(?:\\.|[^\]\\])*\] | !?<\[[^\]]*\]> | !?<[^>\s]*>)
      | (?P<quantifier>[?*+] | \{\d+(?:,\s*\d*)?\})
      | (?P<name>[^\W\d][\w.-]*)
      | (?P<number>-?\d+(?:\.\d+)?)
      | (?P<mark>[()|&~,=.])
    )""",
    re.VERBOSE,
)
_OF_EXPRESSIONS: Final = frozenset({"JsonText", "AtMost"})
_WITH_PARTS: Final = _OF_EXPRESSIONS | {"Members"}
_QUANTIFIERS: Final[dict[str, tuple[int, int | None]]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


def parse_rules(text: str) -> list[Rule]:
    """Read the text that a grammar prints."""
    try:
        return [Rule(found[1], found[2] or "", _Reader(found[3]).body()) for found in _RULE.finditer(text)]
    except RecursionError:
        raise InvalidArgumentError("the grammar is nested too deep for this") from None


def walk(node: Argument) -> Iterator[Node]:
    """Give a node and everything inside of it; what is in the parentheses of most macros is data."""
    pending: list[Argument] = [node]
    while pending:
        found = pending.pop()
        match found:
            case tuple():
                pending += reversed(found)
                continue
            case Sequence(items) | Alternatives(items) | Conjunction(items):
                pending += reversed(items)
            case Complement(item) | Repeat(item):
                pending.append(item)
            case Call() if found.name in _WITH_PARTS:
                # The order of members is a word, not a part of the language.
                pending += [value for name, value in found.options.items() if name != "order"]
                pending += reversed(found.arguments)
        yield found


class _Reader:
    """Reads one body, by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._next()

    def _next(self) -> None:
        found = _PIECE.match(self._text, self._at)
        rest = self._text[self._at :]
        if found is None and rest.strip():
            raise InvalidArgumentError(f"this part of the grammar cannot be drawn: {rest[:40]}")
        self._kind = (found and found.lastgroup) or "end"
        self._piece = found[self._kind] if found else ""
        self._start = found.start(self._kind) if found else len(self._text)
        self._at = found.end() if found else len(self._text)

    def _take(self, mark: str) -> bool:
        if self._kind == "mark" and self._piece == mark:
            self._next()
            return True
        return False

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidArgumentError(
            f"this part of the grammar cannot be drawn: {self._text[self._start :][:40]}"
        )

    def body(self) -> Node:
        """Read to the end."""
        node = self._alternatives()
        if self._kind != "end":
            self._expect("the end")
        return node

    def _alternatives(self) -> Node:
        items = [self._conjunction()]
        while self._take("|"):
            items.append(self._conjunction())
        return items[0] if len(items) == 1 else Alternatives(tuple(items))

    def _conjunction(self) -> Node:
        items = [self._sequence()]
        while self._take("&"):
            items.append(self._sequence())
        return items[0] if len(items) == 1 else Conjunction(tuple(items))

    def _sequence(self) -> Node:
        items = []
        while self._kind in {"leaf", "name"} or (self._kind == "mark" and self._piece in "(~."):
            items.append(self._complement())
        if not items:
            self._refuse()
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _complement(self) -> Node:
        return Complement(self._complement()) if self._take("~") else self._quantified()

    def _quantified(self) -> Node:
        node = self._atom()
        while self._kind == "quantifier":
            node = Repeat(node, *_bounds(self._piece))
            self._next()
        return node

    def _atom(self) -> Node:
        if self._take("("):
            node = self._alternatives()
            self._expect(")")
            return node
        kind, piece, start = self._kind, self._piece, self._start
        self._next()
        if kind == "name" and self._text[self._start - 1 : self._start + 1] == f"{piece[-1]}(":
            return self._call(piece, start)
        return Name(piece) if kind == "name" else Leaf(piece)

    def _call(self, name: str, start: int) -> Node:
        self._expect("(")
        arguments: list[Argument] = []
        options: dict[str, Argument] = {}
        end = self._start
        while not self._is_closing():
            # A parenthesis holds a list, but in an expression it holds a part of that.
            if name in _OF_EXPRESSIONS and self._kind != "number":
                arguments.append(self._alternatives())
            else:
                self._argument(arguments, options)
            self._take(",")
        end = self._start + 1
        self._expect(")")
        return Call(name, self._text[start:end], tuple(arguments), options)

    def _is_closing(self) -> bool:
        if self._kind == "end":
            self._expect(")")
        return self._kind == "mark" and self._piece == ")"

    def _argument(self, arguments: list[Argument], options: dict[str, Argument]) -> None:
        if self._kind == "name" and self._text[self._at : self._at + 1] == "=":
            option = self._piece
            self._next()
            self._next()
            options[option] = self._value()
        else:
            arguments.append(self._value())

    def _value(self) -> Argument:
        if self._kind == "number":
            number = Leaf(self._piece)
            self._next()
            return number
        if self._kind == "mark" and self._piece == "(":
            return self._tuple()
        return self._alternatives()

    def _tuple(self) -> Argument:
        self._expect("(")
        items: list[Argument] = []
        while not self._is_closing():
            items.append(self._value())
            self._take(",")
        self._expect(")")
        return tuple(items)


def _bounds(quantifier: str) -> tuple[int, int | None]:
    if quantifier in _QUANTIFIERS:
        return _QUANTIFIERS[quantifier]
    low, comma, high = quantifier.strip("{}").partition(",")
    return int(low), (int(high) if high else None) if comma else int(low)
