"""What grammars are made of, as texts: helpers that programs import from XGrammar's module ``grammar``.

Nothing here uses them. They keep XGrammar's names and what they raise.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tokenstile._core import Grammar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "_convert_instance_to_str",
    "_convert_named_grammars_to_lists",
    "_get_structural_tag_str_from_args",
]

_WITH_TRIGGERS = 2


def _convert_instance_to_str(instance: object) -> str:
    """Return a structural tag, as a model, a dict or a text, as JSON."""
    if isinstance(instance, str):
        return instance
    if isinstance(instance, dict):
        return json.dumps(instance)
    if _is_structural_tag(instance):
        text: str = instance.model_dump_json()  # type: ignore[attr-defined] # a model, as was looked at
        return text
    raise ValueError("Invalid instance type")


def _is_structural_tag(value: object) -> bool:
    # Whoever has made one has imported the module.
    module = sys.modules.get("tokenstile.structural_tag")
    return module is not None and isinstance(value, module.StructuralTag)


def _convert_named_grammars_to_lists(
    named_grammars: Mapping[str, Grammar | str] | None,
) -> tuple[list[str], list[Grammar | str]]:
    """Return the names and the grammars that a Lark text refers to, checked."""
    if not isinstance(named_grammars, dict | None):
        raise TypeError("named_grammars must be a dictionary")
    for name, value in (named_grammars or {}).items():
        if not isinstance(name, str):
            raise TypeError("named grammar names must be strings")
        if not isinstance(value, Grammar | str):
            raise TypeError("named grammar values must be Grammar instances or Lark strings")
    return list(named_grammars or ()), list((named_grammars or {}).values())


def _get_structural_tag_str_from_args(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the arguments of ``from_structural_tag``, in either of their forms, as the JSON of a structural tag."""
    if len(args) == 1:
        if not isinstance(args[0], str | dict) and not _is_structural_tag(args[0]):
            raise TypeError("Invalid argument type for from_structural_tag")
        return _convert_instance_to_str(args[0])
    if len(args) == _WITH_TRIGGERS and all(isinstance(each, list) for each in args):
        return _legacy(*args)
    if "structural_tag" in kwargs:
        return _convert_instance_to_str(kwargs["structural_tag"])
    if "tags" in kwargs and "triggers" in kwargs:
        return _legacy(kwargs["tags"], kwargs["triggers"])
    raise TypeError("Invalid arguments for from_structural_tag")


def _legacy(tags: list[Any], triggers: list[str]) -> str:
    from tokenstile.structural_tag import StructuralTag  # noqa: PLC0415 - it needs Pydantic

    return StructuralTag.from_legacy_structural_tag(tags, triggers).model_dump_json()
