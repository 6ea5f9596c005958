"""The request of ``/v1/messages``."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from tokenstile.server.api.bounds import Count, Few, Label, Line  # noqa: TC001 - pydantic reads them
from tokenstile.server.api.chat import Sent
from tokenstile.server.errors import ApiError

__all__ = ["FIELDS", "CountRequest", "MessagesRequest"]

FIELDS: Final = {
    "messages": "messages",
    "max_tokens": "max_tokens",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "response_format": "output_config.format",
}
"""What fields of a chat completion are called here."""


class _Text(Sent):
    type: Literal["text"]
    text: str


class _ToolUse(Sent):
    type: Literal["tool_use"]
    id: Label
    name: Label
    input: dict[str, Any]


class _ToolResult(Sent):
    type: Literal["tool_result"]
    tool_use_id: Label
    content: str | Few[_Text] = ""
    is_error: bool | None = None


class _Thinking(Sent):
    type: Literal["thinking", "redacted_thinking"]


_Block = Annotated[_Text | _ToolUse | _ToolResult | _Thinking, Field(discriminator="type")]


class _Message(Sent):
    role: Literal["user", "assistant", "system"]
    content: str | Few[_Block]


class _Tool(Sent):
    name: Label
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    type: Label = "custom"


class _ToolChoice(Sent):
    type: Literal["auto", "any", "tool", "none"]
    name: Label | None = None
    disable_parallel_tool_use: bool = False


class _Format(Sent):
    type: Literal["json_schema"]
    json_schema: dict[str, Any] | bool = Field(alias="schema")


class _OutputConfig(Sent):
    format: _Format | None = None


class CountRequest(Sent):
    """What is to be counted."""

    model_config = ConfigDict(extra="allow", strict=True)

    model: Label
    messages: Few[_Message] = Field(min_length=1)
    system: str | Few[_Text] | None = None
    tools: Few[_Tool] | None = None
    tool_choice: _ToolChoice | None = None
    thinking: dict[str, Any] | None = None

    def chat_messages(self) -> list[dict[str, Any]]:
        """Give the messages as a chat completion has them."""
        system = [{"role": "system", "content": _text(self.system)}] if self.system else []
        return [*system, *(written for message in self.messages for written in _chat_messages(message))]

    def chat_tools(self) -> list[dict[str, Any]]:
        """Give the tools as a chat completion has them."""
        tools = []
        for at, tool in enumerate(self.tools or []):
            if tool.type != "custom":
                text = f"Invalid tools[{at}]: tools of the type {tool.type!r} are Anthropic's own"
                raise ApiError(400, text, code="invalid_value", param=f"tools[{at}].type")
            function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
            tools.append({"type": "function", "function": function})
        return tools


class MessagesRequest(CountRequest):
    """A request for a message."""

    max_tokens: Count
    stop_sequences: Few[Line] | None = None
    stream: bool = False
    temperature: float = Field(1.0, ge=0, le=1)
    top_p: float = Field(1.0, gt=0, le=1)
    top_k: int = Field(0, ge=0, lt=1 << 31)
    output_config: _OutputConfig | None = None
    output_format: _Format | None = None
    # They change nothing in what is written.
    metadata: dict[str, Any] | None = None
    service_tier: Label | None = None
    container: Label | None = None

    def chat(self) -> dict[str, Any]:
        """Give the request for a chat completion."""
        format_ = self.output_format or (self.output_config.format if self.output_config else None)
        choice = self.tool_choice
        return {
            "model": self.model,
            "messages": self.chat_messages(),
            "max_tokens": self.max_tokens,
            "stop": self.stop_sequences or None,
            "stream": self.stream,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "tools": self.chat_tools() or None,
            "tool_choice": _choice(choice),
            "parallel_tool_calls": not (choice and choice.disable_parallel_tool_use),
            "response_format": None
            if format_ is None
            else {"type": "json_schema", "json_schema": {"name": "answer", "schema": format_.json_schema}},
        }


def _choice(choice: _ToolChoice | None) -> str | dict[str, Any] | None:
    if choice is None:
        return None
    if choice.type == "tool":
        return {"type": "function", "function": {"name": choice.name or ""}}
    return "required" if choice.type == "any" else choice.type


def _text(content: str | list[_Text] | None) -> str:
    if isinstance(content, list):
        return "".join(block.text for block in content)
    return content or ""


def _chat_messages(message: _Message) -> list[dict[str, Any]]:
    """Give a message as those of a chat completion: results of tools are messages of their own there."""
    if isinstance(message.content, str):
        return [{"role": message.role, "content": message.content}]
    results = [
        {"role": "tool", "tool_call_id": block.tool_use_id, "content": _text(block.content)}
        for block in message.content
        if isinstance(block, _ToolResult)
    ]
    text = "".join(block.text for block in message.content if isinstance(block, _Text))
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": json.dumps(block.input, ensure_ascii=False)},
        }
        for block in message.content
        if isinstance(block, _ToolUse)
    ]
    own = {"role": message.role, "content": text, **({"tool_calls": calls} if calls else {})}
    return [*results, own] if text or calls or not results else results
