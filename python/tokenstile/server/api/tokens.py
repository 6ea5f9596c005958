"""The requests of ``/tokenize`` and ``/detokenize``, as vLLM has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from tokenstile.server.api.bounds import Few, Label, Many, TokenId  # noqa: TC001 - pydantic reads them
from tokenstile.server.api.chat import Message, Tool  # noqa: TC001
from tokenstile.server.api.common import Strict
from tokenstile.server.errors import ApiError
from tokenstile.server.reading import read_body

if TYPE_CHECKING:
    from tokenstile.server.service import Service

__all__ = ["DetokenizeRequest", "TokenizeRequest", "prepare_detokenize", "prepare_tokenize"]


class TokenizeRequest(Strict):
    """A text, or the messages of a chat, whose tokens are wanted."""

    model: Label | None = None
    prompt: str | None = None
    messages: Few[Message] | None = Field(None, min_length=1)
    tools: Few[Tool] | None = None
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict, max_length=64)
    add_special_tokens: bool = True
    """The names of special tokens in a text stand for these tokens in any case; none is added."""
    add_generation_prompt: bool = True
    return_token_strs: bool = False

    @model_validator(mode="after")
    def _has_one(self) -> TokenizeRequest:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either prompt or messages")
        if not self.add_generation_prompt:
            raise ValueError("add_generation_prompt cannot be false here")
        return self


class DetokenizeRequest(Strict):
    """Tokens whose text is wanted."""

    model: Label | None = None
    tokens: Many[TokenId]


def prepare_tokenize(service: Service, body: bytes) -> tuple[str, bool]:
    """Give the text whose tokens are wanted, and whether their texts are wanted too."""
    asked = read_body(TokenizeRequest, body, service.config.max_body_values)
    service.check_model(asked.model)
    if asked.messages is None:
        return asked.prompt or "", asked.return_token_strs
    prompt = service.template.render(
        asked.messages, asked.tools or [], service.tool_format, asked.chat_template_kwargs
    )
    return prompt, asked.return_token_strs


def prepare_detokenize(service: Service, body: bytes) -> str:
    """Give the text of tokens; special ones have none."""
    asked = read_body(DetokenizeRequest, body, service.config.max_body_values)
    service.check_model(asked.model)
    info = service.engine.model.tokenizer_info
    for at, token in enumerate(asked.tokens):
        if token >= info.vocab_size:
            text = f"Invalid tokens[{at}]: there is no token {token}; ids go from 0 to {info.vocab_size - 1}"
            raise ApiError(400, text, code="invalid_value", param=f"tokens[{at}]")
    return b"".join(info.token_bytes(token) for token in asked.tokens).decode("utf-8", "replace")
