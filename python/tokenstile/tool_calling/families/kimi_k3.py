"""Kimi-K3: thinking, response and tools are blocks of one message.

The prompt opens the first block: thinking where it is enabled, the response where it is disabled. The last block is
followed by the end of the message. Calls are numbered, and their arguments tags of the style ``kimi_k3_xml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenstile.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    Format,
    OptionalFormat,
    RegexFormat,
    SequenceFormat,
    TagFormat,
    TagsWithSeparatorFormat,
)
from tokenstile.tool_calling.family import check_choice, family, sequence
from tokenstile.tool_calling.names import check_names, in_attribute

if TYPE_CHECKING:
    from tokenstile.tool_calling.family import Options, Request
    from tokenstile.tool_calling.schema import FunctionToolParam

__all__ = ["get_kimi_k3_structural_tag"]

_OPEN, _CLOSE, _SEPARATOR = "<|open|>", "<|close|>", "<|sep|>"
_CALL = f'{_OPEN}call tool="$name" index="'


def _opened(name: str) -> str:
    return f"{_OPEN}{name}{_SEPARATOR}"


def _closed(name: str) -> str:
    return f"{_CLOSE}{name}{_SEPARATOR}"


@family("kimi_k3")
def get_kimi_k3_structural_tag(request: Request) -> Format:
    """Return the structural tag of the family ``kimi_k3``."""
    check_choice("kimi_k3", request)
    check_names("kimi_k3", request.tools, _CALL, in_attribute)
    end = ConstStringFormat(value=_closed("message"))
    return sequence(_thought(request), _response(request), _calls(request), end)


def _thought(request: Request) -> Format | None:
    if request.reasoning == "disabled":
        return None
    if request.reasoning == "enabled":
        return _block("think", request.options, prompted=True)
    return OptionalFormat(content=_block("think", request.options, prompted=False))


def _response(request: Request) -> Format:
    return _block("response", request.options, prompted=request.reasoning == "disabled")


def _block(name: str, options: Options, *, prompted: bool) -> TagFormat:
    return TagFormat(
        begin="" if prompted else _opened(name),
        content=AnyTextFormat(excludes=options.texts(_OPEN, _CLOSE)),
        end=_closed(name),
    )


def _calls(request: Request) -> Format | None:
    if not request.tools:
        return None
    calls = TagsWithSeparatorFormat(
        tags=[_call(tool, request.options) for tool in request.tools],
        separator="",
        at_least_one=True,
        stop_after_first=request.choice == "forced" or not request.options.parallel_tool_calls,
    )
    block = TagFormat(begin=_opened("tools"), content=calls, end=_closed("tools"))
    return OptionalFormat(content=block) if request.choice == "auto" else block


def _call(tool: FunctionToolParam, options: Options) -> TagFormat:
    arguments = options.arguments(tool, "kimi_k3_xml", (_OPEN, _CLOSE, _SEPARATOR))
    return TagFormat(
        begin=_CALL.replace("$name", in_attribute(tool.function.name)),
        content=SequenceFormat(
            elements=[RegexFormat(pattern=r"[0-9]+"), ConstStringFormat(value=f'"{_SEPARATOR}'), arguments]
        ),
        end=_closed("call"),
    )
