"""Requests as people send them, and what an answer to one is worth.

The requests are in ``testdata/everyday.json``: a name, a prompt, and what the answer is to be, which is one of

- ``schema``: a JSON Schema, as Pydantic writes it for a model;
- ``tools``: definitions of functions, one of which is to be called;
- ``structural_tag``: free text with a value behind it. Its schema is the one inside of the tag.

No request changes once figures have been taken with it. `judge` looks at one answer. It is used by the benchmark and by
the tests with a real model, so it needs nothing but a validator.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUESTS = Path(__file__).parent.parent / "testdata" / "everyday.json"
MAX_TOKENS = 300
"""What each request is given."""

# What stands before the value, in answers that are more than it.
_BEFORE_ARGUMENTS = '"arguments": '
_BEFORE_BLOCK = "```json\n"

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]+")
_MOST_INDENTATION = 8


@dataclass(frozen=True)
class Request:
    """One request."""

    name: str
    prompt: str
    schema: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    structural_tag: dict[str, Any] | None = None

    @cached_property
    def value_schema(self) -> dict[str, Any]:
        """The schema of the value in the answer."""
        if self.schema is not None:
            return self.schema
        if self.tools is not None:
            (tool,) = self.tools
            return tool["function"]["parameters"]
        (element,) = (each for each in self.structural_tag["format"]["elements"] if "json_schema" in each)
        return element["json_schema"]

    def value_text(self, answer: str) -> str:
        """Give the part of an answer that is the value's text."""
        if self.schema is not None:
            return answer
        if self.tools is not None:
            rest = answer.partition(_BEFORE_ARGUMENTS)[2]
            return rest.rpartition("}\n</tool_call>")[0]
        return answer.partition(_BEFORE_BLOCK)[2].rpartition("\n```")[0]


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth."""

    parsed: bool
    """Whether ``json.loads`` reads it."""
    valid: bool
    """Whether a validator takes the value, formats included."""
    plain: bool
    """Whether it is written as a person would write it; see `oddities`."""


def load() -> list[Request]:
    """Give all requests."""
    return [Request(**fields) for fields in json.loads(REQUESTS.read_text(encoding="utf-8"))]


def judge(request: Request, text: str) -> Verdict:
    """Look at the text of a value."""
    plain = not any(oddities(text))
    try:
        value = json.loads(text)
    except ValueError:
        return Verdict(parsed=False, valid=False, plain=plain)
    return Verdict(parsed=True, valid=is_valid(request.value_schema, value), plain=plain)


def is_valid(schema: dict[str, Any], value: Any) -> bool:
    """Tell whether a value is one of a schema's."""
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    try:
        return validator.is_valid(value)
    except ValueError:
        # Numbers that no double holds were read as infinite, and those are no values of JSON.
        return False


def oddities(text: str) -> Iterator[str]:
    """Find what nobody would write: needless escapes, and long white space between the parts.

    An escape is needless where it stands for a printable character of ASCII, the quotation mark and the backslash
    aside, which have no other way. White space is nothing, one space, or one line break with its indentation: for each
    bracket that is open there at most a tab, or eight spaces.
    """
    depth, at = 0, 0
    while at < len(text):
        if found := _STRING.match(text, at):
            yield from _needless_escapes(found.group())
        elif found := _SPACE.match(text, at):
            if not _is_usual(found.group(), depth):
                yield found.group()
        else:
            depth += (text[at] in "[{") - (text[at] in "]}")
        at = found.end() if found else at + 1


def _needless_escapes(string: str) -> Iterator[str]:
    for found in _ESCAPE.finditer(string):
        code, short = found.groups()
        if short == "/" or (code and " " <= chr(int(code, 16)) <= "~"):
            yield found.group()


def _is_usual(space: str, depth: int) -> bool:
    if space == " ":
        return True
    indentation = space.removeprefix("\n")
    if len(indentation) != len(space) - 1:
        return False
    return indentation in ("\t" * count for count in range(depth + 1)) or (
        not indentation.strip(" ") and len(indentation) <= _MOST_INDENTATION * depth
    )
