"""What a client asks for: `StructuredOutputsParams`.

The fields are vLLM's, and ``lark``. Exactly one of the kinds is given; anything else is refused here, before a thread
is spent on it, with words that a client can act on. Whether the grammar itself is right is found out by compiling it.
"""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Union

from tokenstile._core import get_default_spelling
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.key import GrammarType, StructuredOutputKey
from tokenstile.structured_output.texts import check_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenstile.json_schema import Spelling

__all__ = ["StructuredOutputsParams"]

Structures = Union["Sequence[StructuredOutputsParams | Mapping[str, Any]]", str]

_COMPOSITES: Final = ("all_of", "any_of", "then")
_KINDS: Final = (
    "json", "regex", "choice", "grammar", "json_object", "structural_tag", "lark", *_COMPOSITES
)  # fmt: skip
_MOST_PARTS: Final = 64
_DEEPEST: Final = 8
_TEXTS_THAT_MUST_SAY_SOMETHING: Final = ("json", "grammar", "structural_tag", "lark")


@dataclass(frozen=True, slots=True)
class StructuredOutputsParams:
    """The structure that an output must have; exactly one of the first ten is given.

    >>> StructuredOutputsParams(regex="[0-9]+").key
    StructuredOutputKey(grammar_type=<GrammarType.REGEX: 'regex'>, grammar_spec='[0-9]+')
    """

    json: str | Mapping[str, Any] | bool | None = None
    """A JSON Schema, as a text or as an object."""
    regex: str | None = None
    """A regular expression; the empty one is legal, and allows the empty text only."""
    choice: list[str] | tuple[str, ...] | None = None
    """Texts, one of which is to be written."""
    grammar: str | None = None
    """An EBNF text, or a Lark text if no line of it has ``::=``."""
    json_object: bool | None = None
    """Any JSON object."""
    structural_tag: str | Mapping[str, Any] | None = None
    """A structural tag, as a text or as an object."""
    lark: str | None = None
    """A Lark text."""
    all_of: Structures | None = None
    """Structures all of which the text must have: objects of this class, mappings of its fields, or a JSON array.

    JSON Schemas among them that are written alike are one ``allOf``, closed once."""
    any_of: Structures | None = None
    """Structures one of which the text must have, in the same way."""
    then: Structures | None = None
    """Structures one after the other, in the same way."""
    disable_any_whitespace: bool = False
    """Whether JSON is to be written without white space between its parts."""
    disable_additional_properties: bool = False
    """Whether objects have no properties but those that their schema names, if it names some and is silent of others.

    So it is for tokenstile and XGrammar in any case, which are strict; for llguidance the schema is closed."""
    spelling: Spelling | None = None
    """How values of JSON are written: ``"canonical"``, ``"any"``, or the default of the process."""
    whitespace_pattern: str | None = None
    """Not supported: white space is bounded by ``disable_any_whitespace``, or written into a grammar."""

    def __post_init__(self) -> None:
        given = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            names = ", ".join(_KINDS)
            found = "none was given" if not given else f"{' and '.join(given)} were given"
            raise InvalidArgumentError(f"exactly one of {names} must be given; {found}")
        if self.whitespace_pattern is not None:
            raise InvalidArgumentError(
                "whitespace_pattern is not supported: use disable_any_whitespace, or write a grammar"
            )
        if self.spelling not in {None, "canonical", "any"}:
            raise InvalidArgumentError(f'spelling must be "canonical" or "any", not {self.spelling!r}')
        self._check_kind(given[0])

    def _check_kind(self, kind: str) -> None:
        """Check the value of the one kind that was given."""
        value: Any = getattr(self, kind)
        allowed: dict[str, tuple[type, ...]] = {
            "json": (str, Mapping, bool),
            "choice": (list, tuple),
            "json_object": (bool,),
            "structural_tag": (str, Mapping),
            **dict.fromkeys(_COMPOSITES, (list, tuple, str)),
        }
        types = allowed.get(kind, (str,))
        if not isinstance(value, types):
            names = " or ".join(one.__name__ for one in types)
            raise InvalidArgumentError(f"{kind} must be {names}, not {type(value).__name__}")
        if isinstance(value, str):
            check_text(kind, value)
        if kind in _TEXTS_THAT_MUST_SAY_SOMETHING and isinstance(value, str) and not value.strip():
            raise InvalidArgumentError(f"{kind} must not be blank")
        if kind == "json_object" and value is False:
            raise InvalidArgumentError("json_object must be true, or not be given")
        if kind == "choice":
            self._check_choices(self.choice or ())
        if kind in _COMPOSITES:
            object.__setattr__(self, kind, _read_parts(kind, value))
            if self.depth > _DEEPEST:
                raise InvalidArgumentError(f"structures nest more than {_DEEPEST} deep")

    @staticmethod
    def _check_choices(choices: list[str] | tuple[str, ...]) -> None:
        if not choices:
            raise InvalidArgumentError("choice must have at least one text")
        for at, text in enumerate(choices):
            if not isinstance(text, str):
                raise InvalidArgumentError(f"choice[{at}] must be str, not {type(text).__name__}")
            check_text(f"choice[{at}]", text)

    def all_constraints_none(self) -> bool:
        """Tell whether nothing is asked for, which is never so: vLLM's name."""
        return all(getattr(self, kind) is None for kind in _KINDS)

    def all_non_structural_tag_constraints_none(self) -> bool:
        """Tell whether what is asked for is a structural tag: vLLM's name."""
        return all(getattr(self, kind) is None for kind in _KINDS if kind != "structural_tag")

    @property
    def parts(self) -> tuple[StructuredOutputsParams, ...]:
        """The structures that it is made of; none if it is of no other."""
        for kind in _COMPOSITES:
            value = getattr(self, kind)
            if value is not None:
                return tuple(value)
        return ()

    @property
    def depth(self) -> int:
        """How deep structures nest in it."""
        return 1 + max((part.depth for part in self.parts), default=0)

    @property
    def key(self) -> StructuredOutputKey:
        """What is to be compiled."""
        for kind in _KINDS:
            value = getattr(self, kind)
            if value is not None:
                return StructuredOutputKey(GrammarType(kind), _text(kind, value))
        raise InvalidArgumentError("nothing was given")  # the constructor saw to it

    @property
    def chosen_spelling(self) -> Spelling:
        """The spelling, or the default of the process."""
        return self.spelling or get_default_spelling()

    @classmethod
    def from_key(cls, key: StructuredOutputKey | tuple[GrammarType, str]) -> StructuredOutputsParams:
        """Make the params that have a key."""
        grammar_type, spec = key
        if grammar_type is GrammarType.JSON_OBJECT:
            return cls(json_object=True)
        if grammar_type is GrammarType.CHOICE:
            return cls(choice=json_module.loads(spec))
        given: dict[str, Any] = {grammar_type.value: spec}
        return cls(**given)


def _read_parts(kind: str, value: Any) -> tuple[StructuredOutputsParams, ...]:  # noqa: ANN401 - as it is given
    """Read the structures that another is made of."""
    given = value
    if isinstance(value, str):
        try:
            given = json_module.loads(value)
        except (ValueError, RecursionError) as error:
            raise InvalidArgumentError(f"{kind} is not JSON: {error}") from None
        if not isinstance(given, list):
            raise InvalidArgumentError(f"{kind} must be a list of structures, not {type(given).__name__}")
    if not 1 <= len(given) <= _MOST_PARTS:
        raise InvalidArgumentError(
            f"{kind} must have between 1 and {_MOST_PARTS} structures, not {len(given)}"
        )
    return tuple(_read_part(f"{kind}[{at}]", part) for at, part in enumerate(given))


def _read_part(place: str, part: object) -> StructuredOutputsParams:
    if isinstance(part, StructuredOutputsParams):
        return part
    if not isinstance(part, Mapping):
        raise InvalidArgumentError(f"{place} must be a structure, not {type(part).__name__}")
    known = StructuredOutputsParams.__slots__
    unknown = sorted(str(name)[:64] for name in part if name not in known)
    if unknown:
        raise InvalidArgumentError(f"{place} has unknown fields: {', '.join(unknown[:5])}")
    try:
        return StructuredOutputsParams(**{str(name): value for name, value in part.items()})
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{place}: {error}") from None
    except RecursionError:
        raise InvalidArgumentError(f"structures nest more than {_DEEPEST} deep") from None


def _as_json(part: StructuredOutputsParams) -> dict[str, Any]:
    """Write a structure as an object with the fields that say something."""
    kind, text = part.key
    given: Any = text
    if part.json_object:
        given = True
    elif part.choice is not None:
        given = list(part.choice)
    elif part.parts:
        given = [_as_json(one) for one in part.parts]
    written: dict[str, Any] = {kind.value: given}
    for flag in ("disable_any_whitespace", "disable_additional_properties", "spelling"):
        if getattr(part, flag):
            written[flag] = getattr(part, flag)
    return written


def _text(kind: str, value: Any) -> str:  # noqa: ANN401 - any of the kinds
    """Return the text of a value. Keys of objects keep their order, since it is that of the output."""
    if kind == "json_object":
        return ""
    if kind in _COMPOSITES:
        return json_module.dumps([_as_json(part) for part in value])
    if isinstance(value, str):
        return value
    try:
        return json_module.dumps(dict(value) if isinstance(value, Mapping) else value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{kind} is not JSON: {error}") from None
