"""From the body of a request to what the engine is given: all that is done on a thread before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenstile.server.api.chat import ChatRequest
from tokenstile.server.api.completion import CompletionRequest
from tokenstile.server.errors import ApiError
from tokenstile.server.reading import read_body
from tokenstile.server.structure import Structure, chat_structure, structure_of

if TYPE_CHECKING:
    from tokenstile.server.service import Service

__all__ = ["Prepared", "prepare_chat", "prepare_completion"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that was read and found right."""

    request: ChatRequest | CompletionRequest
    structure: Structure
    prompts: list[str | list[int]]


def prepare_chat(service: Service, body: bytes) -> Prepared:
    """Read a request for an answer."""
    asked = read_body(ChatRequest, body, service.config.max_body_values)
    service.check_model(asked.model)
    tools = [] if asked.tool_choice == "none" else asked.tools or []
    if len(tools) > service.config.max_tools:
        text = f"there are {len(tools)} tools, and one request may have {service.config.max_tools}"
        raise ApiError(400, text, code="limit_exceeded", param="tools")
    structure = chat_structure(asked, service.tool_format)
    prompt = service.template.render(asked.messages, tools, service.tool_format)
    return Prepared(asked, structure.as_text(), [prompt])


def prepare_completion(service: Service, body: bytes) -> Prepared:
    """Read a request to go on with texts."""
    asked = read_body(CompletionRequest, body, service.config.max_body_values)
    service.check_model(asked.model)
    return Prepared(asked, structure_of(asked).as_text(), asked.prompts)
