"""Calls, read back from what a model wrote.

A family of models writes a call between two texts, with the arguments as JSON in between. Both texts are taken from the
structural tag that the output is held to, so that what is enforced and what is read cannot differ. Families that write
arguments in another way than JSON cannot be read, and are refused by name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structural_tag import JSONSchemaFormat, TagFormat
from tokenstile.tool_calling import get_model_structural_tag

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CallBegin",
    "CallPiece",
    "Marks",
    "Piece",
    "TextPiece",
    "ToolReader",
    "call_marks",
    "canonical_arguments",
    "definition",
    "without_repeats",
]

_ANY_ARGUMENTS: Final = {"type": "object", "additionalProperties": True}


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text that is no call."""

    text: str


@dataclass(frozen=True, slots=True)
class CallBegin:
    """A call begins."""

    name: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """The next piece of the arguments of the call that began last."""

    arguments: str


Piece = TextPiece | CallBegin | CallPiece


@dataclass(frozen=True, slots=True)
class Marks:
    """What stands around the arguments of a call."""

    name: str
    begin: str
    end: str


@lru_cache(maxsize=4096)
def call_marks(family: str, name: str) -> Marks:
    """Find what stands around the arguments of a call, in the structural tag of that call."""
    choice = {"type": "function", "function": {"name": name}}
    try:
        tag = get_model_structural_tag(family, [definition(name, None)], choice, reasoning=False)
    except ValueError as error:
        raise InvalidArgumentError(f"there are no calls of the family {family!r}: {error}") from error
    calls = [
        found
        for found in _tags(tag.format)
        if isinstance(found.content, JSONSchemaFormat) and found.content.style == "json"
    ]
    if len(calls) != 1 or not isinstance(calls[0].begin, str) or not isinstance(calls[0].end, str):
        raise InvalidArgumentError(
            f"calls of the family {family!r} are not JSON between two texts, and cannot be read"
        )
    return Marks(name, calls[0].begin, calls[0].end)


def definition(name: str, parameters: dict[str, Any] | None) -> dict[str, Any]:
    """Give a function as OpenAI's API has it; without parameters it takes any arguments."""
    return {"type": "function", "function": {"name": name, "parameters": parameters or _ANY_ARGUMENTS}}


def _tags(format_: Any) -> Iterator[TagFormat]:  # noqa: ANN401 - any of the formats
    """Find the tags in a format, at any depth."""
    if isinstance(format_, TagFormat):
        yield format_
    for name in ("content", "elements", "tags"):
        inner = getattr(format_, name, None)
        for part in inner if isinstance(inner, list) else [inner]:
            if part is not None and not isinstance(part, str | dict | bool):
                yield from _tags(part)


class ToolReader:
    """Reads one output piece by piece, and tells calls from text.

    Text that may be the beginning of a call is held back until that is certain.
    """

    def __init__(self, marks: list[Marks]) -> None:
        self._marks = marks
        self._held = ""
        self._call: Marks | None = None
        self._depth = _Nesting()

    def push(self, text: str, *, final: bool = False) -> Iterator[Piece]:
        """Take text, and give what has become certain. With ``final`` nothing is held back."""
        self._held += text
        while self._held:
            before = len(self._held), self._call
            yield from self._push_arguments(final) if self._call else self._push_text(final)
            if (len(self._held), self._call) == before:
                return

    def _push_text(self, final: bool) -> Iterator[Piece]:
        found = [(at, mark) for mark in self._marks if (at := self._held.find(mark.begin)) >= 0]
        if found:
            # The longest of those that begin first: one name may be the beginning of another.
            at, mark = min(found, key=lambda each: (each[0], -len(each[1].begin)))
            if at:
                yield TextPiece(self._held[:at])
            self._held, self._call, self._depth = self._held[at + len(mark.begin) :], mark, _Nesting()
            yield CallBegin(mark.name)
            return
        keep = 0 if final else self._uncertain()
        if len(self._held) > keep:
            yield TextPiece(self._held[: len(self._held) - keep])
            self._held = self._held[len(self._held) - keep :]

    def _uncertain(self) -> int:
        """Count the last characters with which a call may begin."""
        longest = max((len(mark.begin) for mark in self._marks), default=1) - 1
        for size in range(min(longest, len(self._held)), 0, -1):
            if any(mark.begin.startswith(self._held[-size:]) for mark in self._marks):
                return size
        return 0

    def _push_arguments(self, final: bool) -> Iterator[Piece]:
        assert self._call is not None  # noqa: S101 - the caller looked
        end = self._call.end
        for at, character in enumerate(self._held):
            if self._depth.is_outside:
                rest = self._held[at:]
                if rest.startswith(end) or (final and end.startswith(rest)):
                    if at:
                        yield CallPiece(self._held[:at])
                    self._held, self._call = self._held[at + len(end) :], None
                    return
                if end.startswith(rest) and not final:
                    if at:
                        yield CallPiece(self._held[:at])
                    self._held = rest
                    return
            self._depth.step(character)
        yield CallPiece(self._held)
        self._held = ""


class _Nesting:
    """Where in a JSON text one is: inside of brackets or of a string, or not."""

    def __init__(self) -> None:
        self._brackets = 0
        self._in_string = False
        self._escaped = False

    @property
    def is_outside(self) -> bool:
        return not self._brackets and not self._in_string

    def step(self, character: str) -> None:
        if self._in_string:
            self._in_string = self._escaped or character != '"'
            self._escaped = character == "\\" and not self._escaped
        elif character == '"':
            self._in_string = True
        elif character in "{[":
            self._brackets += 1
        elif character in "}]":
            self._brackets -= 1


def without_repeats(text: str, marks: list[Marks]) -> str:
    """Leave out the calls that are equal to one before, which models write that do not know how to end."""
    by_name = {mark.name: mark for mark in marks}
    kept: list[str] = []
    seen: set[tuple[str, str]] = set()
    has_repeats = False
    for name, part in _segments(text, marks):
        if name is None:
            kept.append(part)
        elif (call := (name, canonical_arguments(part))) in seen:
            has_repeats = True
        else:
            seen.add(call)
            kept.append(by_name[name].begin + part + by_name[name].end)
    return "".join(kept).rstrip() if has_repeats else text


def _segments(text: str, marks: list[Marks]) -> Iterator[tuple[str | None, str]]:
    """Cut a text into calls, as names and arguments, and what is between them."""
    name, arguments = None, ""
    for piece in ToolReader(marks).push(text, final=True):
        if isinstance(piece, CallPiece):
            arguments += piece.arguments
            continue
        if name is not None:
            yield name, arguments
        name, arguments = (piece.name, "") if isinstance(piece, CallBegin) else (None, "")
        if isinstance(piece, TextPiece):
            yield None, piece.text
    if name is not None:
        yield name, arguments


def canonical_arguments(arguments: str) -> str:
    """Write arguments so that equal ones are equal texts."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
