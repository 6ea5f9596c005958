"""Types as Pydantic understands them: models, dataclasses, TypedDicts, ``Literal``, enums, ``list[int]`` and others.

While an answer is being written, an object of a model or a dataclass has the fields that are there, and ``None`` for
the others; nothing of it is validated. The last one is whole and validated.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from typing import TYPE_CHECKING, Any

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.generation.outputs import ChoiceOutput, JsonOutput

if TYPE_CHECKING:
    from tokenstile.generation.outputs import Output
    from tokenstile.json_schema import Spelling

__all__ = ["part_of", "typed_output"]


def typed_output(type_: Any, *, compact: bool, spelling: Spelling | None) -> Output:  # noqa: ANN401 - any type
    """Make an output of a type. One that has a few texts as its values is written as such, without quotes."""
    texts = _texts(type_)
    if texts:
        return ChoiceOutput(texts)
    try:
        import pydantic  # noqa: PLC0415 - only when used
    except ImportError as error:
        raise ImportError("types need Pydantic: pip install 'tokenstile[pydantic]'") from error
    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(type_)
        schema = adapter.json_schema()
    except pydantic.errors.PydanticUserError as error:
        reason = str(error).splitlines()[0]
        raise InvalidArgumentError(f"{type_!r} has no JSON Schema: {reason}") from error
    return JsonOutput(
        schema,
        adapter.validate_json,
        lambda value: part_of(type_, value),
        compact=compact,
        spelling=spelling,
    )


def _texts(type_: Any) -> dict[str, object]:  # noqa: ANN401 - any type
    """Give the values of a type by their texts, if it has nothing but texts."""
    if typing.get_origin(type_) is typing.Literal:
        values: dict[object, object] = {value: value for value in typing.get_args(type_)}
    elif isinstance(type_, type) and issubclass(type_, enum.Enum):
        values = {member.value: member for member in type_}
    else:
        return {}
    if not all(type(text) is str and text for text in values):
        return {}
    return typing.cast("dict[str, object]", values)


def part_of(type_: Any, value: object) -> object:  # noqa: ANN401 - any type
    """Bring what is there of a value into the form of its type, as far as that can be told."""
    type_ = _plain(type_)
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if isinstance(value, list) and origin in {list, set, frozenset, tuple} and arguments:
        items = _item_types(origin, arguments, len(value))
        return [part_of(item, part) for item, part in zip(items, value, strict=True)]
    if isinstance(value, dict) and origin is dict and len(arguments) == 2:  # noqa: PLR2004 - keys and values
        return {key: part_of(arguments[1], part) for key, part in value.items()}
    if isinstance(value, dict) and isinstance(type_, type):
        return _part_of_class(type_, value)
    return value


def _part_of_class(type_: type, value: dict[str, object]) -> object:
    if hasattr(type_, "model_construct"):
        return _part_of_model(type_, value)
    if dataclasses.is_dataclass(type_):
        return _part_of_dataclass(type_, value)
    if typing.is_typeddict(type_):
        hints = _hints(type_)
        return {key: part_of(hints.get(key, Any), part) for key, part in value.items()}
    return value


def _plain(type_: Any) -> Any:  # noqa: ANN401 - any type
    """Take off what says nothing of the form; of a union, leave the one type that has fields."""
    while True:
        origin = typing.get_origin(type_)
        if origin in {typing.Annotated, typing.Required, typing.NotRequired}:
            type_ = typing.get_args(type_)[0]
        elif origin in {typing.Union, types.UnionType}:
            others = [one for one in typing.get_args(type_) if one is not types.NoneType]
            if len(others) != 1:
                return Any
            type_ = others[0]
        else:
            return type_


def _item_types(origin: Any, arguments: tuple[Any, ...], count: int) -> list[Any]:  # noqa: ANN401 - a type
    if origin is not tuple or arguments[-1] is Ellipsis:
        return [arguments[0]] * count
    return [*arguments[:count], *[Any] * max(0, count - len(arguments))]


def _part_of_model(type_: Any, value: dict[str, object]) -> object:  # noqa: ANN401 - a model of Pydantic
    found: dict[str, object] = {}
    for name, field in type_.model_fields.items():
        key = field.validation_alias if isinstance(field.validation_alias, str) else field.alias or name
        if key in value:
            found[name] = part_of(field.annotation, value[key])
        elif field.is_required():
            found[name] = None
    return type_.model_construct(**found)


def _part_of_dataclass(type_: type, value: dict[str, object]) -> object:
    hints = _hints(type_)
    made: object = object.__new__(type_)
    for field in dataclasses.fields(type_):
        part = (
            part_of(hints.get(field.name, Any), value[field.name]) if field.name in value else _default(field)
        )
        object.__setattr__(made, field.name, part)
    return made


def _hints(type_: type) -> dict[str, Any]:
    """Give the types of the fields of a class; none where its module is gone, as that of code that was executed."""
    try:
        return typing.get_type_hints(type_)
    except (AttributeError, NameError, TypeError):
        return {}


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    return None if field.default_factory is dataclasses.MISSING else field.default_factory()
