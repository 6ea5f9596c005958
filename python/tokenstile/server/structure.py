"""From a request to the structure that its outputs are held to.

| the request has | its outputs are |
|---|---|
| ``response_format`` | any object, a value of a schema, or what a structural tag says |
| ``structured_outputs`` | what vLLM's parameters of that name say |
| ``guided_json``, ``guided_regex``, ``guided_choice``, ``guided_grammar`` | the same, as vLLM named them before |
| ``grammar``, ``json_schema`` | what llama.cpp's server takes: a grammar in GBNF, a schema |
| ``tools`` | text, calls of tools, or both, as ``tool_choice`` says |
| ``tools`` and ``response_format`` | calls of tools, or else what the format says |

Two that cannot both be done are refused. A schema is enforced whatever ``strict`` says. With ``strict: false`` objects
are as JSON Schema has them, and may have properties that the schema does not name; otherwise they may not.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from tokenstile._core import check_schema
from tokenstile.exceptions import GrammarError, InvalidArgumentError, LimitExceededError
from tokenstile.limits import Limits
from tokenstile.schema_report import Outcome, SchemaWarning
from tokenstile.server.errors import ApiError, grammar_error
from tokenstile.structured_output import StructuredOutputsParams, TokenstileBackend, register_backend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenstile.json_schema import Spelling
    from tokenstile.server.api.chat import ChatRequest
    from tokenstile.server.api.common import GenerationFields, ResponseFormat
    from tokenstile.server.tools import ToolFormat

__all__ = ["Structure", "backend_name", "chat_structure", "not_enforced", "structure_of"]

_EXPLAINING: Final = 1.0
"""Seconds to find out which of many tools is wrong."""
_MOST_NAMES: Final = 5
_MOST_REPORTED: Final = 1 << 18
"""Characters of a schema that is looked at again for what it says in vain."""
_PARAMS: Final = frozenset(field.name for field in fields(StructuredOutputsParams))
_OTHER_NAMES: Final = {
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "grammar": "grammar",
    "json_schema": "json",
}
"""Fields of other servers, and the kind of structure that each asks for."""
_IGNORED: Final = frozenset({"backend", "_backend", "_backend_was_auto"})


_names: dict[tuple[str, int | None, float], str] = {}
"""The names of the backends of this process's servers, by what they differ in."""


def backend_name(max_whitespace: int | None, max_compile_time: float, *, is_open: bool) -> str:
    """Give the name of the backend that compiles schemas as the server has them; it is registered where it is new.

    It is the label of what ``/metrics`` tells, so it says nothing of the settings. Where servers of one process have
    different ones, the later names are numbered.
    """
    kind = "tokenstile_open" if is_open else "tokenstile_strict"
    number = sum(known == kind for known, *_ in _names) + 1
    name = kind if number == 1 else f"{kind}_{number}"
    name = _names.setdefault((kind, max_whitespace, max_compile_time), name)
    limits = Limits(max_compile_time=max_compile_time)
    make = partial(TokenstileBackend, strict_mode=not is_open, max_whitespace=max_whitespace, limits=limits)
    register_backend(name, make)
    return name


@dataclass(frozen=True, slots=True)
class Structure:
    """What outputs are held to, and which field of the request said so."""

    params: StructuredOutputsParams | None = None
    param: str | None = None
    is_open: bool = False
    """Whether objects may have properties that their schema does not name."""
    request: ChatRequest | None = None
    """The request, where its tools are part of the structure."""

    def spelled(self, spelling: Spelling | None) -> StructuredOutputsParams | None:
        """Give the parameters, in a spelling where they name none."""
        if self.params is None or self.params.spelling is not None or spelling is None:
            return self.params
        return replace(self.params, spelling=spelling)

    def as_text(self) -> Structure:
        """Give the same with its grammar as a text, so that nobody writes the text again for each output."""
        if self.params is None or isinstance(self.params.choice, list | tuple):
            return self
        try:
            kind, text = self.params.key
            own: dict[str, Any] = {} if self.params.json_object else {kind.value: text}
            return replace(self, params=replace(self.params, **own))
        except InvalidArgumentError as error:
            raise grammar_error(error, self.param) from error

    def explain(self, error: BaseException) -> ApiError:
        """Say what is wrong with it, and where; of tools only as long as that takes little time."""
        if self.request is not None and isinstance(error, GrammarError):
            until = time.monotonic() + _EXPLAINING
            for at, tool in enumerate(self.request.tools or []):
                own = _wrong_schema(tool.function.parameters, until - time.monotonic())
                if own is not None:
                    return grammar_error(own, f"tools[{at}].function.parameters")
        return grammar_error(error, self.param)


def _wrong_schema(schema: dict[str, Any] | None, seconds: float) -> GrammarError | None:
    """Say what is wrong with a schema; nothing where that takes long to find out."""
    if seconds <= 0:
        return None
    try:
        check_schema(schema or {}, limits=Limits(max_compile_time=seconds))
    except LimitExceededError:
        return None
    except GrammarError as error:
        return error
    return None


def structure_of(request: GenerationFields) -> Structure:
    """Read the fields that ask for a structure; there may be one."""
    found = [Structure(params, name) for name, params in _other_names(request)]
    if request.structured_outputs is not None:
        found.append(_extra(request.structured_outputs))
    format_ = request.response_format
    if format_ is not None and format_.type != "text":
        found.append(_formatted(format_))
    if len(found) > 1:
        names = sorted({(each.param or "").partition(".")[0] for each in found})
        text = f"{' and '.join(names)} cannot both be given"
        raise ApiError(400, text, code="invalid_value", param=names[-1])
    return found[0] if found else Structure()


def _other_names(request: GenerationFields) -> Iterator[tuple[str, StructuredOutputsParams]]:
    """Give the structures that fields of other servers ask for."""
    for name, kind in _OTHER_NAMES.items():
        value = getattr(request, name)
        if value is None:
            continue
        try:
            given: dict[str, Any] = {kind: value}
            yield name, StructuredOutputsParams(**given)
        except InvalidArgumentError as error:
            raise ApiError(400, f"Invalid {name}: {error}", code="invalid_value", param=name) from error


def _extra(given: dict[str, Any]) -> Structure:
    """Read vLLM's parameters."""
    known = {name: value for name, value in given.items() if value is not None and name not in _IGNORED}
    unknown = sorted(known.keys() - _PARAMS)
    if unknown:
        named = ", ".join(name[:64] for name in unknown[:_MOST_NAMES])
        text = f"unknown fields: {named}; there are {', '.join(sorted(_PARAMS))}"
        raise ApiError(400, text, code="unknown_parameter", param=f"structured_outputs.{unknown[0][:64]}")
    try:
        params = StructuredOutputsParams(**known)
    except InvalidArgumentError as error:
        raise ApiError(400, str(error), code="invalid_value", param="structured_outputs") from error
    return Structure(params, f"structured_outputs.{params.key.grammar_type.value}")


def _formatted(format_: ResponseFormat) -> Structure:
    if format_.plain_schema is not None:
        return Structure(StructuredOutputsParams(json=format_.plain_schema), "response_format.schema")
    if format_.type == "json_object":
        return Structure(StructuredOutputsParams(json_object=True), "response_format")
    if format_.json_schema is not None:
        schema = format_.json_schema
        params = StructuredOutputsParams(json=schema.json_schema)
        return Structure(params, "response_format.json_schema.schema", is_open=schema.strict is False)
    tag = format_.model_dump(exclude_none=True)
    return Structure(StructuredOutputsParams(structural_tag=tag), "response_format")


@lru_cache(maxsize=256)
def _not_enforced(schema: str) -> tuple[dict[str, str], ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaWarning)
        findings = check_schema(schema, limits=Limits(max_compile_time=_EXPLAINING))
    return tuple(
        {"pointer": finding.pointer, "keyword": finding.keyword, "note": finding.note}
        for finding in findings
        if finding.outcome is Outcome.WIDENED or (finding.outcome is Outcome.ANNOTATION and finding.note)
    )


def not_enforced(structure: Structure) -> list[dict[str, str]]:
    """Name what a schema says and the answer was not held to: formats that are not known, typing errors."""
    if structure.params is None or structure.params.json is None or structure.request is not None:
        return []
    text = structure.params.key.grammar_spec
    try:
        return list(_not_enforced(text)) if len(text) <= _MOST_REPORTED else []
    except GrammarError:
        # It is said when the grammar is compiled.
        return []


def chat_structure(request: ChatRequest, format_: ToolFormat) -> Structure:
    """Read the structure of an answer, tools included."""
    plain = structure_of(request)
    if not request.tools or request.tool_choice == "none":
        return plain
    if plain.param is not None and not plain.param.startswith("response_format"):
        name = plain.param.partition(".")[0]
        text = f"{name} goes with tools only where tool_choice is 'none'"
        raise ApiError(400, text, code="invalid_value", param=name)
    choice = request.tool_choice or "auto"
    either = plain.params is not None and choice == "auto"
    tag = _tools_tag(request, "required" if either else choice, format_)
    if either:
        assert request.response_format is not None  # noqa: S101 - it made the params
        tag["format"] = {
            "type": "or",
            "elements": [tag["format"], _content(request.response_format, format_.max_whitespace)],
        }
    return Structure(StructuredOutputsParams(structural_tag=tag), "tools", request=request)


def _tools_tag(request: ChatRequest, choice: str | dict[str, Any], format_: ToolFormat) -> dict[str, Any]:
    try:
        return format_.structural_tag(request.tools or [], choice, parallel=request.parallel_tool_calls)
    except ValueError as error:
        text = f"Invalid tool_choice: {str(error).splitlines()[0]}"
        raise ApiError(400, text, code="invalid_value", param="tool_choice") from error


def _content(format_: ResponseFormat, max_whitespace: int | None) -> dict[str, Any]:
    """Give a response format as a part of a structural tag."""
    if format_.format is not None:
        return format_.format
    if format_.structures is not None:
        text = "structures and triggers do not go with tools; use the newer form with format"
        raise ApiError(400, text, code="invalid_value", param="response_format")
    schema: Any = {"type": "object", "additionalProperties": True}
    if format_.json_schema is not None:
        schema = format_.json_schema.json_schema
    elif format_.plain_schema is not None:
        schema = format_.plain_schema
    return {"type": "json_schema", "json_schema": schema, "max_whitespace_cnt": max_whitespace}
