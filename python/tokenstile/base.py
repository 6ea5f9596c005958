"""What XGrammar's objects have in common, for programs that ask for it.

XGrammar's four main classes derive from `XGRObject`, which holds a handle of its C++ object. Here the objects are the
compiled ones themselves, without a handle: they are known as instances of `XGRObject`, and do not inherit from it. A
class that does inherit works as in XGrammar.
"""

from __future__ import annotations

from abc import ABC
from typing import Any

from tokenstile import _core

__all__ = ["XGRObject", "_core"]


class XGRObject(ABC):  # noqa: B024 - there is nothing that a subclass has to write
    """An object that stands for another one, its handle; equal if the handles are."""

    __handle: Any = None

    @classmethod
    def _create_from_handle(cls, handle: Any) -> XGRObject:  # noqa: ANN401 - whatever it stands for
        made = cls.__new__(cls)
        made._init_handle(handle)  # noqa: SLF001 - of this class
        return made

    def _init_handle(self, handle: Any) -> None:  # noqa: ANN401 - whatever it stands for
        self.__handle = handle

    @property
    def _handle(self) -> Any:  # noqa: ANN401 - whatever it stands for
        return self.__handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and bool(self._handle == other._handle)

    __hash__ = None  # type: ignore[assignment] # as in XGrammar


for _class in (
    _core.Grammar,
    _core.CompiledGrammar,
    _core.GrammarCompiler,
    _core.GrammarMatcher,
    _core.BatchGrammarMatcher,
):
    XGRObject.register(_class)
