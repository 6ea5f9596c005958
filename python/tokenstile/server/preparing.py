"""From the body of a request to what the engine is given: all that is done on a thread before it begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokenstile.server.api.chat import ChatRequest
from tokenstile.server.api.completion import CompletionRequest
from tokenstile.server.api.unknown import note_unknown
from tokenstile.server.errors import ApiError
from tokenstile.server.reading import read_body
from tokenstile.server.structure import Structure, chat_structure, structure_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenstile.server.service import Service

__all__ = ["Prepared", "prepare_chat", "prepare_completion", "prepared_chat"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that was read and found right."""

    request: ChatRequest | CompletionRequest
    structure: Structure
    prompts: list[str | list[int]]
    warnings: list[str] = field(default_factory=list)
    """What of the request was not done, for the answer."""
    source: object = None
    """The request as it came, where another API than OpenAI's was asked."""


def prepare_chat(service: Service, body: bytes) -> Prepared:
    """Read a request for an answer."""
    asked = read_body(ChatRequest, body, service.config.max_body_values)
    return prepared_chat(service, asked)


def prepared_chat(
    service: Service, asked: ChatRequest, source: object = None, more_warnings: Iterable[str] = ()
) -> Prepared:
    """Prepare a request for an answer that was read, from whatever API it came."""
    warnings = [*_warnings(service, asked), *more_warnings]
    service.check_model(asked.model)
    tools = [] if asked.tool_choice == "none" else asked.tools or []
    if len(tools) > service.config.max_tools:
        text = f"there are {len(tools)} tools, and one request may have {service.config.max_tools}"
        raise ApiError(400, text, code="limit_exceeded", param="tools")
    structure = chat_structure(asked, service.tool_format)
    options = dict(asked.chat_template_kwargs)
    if asked.reasoning_effort is not None:
        options.setdefault("reasoning_effort", asked.reasoning_effort)
    warnings += [
        f"{name} was ignored: the model's chat template does not know it"
        for name in service.template.unknown_options(options)
    ]
    prompt = service.template.render(asked.messages, tools, service.tool_format, options)
    return Prepared(asked, structure.as_text(), [prompt], warnings, source)


def prepare_completion(service: Service, body: bytes) -> Prepared:
    """Read a request to go on with texts."""
    asked = read_body(CompletionRequest, body, service.config.max_body_values)
    warnings = _warnings(service, asked)
    service.check_model(asked.model)
    return Prepared(asked, structure_of(asked).as_text(), asked.prompts, warnings)


def _warnings(service: Service, asked: ChatRequest | CompletionRequest) -> list[str]:
    names = (asked.model_extra or {}).keys()
    return note_unknown(names, type(asked).model_fields, strict=service.config.strict_fields)
