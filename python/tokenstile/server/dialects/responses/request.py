"""The request of ``/v1/responses``."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, model_validator

from tokenstile.server.api.bounds import Count, Few, Label, Line  # noqa: TC001 - pydantic reads them
from tokenstile.server.api.chat import Sent
from tokenstile.server.errors import ApiError

__all__ = ["FIELDS", "ResponsesRequest"]

FIELDS: Final = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "response_format": "text.format",
    "tools": "tools",
    "tool_choice": "tool_choice",
}
"""What fields of a chat completion are called here."""
_MESSAGES: Final = frozenset({"system", "developer", "user", "assistant"})


class _Text(Sent):
    type: Literal["input_text", "output_text", "text", "refusal"]
    text: str = ""


class _Item(Sent):
    """An item of the conversation: a message, a call, its result, or a thought."""

    type: Literal["message", "function_call", "function_call_output", "reasoning"] = "message"
    role: Label | None = None
    content: str | Few[_Text] | None = None
    call_id: Label | None = None
    name: Label | None = None
    arguments: str | None = None
    output: str | Few[_Text] | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_no_thought(cls, data: object) -> object:
        # Thoughts are not given to the model again, so whatever they hold is not looked at.
        return {"type": "reasoning"} if isinstance(data, dict) and data.get("type") == "reasoning" else data


class _Tool(Sent):
    type: Label
    name: Label | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class _Format(Sent):
    type: Literal["text", "json_object", "json_schema"]
    name: Label | None = None
    json_schema: dict[str, Any] | bool | None = Field(None, alias="schema")
    strict: bool | None = None


class _TextConfig(Sent):
    format: _Format | None = None
    verbosity: Label | None = None


class _Reasoning(Sent):
    effort: Label | None = None


class ResponsesRequest(Sent):
    """A request for a response."""

    model_config = ConfigDict(extra="allow", strict=True)

    model: Label | None = None
    input: str | Few[_Item]
    instructions: str | None = None
    max_output_tokens: Count | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    tools: Few[_Tool] | None = None
    tool_choice: Label | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    text: _TextConfig | None = None
    reasoning: _Reasoning | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    previous_response_id: None = None
    background: Literal[False] | None = None
    conversation: None = None
    # They change nothing in what is written.
    include: Few[Label] | None = None
    metadata: dict[str, Any] | None = None
    prompt_cache_key: Line | None = None
    safety_identifier: Line | None = None
    service_tier: Label | None = None
    store: bool | None = None
    truncation: Label | None = None
    user: Line | None = None

    def chat(self) -> dict[str, Any]:
        """Give the request for a chat completion."""
        return {
            "model": self.model,
            "messages": self._messages(),
            "max_tokens": self.max_output_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "tools": self._tools() or None,
            "tool_choice": self._choice(),
            "parallel_tool_calls": self.parallel_tool_calls,
            "response_format": self._format(),
            "reasoning_effort": self.reasoning.effort if self.reasoning else None,
            "stream": bool(self.stream),
        }

    def _messages(self) -> list[dict[str, Any]]:
        messages = [{"role": "system", "content": self.instructions}] if self.instructions else []
        if isinstance(self.input, str):
            return [*messages, {"role": "user", "content": self.input}]
        for at, item in enumerate(self.input):
            _add_item(messages, item, at)
        return messages

    def _tools(self) -> list[dict[str, Any]]:
        tools = []
        for at, tool in enumerate(self.tools or []):
            if tool.type != "function":
                message = f"Invalid tools[{at}]: tools of the type {tool.type!r} are OpenAI's own"
                raise ApiError(400, message, code="invalid_value", param=f"tools[{at}].type")
            function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            tools.append({"type": "function", "function": {**function, "strict": tool.strict}})
        return tools

    def _choice(self) -> str | dict[str, Any] | None:
        choice = self.tool_choice
        if isinstance(choice, dict) and choice.get("type") == "function" and "name" in choice:
            return {"type": "function", "function": {"name": choice["name"]}}
        if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
            allowed = [
                {"type": "function", "function": {"name": tool.get("name")}}
                for tool in choice.get("tools", [])
                if isinstance(tool, dict)
            ]
            return {
                "type": "allowed_tools",
                "allowed_tools": {"mode": choice.get("mode", "auto"), "tools": allowed},
            }
        return choice

    def _format(self) -> dict[str, Any] | None:
        format_ = self.text.format if self.text else None
        if format_ is None or format_.type == "text":
            return None
        if format_.type == "json_object":
            return {"type": "json_object"}
        if format_.json_schema is None:
            raise ApiError(
                400, "the type 'json_schema' has a schema", code="invalid_value", param="text.format.schema"
            )
        schema = {"name": format_.name or "answer", "schema": format_.json_schema, "strict": format_.strict}
        return {"type": "json_schema", "json_schema": schema}


def _add_item(messages: list[dict[str, Any]], item: _Item, at: int) -> None:
    """Add an item to the messages of a chat; calls that follow each other are of one message there."""
    if item.type == "message":
        if item.role not in _MESSAGES:
            text = f"Invalid input[{at}]: a message is of a role: {', '.join(sorted(_MESSAGES))}"
            raise ApiError(400, text, code="invalid_value", param=f"input[{at}].role")
        messages.append({"role": item.role, "content": _text(item.content)})
    elif item.type == "function_call":
        call = {
            "id": item.call_id or "",
            "type": "function",
            "function": {"name": item.name or "", "arguments": item.arguments or "{}"},
        }
        if messages and messages[-1]["role"] == "assistant":
            messages[-1].setdefault("tool_calls", []).append(call)
        else:
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
    elif item.type == "function_call_output":
        result = {"role": "tool", "tool_call_id": item.call_id or "", "content": _text(item.output)}
        messages.append(result)


def _text(content: str | list[_Text] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text for part in content)
    return content or ""
