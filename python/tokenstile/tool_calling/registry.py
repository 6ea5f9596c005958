"""The families by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile.structural_tag import StructuralTag

__all__ = ["BUILDERS", "Builder", "find_builder", "model_names", "register_model_structural_tag"]

Builder: TypeAlias = "Callable[..., StructuralTag]"
"""Takes function tools, built-in tools, a simplified choice and a mode of reasoning, and by name the options."""

_Function = TypeVar("_Function", bound="Callable[..., StructuralTag]")

BUILDERS: dict[str, Builder] = {}
"""All families by name."""


def register_model_structural_tag(name: str) -> Callable[[_Function], _Function]:
    """Make the function below a family that `get_model_structural_tag` knows; a name that is taken is taken over.

    It is called as ``function(function_tools, builtin_tools, choice, reasoning, any_order=...,
    exclude_special_tokens=..., max_whitespace_cnt=..., parallel_tool_calls=...)``, with what `normalize_tool_choice`
    gives.
    """

    def register(function: _Function) -> _Function:
        BUILDERS[name] = function
        return function

    return register


def find_builder(name: str) -> Builder:
    """Return the function of a family."""
    if not isinstance(name, str) or name not in BUILDERS:
        raise InvalidArgumentError(f"Unknown format type: {name}, supported types: {model_names()}")
    return BUILDERS[name]


def model_names() -> list[str]:
    """Return the names of all families."""
    return list(BUILDERS)
