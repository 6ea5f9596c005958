"""Backends by name.

A backend is registered with a function that makes one for a `BackendContext`. The adapters for other libraries are
listed by the name of their module and imported when somebody asks for them, so that none of those libraries is needed
or loaded before. Registering a name again replaces it.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Callable
from typing import Final

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.backend import TokenstileBackend
from tokenstile.structured_output.contract import BackendContext, StructuredOutputBackend

__all__ = ["BackendFactory", "available_backends", "create_backend", "register_backend"]

BackendFactory = Callable[[BackendContext], StructuredOutputBackend]

# The library that an adapter needs, and the class in `tokenstile.structured_output.adapters`.
_ADAPTERS: Final = {
    "xgrammar": ("xgrammar", "xgrammar", "XGrammarAdapter"),
    "llguidance": ("llguidance", "llguidance", "LLGuidanceAdapter"),
    "outlines_core": ("outlines_core", "outlines_core", "OutlinesCoreAdapter"),
}
_ALIASES: Final = {"guidance": "llguidance", "outlines": "outlines_core"}
_lock = threading.Lock()
_factories: dict[str, BackendFactory] = {TokenstileBackend.name: TokenstileBackend}


def register_backend(name: str, factory: BackendFactory) -> None:
    """Let ``name`` stand for the backends that ``factory`` makes."""
    if not name or not callable(factory):
        raise InvalidArgumentError("a backend is registered with a name and a function that makes one")
    with _lock:
        _factories[name] = factory


def create_backend(name: str, context: BackendContext) -> StructuredOutputBackend:
    """Make the backend of that name."""
    name = _ALIASES.get(name, name)
    with _lock:
        factory = _factories.get(name)
    if factory is None:
        factory = _adapter(name)
    return factory(context)


def available_backends() -> list[str]:
    """Return the names of the backends that can be made here: the registered ones, and adapters with a library."""
    with _lock:
        registered = set(_factories)
    installed = {name for name, (library, *_) in _ADAPTERS.items() if _is_installed(library)}
    return sorted(registered | installed)


def _is_installed(library: str) -> bool:
    spec = importlib.util.find_spec(library)
    return spec is not None and spec.origin is not None


def _adapter(name: str) -> BackendFactory:
    if name not in _ADAPTERS:
        known = sorted({*available_backends(), *_ADAPTERS})
        raise InvalidArgumentError(f"there is no backend {name!r}; there are {', '.join(known)}")
    library, module, class_name = _ADAPTERS[name]
    if not _is_installed(library):
        extra = library.replace("_", "-")
        raise InvalidArgumentError(
            f"the backend {name!r} needs the package {library}, which is not installed: "
            f"pip install 'tokenstile[{extra}]'"
        )
    loaded = importlib.import_module(f"tokenstile.structured_output.adapters.{module}")
    factory: BackendFactory = getattr(loaded, class_name)
    return factory
