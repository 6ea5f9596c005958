"""Structural tags as models of Pydantic: the tree of formats that a model's output follows.

>>> from tokenstile.structural_tag import AnyTextFormat, StructuralTag, TagFormat
>>> tag = StructuralTag(format=TagFormat(begin="<think>", content=AnyTextFormat(), end="</think>"))
>>> StructuralTag.from_json(tag.model_dump_json()) == tag
True

What the formats mean is in ``docs/structural_tags.md``. The models check types and names of fields; all else is checked
where a grammar is made, so that a tag that comes as JSON is checked in the same place.

This module needs the package ``pydantic`` (the extra ``tokenstile[pydantic]``); `tokenstile` itself does not import it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

try:
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:  # pragma: no cover - an installation without Pydantic
    raise ImportError(
        "tokenstile.structural_tag needs pydantic: pip install 'tokenstile[pydantic]'"
    ) from error

from tokenstile.structural_tag_text import legacy_structural_tag

__all__ = [
    "AnyTextFormat",
    "AnyTokensFormat",
    "ConstStringFormat",
    "DispatchFormat",
    "ExcludeTokenFormat",
    "Format",
    "GrammarFormat",
    "JSONSchemaFormat",
    "JSONSchemaStyle",
    "OptionalFormat",
    "OrFormat",
    "PlusFormat",
    "QwenXMLParameterFormat",
    "RegexFormat",
    "RepeatFormat",
    "SequenceFormat",
    "StarFormat",
    "StructuralTag",
    "StructuralTagItem",
    "TagFormat",
    "TagsWithSeparatorFormat",
    "TokenDispatchFormat",
    "TokenFormat",
    "TokenTriggeredTagsFormat",
    "TriggeredTagsFormat",
]

MAX_COUNT = 2**31 - 1

JSONSchemaStyle: TypeAlias = Literal[
    "json",
    "qwen_xml",
    "minimax_xml",
    "minimax_m3_xml",
    "deepseek_xml",
    "deepseek_v4_1_xml",
    "glm_xml",
    "cohere_xml",
    "kimi_k3_xml",
    "gemma",
]
"""How the value of a schema is written; ``gemma`` is ours."""

Count: TypeAlias = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class _Format(BaseModel):
    """What all formats share: a field that no format has is an error, as it would be overlooked."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")


class ConstStringFormat(_Format):
    """Just this text."""

    type: Literal["const_string"] = "const_string"
    value: str
    """The text."""


class JSONSchemaFormat(_Format):
    """A value of a JSON Schema."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: bool | dict[str, Any]
    """The schema."""
    style: JSONSchemaStyle = "json"
    """How the value is written."""
    any_order: bool = False
    """Whether the keys of objects may come in any order."""
    max_whitespace_cnt: Annotated[int, Field(ge=1, le=MAX_COUNT)] | None = None
    """The most white space in one place."""
    excludes: list[str] = []
    """What no key and no string of the value may hold."""


class QwenXMLParameterFormat(_Format):
    """The older form of ``JSONSchemaFormat`` with the style ``qwen_xml``."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: bool | dict[str, Any]
    """The schema."""


class GrammarFormat(_Format):
    """The language of an EBNF text with the rule ``root``."""

    type: Literal["grammar"] = "grammar"
    grammar: str
    """The EBNF text."""


class RegexFormat(_Format):
    """What a regular expression matches as a whole."""

    type: Literal["regex"] = "regex"
    pattern: str
    """The regular expression."""


class AnyTextFormat(_Format):
    """Free text, without the end of the nearest tag around it."""

    type: Literal["any_text"] = "any_text"
    excludes: list[str] = []
    """What the text may not hold."""
    max_tokens: Count | None = None
    """The most tokens."""
    max_chars: Count | None = None
    """The most code points."""


class SequenceFormat(_Format):
    """One after the other."""

    type: Literal["sequence"] = "sequence"
    elements: list[Format]
    """The formats, at least one."""


class OrFormat(_Format):
    """Any one of them."""

    type: Literal["or"] = "or"
    elements: list[Format]
    """The formats, at least one."""


class OptionalFormat(_Format):
    """The content or nothing."""

    type: Literal["optional"] = "optional"
    content: Format
    """The content."""


class PlusFormat(_Format):
    """The content once or more."""

    type: Literal["plus"] = "plus"
    content: Format
    """The content."""


class StarFormat(_Format):
    """The content any number of times."""

    type: Literal["star"] = "star"
    content: Format
    """The content."""


class RepeatFormat(_Format):
    """The content so many times."""

    type: Literal["repeat"] = "repeat"
    min: Count
    """The least count."""
    max: Annotated[int, Field(ge=-1, le=MAX_COUNT)]
    """The greatest count; -1 is no bound."""
    content: Format
    """The content."""


class TokenFormat(_Format):
    """Just this token."""

    type: Literal["token"] = "token"
    token: int | str
    """The token, by its id or by its text."""


class TagFormat(_Format):
    """A begin, a content, an end."""

    type: Literal["tag"] = "tag"
    begin: str | TokenFormat
    """What the tag begins with."""
    content: Format
    """What is in it."""
    end: str | list[str] | TokenFormat
    """What ends it; of several strings any one."""


class TriggeredTagsFormat(_Format):
    """Free text in which a trigger switches to the tags that begin with it."""

    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: list[str]
    """The triggers. Every tag begins with exactly one of them."""
    tags: list[TagFormat]
    """The tags."""
    at_least_one: bool = False
    """Whether a tag must come, and comes first."""
    stop_after_first: bool = False
    """Whether nothing comes after the first tag."""
    excludes: list[str] = []
    """What the text may not hold."""


class TagsWithSeparatorFormat(_Format):
    """Tags with a separator between them, and nothing else."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: list[TagFormat]
    """The tags."""
    separator: str
    """What stands between two tags."""
    at_least_one: bool = False
    """Whether there must be a tag."""
    stop_after_first: bool = False
    """Whether there is no second one."""


class DispatchFormat(_Format):
    """Free text in which a string switches to a format."""

    type: Literal["dispatch"] = "dispatch"
    rules: list[tuple[str, Format]]
    """Strings, each with the format that follows it."""
    loop: bool = True
    """Whether free text goes on after a format."""
    excludes: list[str] = []
    """What the text may not hold."""


class ExcludeTokenFormat(_Format):
    """One token that is not listed, and not the one that ends the nearest tag around it."""

    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: list[int | str] = []
    """The tokens, by id or by text."""


class AnyTokensFormat(_Format):
    """Free tokens, without the one that ends the nearest tag around them."""

    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: list[int | str] = []
    """Tokens that may not appear, by id or by text."""
    max_tokens: Count | None = None
    """The most tokens."""


class TokenTriggeredTagsFormat(_Format):
    """Free tokens in which a token switches to the tags that begin with it."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: list[int | str]
    """The triggers, by id or by text."""
    tags: list[TagFormat]
    """The tags; each begins with a token that is a trigger."""
    exclude_tokens: list[int | str] = []
    """Tokens that may not appear, by id or by text."""
    at_least_one: bool = False
    """Whether a tag must come, and comes first."""
    stop_after_first: bool = False
    """Whether nothing comes after the first tag."""


class TokenDispatchFormat(_Format):
    """Free tokens in which a token switches to a format."""

    type: Literal["token_dispatch"] = "token_dispatch"
    rules: list[tuple[int | str, Format]]
    """Tokens, each with the format that follows it."""
    loop: bool = True
    """Whether free tokens go on after a format."""
    exclude_tokens: list[int | str] = []
    """Tokens that may not appear, by id or by text."""


Format: TypeAlias = Annotated[
    AnyTextFormat
    | AnyTokensFormat
    | ConstStringFormat
    | DispatchFormat
    | ExcludeTokenFormat
    | GrammarFormat
    | JSONSchemaFormat
    | OptionalFormat
    | OrFormat
    | PlusFormat
    | QwenXMLParameterFormat
    | RegexFormat
    | RepeatFormat
    | SequenceFormat
    | StarFormat
    | TagFormat
    | TagsWithSeparatorFormat
    | TokenDispatchFormat
    | TokenFormat
    | TokenTriggeredTagsFormat
    | TriggeredTagsFormat,
    Field(discriminator="type"),
]
"""Any format."""


class StructuralTagItem(BaseModel):
    """A tag of the older form: a begin, a schema, an end."""

    model_config = ConfigDict(populate_by_name=True, arbitrary_types_allowed=True)

    begin: str
    """What the tag begins with."""
    schema_: str | type[BaseModel] | dict[str, Any] = Field(alias="schema")
    """The schema of its content: a JSON text, a dict or a model class."""
    end: str
    """What ends it."""


class StructuralTag(BaseModel):
    """What a model's output looks like as a whole."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")

    type: Literal["structural_tag"] = "structural_tag"
    format: Format
    """The format of the output."""

    @staticmethod
    def from_json(json_str: str | dict[str, Any]) -> StructuralTag:
        """Read a structural tag from JSON, as a text or as what ``json.loads`` makes of it."""
        if isinstance(json_str, str):
            return StructuralTag.model_validate_json(json_str)
        return StructuralTag.model_validate(json_str)

    @staticmethod
    def from_legacy_structural_tag(tags: list[StructuralTagItem], triggers: list[str]) -> StructuralTag:
        """Read a structural tag of the older form: tags, and the triggers that they begin with."""
        return StructuralTag.model_validate(legacy_structural_tag(tags, triggers))


for _model in (
    SequenceFormat,
    OrFormat,
    OptionalFormat,
    PlusFormat,
    StarFormat,
    RepeatFormat,
    TagFormat,
    TriggeredTagsFormat,
    TagsWithSeparatorFormat,
    DispatchFormat,
    TokenTriggeredTagsFormat,
    TokenDispatchFormat,
    StructuralTag,
):
    _model.model_rebuild()
del _model
