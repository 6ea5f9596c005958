"""Grammars named on the command line.

A grammar is a file, ``-`` for the standard input, or the text itself. What kind it is, is said by ``--kind``, by the
end of the file's name, or by what it looks like; where that does not decide it, the command asks for ``--kind``.
"""

import json
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from tokenstile._core import Grammar, GrammarCompiler
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.json_schema import Spelling
from tokenstile.schema_folder import read_schema_folder
from tokenstile.tokenizer_info import TokenizerInfo

__all__ = [
    "AnnotateFormats",
    "AnyOrder",
    "Compact",
    "GrammarArgument",
    "Kind",
    "KindOption",
    "Lenient",
    "NotStrict",
    "RegistryOption",
    "SchemaOptions",
    "Source",
    "SpellingName",
    "SpellingOption",
    "existing_file",
    "read_bytes",
    "read_source",
    "read_text",
]

_LARGEST_FILE: Final = 64 << 20


class Kind(StrEnum):
    """What a grammar is written in."""

    JSON_SCHEMA = "json-schema"
    REGEX = "regex"
    EBNF = "ebnf"
    LARK = "lark"
    STRUCTURAL_TAG = "structural-tag"


class SpellingName(StrEnum):
    """How values of JSON are written."""

    CANONICAL = "canonical"
    ANY = "any"


GrammarArgument = Annotated[
    str, typer.Argument(help="A file with a grammar, - for the standard input, or the text itself.")
]
KindOption = Annotated[
    Kind | None,
    typer.Option("--kind", "-k", help="What the grammar is written in, if its name does not say."),
]
AnyOrder = Annotated[bool, typer.Option("--any-order", help="Keys of objects come in any order.")]
Compact = Annotated[bool, typer.Option("--compact", help="No white space between the parts of JSON.")]
SpellingOption = Annotated[
    SpellingName | None,
    typer.Option("--spelling", help="How values of JSON are written: as programs do, or in any way."),
]
RegistryOption = Annotated[
    Path | None,
    typer.Option("--registry", help="A folder of schemas that references may lead to (all *.json below)."),
]
AnnotateFormats = Annotated[
    bool, typer.Option("--annotate-formats", help="`format` says nothing about texts.")
]
Lenient = Annotated[
    bool,
    typer.Option(
        "--lenient", help="Drop keywords that cannot be enforced, and say so, in place of refusing."
    ),
]
NotStrict = Annotated[
    bool,
    typer.Option("--no-strict", help="Objects and arrays are open where the schema does not close them."),
]

_ENDINGS: Final = {
    ".json": Kind.JSON_SCHEMA,
    ".ebnf": Kind.EBNF,
    ".gbnf": Kind.EBNF,
    ".lark": Kind.LARK,
    ".regex": Kind.REGEX,
    ".re": Kind.REGEX,
}


@dataclass(frozen=True)
class SchemaOptions:
    """How JSON Schemas are read: the flags above."""

    any_order: bool = False
    compact: bool = False
    annotate_formats: bool = False
    lenient: bool = False
    not_strict: bool = False
    spelling: SpellingName | None = None
    registry: Path | None = None

    @property
    def for_spelling(self) -> Spelling | None:
        """Give the argument of all functions that read grammars with JSON in them."""
        return None if self.spelling is None else self.spelling.value

    @property
    def for_checking(self) -> dict[str, Any]:
        """Give the arguments of `tokenstile.check_schema`."""
        formats: Literal["assert", "annotate"] = "annotate" if self.annotate_formats else "assert"
        return {
            "any_order": True if self.any_order else None,
            "formats": formats,
            "on_unsupported": "warn" if self.lenient else "error",
            "strict_mode": not self.not_strict,
            "spelling": self.for_spelling,
            "registry": self.documents,
        }

    @property
    def documents(self) -> dict[str, str] | None:
        """Give the schemas of the folder that references may lead to."""
        return None if self.registry is None else read_schema_folder(self.registry)

    @property
    def for_grammars(self) -> dict[str, Any]:
        """Give the arguments of ``Grammar.from_json_schema``."""
        separators = (",", ":") if self.compact else None
        return {**self.for_checking, "any_whitespace": not self.compact, "separators": separators}


@dataclass(frozen=True)
class Source:
    """The text of a grammar, and what it is written in."""

    kind: Kind
    text: str
    name: str = "the text"
    options: SchemaOptions = field(default_factory=SchemaOptions)

    def grammar(self, info: TokenizerInfo | None = None) -> Grammar:
        """Read it; a grammar that names tokens needs the vocabulary."""
        match self.kind:
            case Kind.JSON_SCHEMA:
                return Grammar.from_json_schema(self.text, **self.options.for_grammars)
            case Kind.REGEX:
                return Grammar.from_regex(self.text)
            case Kind.EBNF if info is not None:
                # Only a compiler knows the tokens that such a text may name.
                return GrammarCompiler(info, cache_enabled=False).compile_grammar(self.text).grammar
            case Kind.EBNF:
                return Grammar.from_ebnf(self.text)
            case Kind.LARK:
                return Grammar.from_lark(self.text, tokenizer_info=info, spelling=self.options.for_spelling)
            case Kind.STRUCTURAL_TAG:
                return Grammar.from_structural_tag(
                    self.text, tokenizer_info=info, spelling=self.options.for_spelling
                )


def read_source(argument: str, kind: Kind | None, options: SchemaOptions | None = None) -> Source:
    """Read a grammar that was named on the command line."""
    path = None if argument == "-" else existing_file(argument)
    text = read_text(argument) if path is not None or argument == "-" else argument
    if path is None and argument != "-" and _is_name_of_no_file(argument, kind):
        raise InvalidArgumentError(f"there is no file {argument!r}")
    found = kind or _kind_of(path, text)
    if found is None:
        raise InvalidArgumentError(_cannot_tell(argument, text))
    if found is Kind.REGEX and path is not None:
        text = text.removesuffix("\n")
    return Source(found, text, argument if path else "the text", options or SchemaOptions())


def read_text(argument: str) -> str:
    """Read a file, or the standard input for ``-``."""
    return read_bytes(argument).decode("utf-8")


def read_bytes(argument: str) -> bytes:
    """Read a file, or the standard input for ``-``; what is too large, or has no end, is refused."""
    if argument == "-":
        data = _read_standard_input()
    else:
        with Path(argument).open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise InvalidArgumentError(f"{argument} is larger than {_LARGEST_FILE >> 20} MiB")
    return data


_spent: list[object] = []
"""The standard input, once it was read."""


def _read_standard_input() -> bytes:
    if _spent == [sys.stdin]:
        raise InvalidArgumentError(
            "- is named twice, and the standard input can be read once: name a file for one"
        )
    _spent[:] = [sys.stdin]
    return sys.stdin.buffer.read(_LARGEST_FILE + 1)


def existing_file(argument: str) -> Path | None:
    """Give the file of that name, if there is one, or the pipe; a text is often no possible name at all."""
    path = Path(argument)
    try:
        return path if argument and path.exists() and not path.is_dir() else None
    except (OSError, ValueError):
        return None


_MARKS: Final = {
    Kind.JSON_SCHEMA: ("{", "true", "false"),
    Kind.STRUCTURAL_TAG: ("{",),
    Kind.EBNF: ("::=",),
    Kind.LARK: (":",),
}
"""What every text of a kind has somewhere."""


def _is_name_of_no_file(argument: str, kind: Kind | None) -> bool:
    """Tell whether an argument can only have been meant as a file's name: as a grammar it would make no sense."""
    marks = _MARKS.get(kind) if kind is not None else None
    return marks is not None and "\n" not in argument and not any(mark in argument for mark in marks)


def _kind_of(path: Path | None, text: str) -> Kind | None:
    """Tell the kind of a grammar by its file's name, or by the text."""
    by_name = None if path is None else _ENDINGS.get(path.suffix.lower())
    if by_name is not None and by_name is not Kind.JSON_SCHEMA:
        return by_name
    stripped = text.strip()
    if stripped.startswith("{") or stripped in {"true", "false"} or by_name is not None:
        return Kind.STRUCTURAL_TAG if _is_structural_tag(stripped) else Kind.JSON_SCHEMA
    return Kind.EBNF if "::=" in text else None


def _is_structural_tag(text: str) -> bool:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("type") == "structural_tag"


def _cannot_tell(argument: str, text: str) -> str:
    if argument == text and "\n" not in text:
        return f"there is no file {argument!r}; if it is the grammar itself, say what it is written in with --kind"
    return "what the grammar is written in cannot be told: say so with --kind"
