"""What both kinds of requests share."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tokenstile.server.api.bounds import Count, Few, Int64, Label, Line, Many, TokenId, check_fields

_WITH_SCHEMA = ("json_object", "json_schema")
_MOST_BIASES = 1024
_MOST_DIGITS = 9

__all__ = ["GenerationFields", "JSONSchemaFormat", "ResponseFormat", "StreamOptions", "Strict"]


class Strict(BaseModel):
    """A part of a request: no other fields, no types that are nearly right."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, data: object) -> object:
        return check_fields(data)


class StreamOptions(Strict):
    """What a stream has."""

    include_usage: bool = False
    include_obfuscation: bool | None = None


class JSONSchemaFormat(Strict):
    """A schema with its name."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str | None = None
    json_schema: dict[str, Any] | bool = Field(alias="schema")
    strict: bool | None = None


class ResponseFormat(Strict):
    """What an answer is to look like."""

    type: Literal["text", "json_object", "json_schema", "structural_tag"]
    json_schema: JSONSchemaFormat | None = None
    plain_schema: dict[str, Any] | bool | None = Field(None, alias="schema")
    """A schema without a name, as llama.cpp's server takes it."""
    format: dict[str, Any] | None = None
    structures: Many[dict[str, Any]] | None = None
    triggers: Many[str] | None = None

    @model_validator(mode="after")
    def _has_its_fields(self) -> ResponseFormat:
        if self.json_schema is not None and self.type != "json_schema":
            raise ValueError("json_schema goes with the type 'json_schema'")
        if self.plain_schema is not None and (self.type not in _WITH_SCHEMA or self.json_schema is not None):
            raise ValueError(
                "schema goes with the types 'json_object' and 'json_schema', in place of json_schema"
            )
        if self.type == "json_schema" and self.json_schema is None and self.plain_schema is None:
            raise ValueError("the type 'json_schema' has json_schema")
        tags = [self.format is not None, self.structures is not None]
        if sum(tags) != (self.type == "structural_tag"):
            raise ValueError("the type 'structural_tag' has either format, or structures and triggers")
        return self


class GenerationFields(Strict):
    """The fields that chat completions and completions have in common.

    Fields that are not known are kept: `tokenstile.server.api.unknown` says what becomes of them.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    model: Label | None = None
    temperature: float = Field(1.0, ge=0, le=2)
    top_p: float = Field(1.0, gt=0, le=1)
    top_k: int = Field(0, ge=-1, lt=1 << 31)
    n: Count = 1
    seed: Int64 | None = None
    stop: Line | Few[Line] | None = None
    stop_token_ids: Few[TokenId] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: dict[str, Any] | None = None
    spelling: Literal["canonical", "any"] | None = None
    """How values of JSON are written, whichever field the structure comes from."""
    return_token_ids: bool = False
    min_p: float = Field(0.0, ge=0, le=1)
    frequency_penalty: float = Field(0.0, ge=-2, le=2)
    presence_penalty: float = Field(0.0, ge=-2, le=2)
    repetition_penalty: float = Field(1.0, gt=0, le=10)
    logit_bias: dict[str, float] = Field(default_factory=dict, max_length=_MOST_BIASES)
    # Other servers' names for structures.
    guided_json: str | dict[str, Any] | bool | None = None
    guided_regex: str | None = None
    guided_choice: Few[str] | None = None
    guided_grammar: str | None = None
    grammar: str | None = None
    """A grammar in GBNF, as llama.cpp's server takes it."""
    json_schema: dict[str, Any] | bool | None = None
    """A schema, as llama.cpp's server takes it."""
    # They change nothing in what is written.
    user: Line | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: object) -> object:
        """Let a field that is null be as one that is not there, as in OpenAI's API."""
        if isinstance(data, dict):
            return {name: value for name, value in data.items() if value is not None}
        return data

    @field_validator("logit_bias")
    @classmethod
    def _names_tokens(cls, value: dict[str, float]) -> dict[str, float]:
        for token, bias in value.items():
            if not (token.isascii() and token.isdigit() and len(token) <= _MOST_DIGITS):
                raise ValueError(f"{token[:32]!r} is no token: the keys are numbers of tokens")
            if not -100 <= bias <= 100:  # noqa: PLR2004 - OpenAI's bounds
                raise ValueError(f"the bias of token {token} must be from -100 to 100")
        return value

    @property
    def biases(self) -> tuple[tuple[int, float], ...]:
        """The tokens with a bias."""
        return tuple((int(token), bias) for token, bias in self.logit_bias.items())

    @field_validator("stop")
    @classmethod
    def _says_something(cls, value: str | list[str] | None) -> list[str]:
        texts = [value] if isinstance(value, str) else value or []
        if not all(texts):
            raise ValueError("a stop text must not be empty")
        return texts

    @property
    def stop_texts(self) -> tuple[str, ...]:
        """The stop texts."""
        return tuple(self.stop or ())
