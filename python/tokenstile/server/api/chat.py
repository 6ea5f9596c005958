"""The request of ``/v1/chat/completions``."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tokenstile.server.api.bounds import Count, Few, Label, Line, check_fields
from tokenstile.server.api.common import GenerationFields, Strict

__all__ = ["ChatRequest", "FunctionCall", "Message", "Sent", "Tool", "ToolCall"]


class Sent(BaseModel):
    """A part of a request in which fields that say nothing here are ignored: what clients were sent and send back."""

    model_config = ConfigDict(extra="ignore", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, data: object) -> object:
        return check_fields(data)


class FunctionCall(Sent):
    """The function of a call, with its arguments in JSON."""

    name: Label
    arguments: str


class ToolCall(Sent):
    """A call that the model made."""

    id: Label
    type: Literal["function"] = "function"
    function: FunctionCall


class TextPart(Strict):
    """A part of a message."""

    model_config = ConfigDict(extra="ignore", strict=True)

    type: Literal["text"]
    text: str


class Message(Sent):
    """A message."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | Few[TextPart] | None = None
    name: Label | None = None
    tool_calls: Few[ToolCall] | None = None
    tool_call_id: Label | None = None

    @property
    def text(self) -> str:
        """The content as one text."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class Function(Strict):
    """A function that can be called."""

    model_config = ConfigDict(extra="ignore", strict=True)

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(Strict):
    """A tool."""

    model_config = ConfigDict(extra="ignore", strict=True)

    type: Literal["function"]
    function: Function


class ChatRequest(GenerationFields):
    """A request for an answer."""

    prompt_field: ClassVar[str] = "messages"

    messages: Few[Message] = Field(min_length=1)
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    logprobs: bool = False
    top_logprobs: int | None = Field(None, ge=0, le=20)
    tools: Few[Tool] | None = None
    tool_choice: Label | dict[str, Any] | None = None
    parallel_tool_calls: bool = True
    reasoning_effort: Label | None = None
    """How long the model is to think; for templates that know it."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict, max_length=64)
    """What the model's chat template is told besides."""
    # They change nothing in what is written.
    metadata: dict[str, Any] | None = None
    modalities: Few[Literal["text"]] | None = None
    prompt_cache_key: Line | None = None
    safety_identifier: Line | None = None
    service_tier: Label | None = None
    store: bool | None = None

    @field_validator("tools")
    @classmethod
    def _have_names_of_their_own(cls, tools: list[Tool] | None) -> list[Tool] | None:
        names = [tool.function.name for tool in tools or []]
        if len(set(names)) < len(names):
            raise ValueError("two tools have the same name")
        return tools

    @model_validator(mode="after")
    def _goes_together(self) -> ChatRequest:
        if self.top_logprobs is not None and not self.logprobs:
            raise ValueError("top_logprobs needs logprobs to be true")
        if self.tool_choice is not None and self.tool_choice != "none" and not self.tools:
            raise ValueError("tool_choice needs tools")
        return self

    @property
    def most_tokens(self) -> int | None:
        """The most tokens of an output, as far as the request says."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def num_logprobs(self) -> int | None:
        """How many of the likeliest tokens are wanted at each place."""
        return (self.top_logprobs or 0) if self.logprobs else None
