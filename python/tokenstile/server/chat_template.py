"""From messages to the text that a model goes on with.

Models bring a template of Jinja along. Templates that say nothing of tools get them in the first message, and calls and
results as text, in the way of the family of models that the server is set to.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import jinja2
from pydantic_core import from_json

from tokenstile.engine.models.chat_template import compile_template
from tokenstile.server.errors import ApiError
from tokenstile.server.tools import describe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenstile.server.api.chat import Message, Tool
    from tokenstile.server.tools import ToolFormat

__all__ = ["CHATML", "ChatTemplate"]

_LOG: Final = logging.getLogger(__name__)
CHATML: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A template that many models understand."""
_RESERVED: Final = frozenset({"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"})


class ChatTemplate:
    """The template of a model."""

    def __init__(self, source: str = CHATML, *, bos_token: str = "", eos_token: str = "") -> None:
        self._source = source
        self._template = compile_template(source)
        self._special = {"bos_token": bos_token, "eos_token": eos_token}
        self.knows_tools = "tools" in source

    @classmethod
    def of_model(cls, model: Any) -> ChatTemplate:  # noqa: ANN401 - any model of the engine
        """Give the template that a model of llama.cpp or of transformers brings along; that of ChatML without one."""
        origin = getattr(model, "file", None) or getattr(model, "tokenizer", None)
        source, bos, eos = (
            getattr(origin, name, None) for name in ("chat_template", "bos_token", "eos_token")
        )
        if not isinstance(source, str):
            _LOG.warning("the model brings no chat template along; that of ChatML is used")
            return cls()
        return cls(source, bos_token=bos or "", eos_token=eos or "")

    def unknown_options(self, options: Mapping[str, Any]) -> list[str]:
        """Give the names among some options that the template does not speak of."""
        return [name for name in options if name not in self._source]

    def render(
        self,
        messages: list[Message],
        tools: list[Tool],
        format_: ToolFormat,
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """Give the prompt, up to where the model's answer begins; ``options`` are for the template alone."""
        if self.knows_tools:
            written = [_for_template(message) for message in messages]
        else:
            written = _with_tools_as_text(messages, tools, format_)
        try:
            # What a request adds must not stand in for what the server says.
            own = {name: value for name, value in (options or {}).items() if name not in _RESERVED}
            return self._template.render(
                **own,
                messages=written,
                tools=[tool.model_dump(exclude_none=True) for tool in tools]
                if self.knows_tools and tools
                else None,
                add_generation_prompt=True,
                **self._special,
            )
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            text = f"the model's chat template does not take these messages: {error}"
            raise ApiError(400, text, code="invalid_messages", param="messages") from error


def _for_template(message: Message) -> dict[str, Any]:
    """Give a message as templates know it: arguments as objects, not as texts."""
    written: dict[str, Any] = {"role": _role(message), "content": message.text}
    if message.name is not None:
        written["name"] = message.name
    if message.tool_call_id is not None:
        written["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": _call(call.function.name, call.function.arguments),
            }
            for call in message.tool_calls
        ]
    return written


def _call(name: str, arguments: str) -> dict[str, Any]:
    try:
        return {"name": name, "arguments": from_json(arguments, allow_inf_nan=False)}
    except ValueError:
        return {"name": name, "arguments": arguments}


def _role(message: Message) -> str:
    return "system" if message.role == "developer" else message.role


def _with_tools_as_text(
    messages: list[Message], tools: list[Tool], format_: ToolFormat
) -> list[dict[str, Any]]:
    written = [{"role": _role(message), "content": _as_text(message, format_)} for message in messages]
    for message in written:
        if message["role"] == "tool":
            message.update(role="user", content=f"<tool_response>\n{message['content']}\n</tool_response>")
    if tools:
        described = describe(tools, format_)
        if written[0]["role"] == "system":
            written[0]["content"] += "\n\n" + described
        else:
            written.insert(0, {"role": "system", "content": described})
    return written


def _as_text(message: Message, format_: ToolFormat) -> str:
    calls = [
        format_.write_call(call.function.name, call.function.arguments) for call in message.tool_calls or []
    ]
    return "\n".join([message.text, *calls] if message.text else calls)
