"""The requests of ``/api/chat`` and ``/api/generate``."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from tokenstile.server.api.bounds import Few, Label  # noqa: TC001 - pydantic reads them
from tokenstile.server.api.chat import Sent

__all__ = ["FIELDS", "GenerateRequest", "OllamaChatRequest", "OllamaRequest"]

FIELDS: Final = {
    "messages": "messages",
    "max_tokens": "options.num_predict",
    "response_format": "format",
    "tools": "tools",
}
"""What fields of a chat completion are called here."""
_OPTIONS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "seed": "seed",
    "stop": "stop",
    "num_predict": "max_tokens",
    "repeat_penalty": "repetition_penalty",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""Ollama's options, and the fields of a chat completion that they are."""
_SETTINGS: Final = frozenset(
    {
        "num_ctx",
        "num_batch",
        "num_gpu",
        "main_gpu",
        "num_thread",
        "num_keep",
        "use_mmap",
        "numa",
        "repeat_last_n",
    }
)
"""Options that are the server's affair."""
_FLOATS: Final = frozenset(
    {"temperature", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"}
)


class _Function(Sent):
    name: Label
    arguments: dict[str, Any] | str = Field(default_factory=dict)


class _Call(Sent):
    function: _Function
    id: Label | None = None


class _Message(Sent):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: Few[_Call] | None = None
    tool_name: Label | None = None
    images: Annotated[list[str], Field(max_length=0)] | None = None
    """None: the models that are served here read text."""

    def chat(self) -> dict[str, Any]:
        """Give it as a chat completion has it; Ollama's calls have no names of their own."""
        written: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            written["tool_calls"] = [
                {
                    "id": call.id or f"call_{at}",
                    "type": "function",
                    "function": {
                        "name": call.function.name,
                        "arguments": _arguments(call.function.arguments),
                    },
                }
                for at, call in enumerate(self.tool_calls)
            ]
        if self.role == "tool":
            written["name"] = self.tool_name
        return written


class OllamaRequest(Sent):
    """What both kinds of requests share."""

    model_config = ConfigDict(extra="allow", strict=True)

    model: Label
    format: Literal["json", ""] | dict[str, Any] | bool | None = None
    options: dict[str, Any] = Field(default_factory=dict, max_length=64)
    stream: bool = True
    keep_alive: str | int | float | None = None
    think: bool | Label | None = None

    @abstractmethod
    def chat_messages(self) -> list[dict[str, Any]]:
        """Give the messages of the chat."""

    def chat_tools(self) -> list[dict[str, Any]] | None:
        """Give the tools."""
        return None

    def chat(self) -> dict[str, Any]:
        """Give the request for a chat completion."""
        given = {_OPTIONS[name]: value for name, value in self.options.items() if name in _OPTIONS}
        given |= {name: float(given[name]) for name in _FLOATS & given.keys() if isinstance(given[name], int)}
        # Less than one is Ollama's "as many as there is room for".
        if isinstance(given.get("max_tokens"), int) and given["max_tokens"] < 1:
            del given["max_tokens"]
        return {
            "temperature": 0.8,
            **given,
            "model": self.model,
            "messages": self.chat_messages(),
            "tools": self.chat_tools(),
            "stream": self.stream,
            "response_format": _response_format(self.format),
            "parallel_tool_calls": True,
        }

    def unknown_options(self) -> list[str]:
        """Give the options that are neither done nor the server's affair."""
        return [name for name in self.options if name not in _OPTIONS and name not in _SETTINGS]


def _response_format(format_: str | dict[str, Any] | bool | None) -> dict[str, Any] | None:
    if format_ is None or format_ == "":
        return None
    if format_ == "json":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": format_}}


def _arguments(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


class OllamaChatRequest(OllamaRequest):
    """A request for an answer."""

    messages: Few[_Message] = Field(min_length=1)
    tools: Few[dict[str, Any]] | None = None

    def chat_messages(self) -> list[dict[str, Any]]:
        """Give the messages of the chat; a result of a tool belongs to the call before it."""
        written = [message.chat() for message in self.messages]
        calls: list[str] = []
        for message in written:
            calls = [call["id"] for call in message.get("tool_calls", [])] or calls
            if message["role"] == "tool":
                message["tool_call_id"] = calls.pop(0) if calls else "call_0"
        return written

    def chat_tools(self) -> list[dict[str, Any]] | None:
        """Give the tools."""
        return self.tools or None


class GenerateRequest(OllamaRequest):
    """A request to answer one prompt."""

    prompt: str
    system: str | None = None
    suffix: Literal[""] | None = None
    images: Annotated[list[str], Field(max_length=0)] | None = None
    template: Literal[""] | None = None
    raw: Literal[False] = False
    context: Few[int] | None = None
    """What Ollama gave with an answer before; here there is none to go on with."""

    def chat_messages(self) -> list[dict[str, Any]]:
        """Give the prompt as a chat."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.prompt}]
