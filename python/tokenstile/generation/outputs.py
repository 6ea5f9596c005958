"""What is asked of a model, and how its answer becomes an object.

An `Output` has the structure that a model in this process is held to, the check of what a server answered, and the
reading of both. `output_of` makes one of what a caller gives for a type.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tokenstile._core import Grammar
from tokenstile.exceptions import InvalidArgumentError, TokenstileError
from tokenstile.structured_output.params import StructuredOutputsParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokenstile.json_schema import Spelling

__all__ = [
    "NOTHING",
    "Answer",
    "ChoiceOutput",
    "FreeText",
    "GrammarOutput",
    "JsonOutput",
    "Output",
    "OutputError",
]

NOTHING: Final = object()
"""What an answer is as long as nothing of it can be read."""
_NO_FLAGS: Final = re.UNICODE


class OutputError(TokenstileError, ValueError):
    """An answer that is not what was asked for; its text is in ``text``.

    What to do: where a server answered, see to it that it enforces structures. Where a type has conditions of its own,
    which no grammar knows, ask again, or write them into the schema.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered, or the beginning of it."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = field(default=())
    """Names and arguments of calls, where a server has read them already; arguments are JSON."""


class Output(ABC):
    """What is asked for."""

    structure: StructuredOutputsParams | None
    """What a model is held to; ``None`` for free text."""

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that a model is told about, as OpenAI's API has them."""
        return []

    @property
    def schema(self) -> object:
        """The JSON Schema, where the answer is JSON; else ``None``."""
        return None

    def check(self, answer: Answer) -> None:
        """Raise `OutputError` unless an answer of somebody else is what was asked for."""
        if not self.fits(answer):
            raise OutputError("the server's answer does not fit what was asked for", answer.text)

    @abstractmethod
    def fits(self, answer: Answer) -> bool:
        """Tell whether an answer is a text of the grammar."""

    @abstractmethod
    def read(self, answer: Answer) -> object:
        """Make the object of a whole answer."""

    @abstractmethod
    def read_part(self, answer: Answer) -> object:
        """Make what can be made of the beginning of an answer; `NOTHING` if that is nothing."""


class _TextOutput(Output):
    """An answer that is a text."""

    def read(self, answer: Answer) -> str:
        """Make the object of a whole answer."""
        return answer.text

    def read_part(self, answer: Answer) -> object:
        """Make what can be made of the beginning of an answer; `NOTHING` if that is nothing."""
        return answer.text or NOTHING


class FreeText(_TextOutput):
    """Any text."""

    structure = None

    def fits(self, answer: Answer) -> bool:  # noqa: ARG002 - any
        """Tell whether an answer is a text of the grammar."""
        return True


class GrammarOutput(_TextOutput):
    """A text of a grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self.structure = StructuredOutputsParams(grammar=str(grammar))

    def fits(self, answer: Answer) -> bool:
        """Tell whether an answer is a text of the grammar."""
        return self._grammar.accepts(answer.text)


class PatternOutput(_TextOutput):
    """A text that a regular expression matches as a whole."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        if not isinstance(pattern.pattern, str) or pattern.flags & ~_NO_FLAGS:
            raise InvalidArgumentError(
                "a pattern must be one of str without flags: write them into it, as in (?i:yes|no)"
            )
        self._grammar = Grammar.from_regex(pattern.pattern)
        self.structure = StructuredOutputsParams(regex=pattern.pattern)

    def fits(self, answer: Answer) -> bool:
        """Tell whether an answer is a text of the grammar."""
        return self._grammar.accepts(answer.text)


class StructureOutput(_TextOutput):
    """A text of a structure as the serving layer has it."""

    def __init__(self, structure: StructuredOutputsParams) -> None:
        self.structure = structure

    @cached_property
    def _grammar(self) -> Grammar:
        from tokenstile.structured_output.constraint import parse_constraint  # noqa: PLC0415 - only when used

        assert self.structure is not None  # noqa: S101 - the constructor set it
        return parse_constraint(*self.structure.key)

    def fits(self, answer: Answer) -> bool:
        """Tell whether an answer is a text of the grammar."""
        return self._grammar.accepts(answer.text)


class ChoiceOutput(Output):
    """One of some texts, each of which stands for a value."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self.structure = StructuredOutputsParams(choice=list(values))

    def fits(self, answer: Answer) -> bool:
        """Tell whether an answer is a text of the grammar."""
        return answer.text in self._values

    def read(self, answer: Answer) -> object:
        """Make the object of a whole answer."""
        return self._values[answer.text]

    def read_part(self, answer: Answer) -> object:
        """Make what can be made of the beginning of an answer; `NOTHING` if that is nothing."""
        return self._values.get(answer.text, NOTHING)


class JsonOutput(Output):
    """A value of a JSON Schema, which ``finish`` makes an object of."""

    def __init__(
        self,
        schema: object,
        finish: Callable[[str], object] = json.loads,
        finish_part: Callable[[object], object] | None = None,
        *,
        compact: bool = False,
        spelling: Spelling | None = None,
    ) -> None:
        self._schema = schema
        self._finish = finish
        self._finish_part = finish_part or (lambda value: value)
        self.structure = StructuredOutputsParams(
            json=json.dumps(schema), disable_any_whitespace=compact, spelling=spelling
        )

    @property
    def schema(self) -> object:
        """The JSON Schema."""
        return self._schema

    @cached_property
    def _grammar(self) -> Grammar:
        # What others write has spellings and an order of keys of its own.
        return Grammar.from_json_schema(json.dumps(self._schema), spelling="any", any_order=True)

    def fits(self, answer: Answer) -> bool:
        """Tell whether an answer is a text of the grammar."""
        return self._grammar.accepts(answer.text)

    def read(self, answer: Answer) -> object:
        """Make the object of a whole answer."""
        try:
            return self._finish(answer.text)
        except ValueError as error:
            text = f"the answer fits its grammar, and its type does not take it: {error}"
            raise OutputError(text, answer.text) from error

    def read_part(self, answer: Answer) -> object:
        """Make what can be made of the beginning of an answer; `NOTHING` if that is nothing."""
        value = partial_json(answer.text)
        return NOTHING if value is NOTHING else self._finish_part(value)


def partial_json(text: str) -> object:
    """Read as much as there is of a JSON text; `NOTHING` if there is nothing yet."""
    try:
        from pydantic_core import from_json  # noqa: PLC0415 - only when used
    except ImportError as error:
        raise ImportError("streams of JSON need Pydantic: pip install 'tokenstile[pydantic]'") from error

    try:
        return from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return NOTHING
