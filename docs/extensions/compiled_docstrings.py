"""Docstrings of the compiled module for the reference, which is otherwise made from the sources.

The stubs of the compiled module have its types and no prose; the prose is in the module itself. Here each object of the
stubs gets the docstring of its namesake at run time, and classes the signature of their constructor.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe

__all__ = ["CompiledDocstrings"]

_COMPILED = "tokenstile._core"


class CompiledDocstrings(griffe.Extension):
    """Fills in what the stubs leave out."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:  # noqa: ANN401 - griffe's
        """Look at the stubs once they are read."""
        if mod.path == _COMPILED and str(mod.filepath).endswith(".pyi"):
            _describe(mod, import_module(_COMPILED))


def _describe(documented: griffe.Object | griffe.Alias, found: object) -> None:
    for name, member in documented.members.items():
        namesake = getattr(found, name, None)
        if member.is_alias or namesake is None or (name.startswith("_") and name != "__init__"):
            continue
        text = inspect.getdoc(namesake)
        if text and not member.docstring and text != inspect.getdoc(object.__init__):
            member.docstring = griffe.Docstring(text, parent=member, parser="google")
        if member.is_class:
            _describe(member, namesake)
            _show_constructor(member)


def _show_constructor(documented: griffe.Object | griffe.Alias) -> None:
    """Compiled classes are made by ``__new__``; the reference looks for what ``__init__`` takes."""
    made_by = documented.members.get("__new__")
    if isinstance(made_by, griffe.Function) and "__init__" not in documented.members:
        made_by.returns = None
        documented.members["__init__"] = made_by
