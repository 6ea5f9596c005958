"""A family: a name, and a function that says what its models write for a request.

`family` gives such a function XGrammar's signature and registers it. Most families are data (`template.Template`), for
which `build.builder` has that function; the others write their own, with the helpers that are here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structural_tag import (
    ConstStringFormat,
    Format,
    JSONSchemaFormat,
    JSONSchemaStyle,
    SequenceFormat,
    StructuralTag,
)
from tokenstile.tool_calling.arguments import parameters_of
from tokenstile.tool_calling.registry import register_model_structural_tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile.tool_calling.choice import SimplifiedToolChoice
    from tokenstile.tool_calling.schema import BuiltinToolParam, FunctionToolParam

__all__ = [
    "ModelBuilder",
    "Options",
    "ReasoningMode",
    "Request",
    "check_choice",
    "family",
    "literal",
    "sequence",
]

ReasoningMode: TypeAlias = Literal["enabled", "disabled", "auto"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What holds of all texts and arguments of a request."""

    any_order: bool = False
    exclude_special_tokens: bool = True
    max_whitespace_cnt: int | None = None
    parallel_tool_calls: bool = True

    def texts(self, *excludes: str) -> list[str]:
        """Return what text may not hold."""
        return list(dict.fromkeys(excludes)) if self.exclude_special_tokens else []

    def arguments(
        self,
        tool: FunctionToolParam | BuiltinToolParam,
        style: JSONSchemaStyle = "json",
        excludes: tuple[str, ...] = (),
    ) -> JSONSchemaFormat:
        """Return the format of the arguments of a tool."""
        return JSONSchemaFormat(
            json_schema=parameters_of(tool),
            style=style,
            any_order=self.any_order,
            max_whitespace_cnt=self.max_whitespace_cnt,
            excludes=self.texts(*excludes),
        )


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a family is asked for: which tools, whether to call them, whether to reason, and the options."""

    tools: list[FunctionToolParam]
    builtin_tools: list[BuiltinToolParam]
    choice: SimplifiedToolChoice
    reasoning: ReasoningMode
    options: Options


class ModelBuilder(Protocol):
    """The function of a family, as XGrammar has it."""

    def __call__(  # noqa: PLR0917 - XGrammar's signature
        self,
        tools: list[FunctionToolParam] | None = None,
        builtin_tools: list[BuiltinToolParam] | None = None,
        tool_choice: SimplifiedToolChoice = "auto",
        reasoning: ReasoningMode = "enabled",
        any_order: bool = False,
        exclude_special_tokens: bool = True,
        max_whitespace_cnt: int | None = None,
        parallel_tool_calls: bool = True,
        **kwargs: Any,  # noqa: ANN401
    ) -> StructuralTag:
        """Return the structural tag of the family."""


def family(
    name: str, *, default_reasoning: ReasoningMode = "enabled"
) -> Callable[[Callable[[Request], Format]], ModelBuilder]:
    """Make the function below, which answers a `Request`, a family with XGrammar's signature."""

    def register(answer: Callable[[Request], Format]) -> ModelBuilder:
        def build(  # noqa: PLR0917 - XGrammar's signature
            tools: list[FunctionToolParam] | None = None,
            builtin_tools: list[BuiltinToolParam] | None = None,
            tool_choice: SimplifiedToolChoice = "auto",
            reasoning: ReasoningMode | bool = default_reasoning,
            any_order: bool = False,
            exclude_special_tokens: bool = True,
            max_whitespace_cnt: int | None = None,
            parallel_tool_calls: bool = True,
            **kwargs: Any,  # noqa: ANN401, ARG001 - what a family does not know, it ignores
        ) -> StructuralTag:
            if isinstance(reasoning, bool):
                reasoning = "enabled" if reasoning else "disabled"
            if reasoning not in ("enabled", "disabled", "auto"):
                raise InvalidArgumentError(
                    f"the 'reasoning' argument must be 'enabled', 'disabled' or 'auto', not {reasoning!r}"
                )
            options = Options(
                any_order=any_order,
                exclude_special_tokens=exclude_special_tokens,
                max_whitespace_cnt=max_whitespace_cnt,
                parallel_tool_calls=parallel_tool_calls,
            )
            request = Request(
                tools=tools or [],
                builtin_tools=builtin_tools or [],
                choice=tool_choice,
                reasoning=reasoning,
                options=options,
            )
            return StructuralTag(format=answer(request))

        build.__name__ = build.__qualname__ = f"get_{name}_structural_tag"
        build.__doc__ = answer.__doc__ or f"Return the structural tag of the family ``{name}``."
        return register_model_structural_tag(name)(build)

    return register


def check_choice(name: str, request: Request) -> None:
    """Raise unless there are functions where some must be called, just one where it is forced."""
    if request.choice == "forced" and len(request.tools) != 1:
        raise ValueError("Forced tool choice must resolve to exactly one tool.")
    if request.choice == "required" and not request.tools:
        kind = "only built-in tools, which it does not have" if request.builtin_tools else "no tools"
        raise ValueError(f"a call is required, and the family {name!r} was given {kind}")


def sequence(*parts: Format | None) -> Format:
    """Return the parts that are there, one after the other."""
    there = [part for part in parts if part is not None]
    return there[0] if len(there) == 1 else SequenceFormat(elements=there)


def literal(text: str) -> Format | None:
    """Return a text, or nothing where it is empty."""
    return ConstStringFormat(value=text) if text else None
