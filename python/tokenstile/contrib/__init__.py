"""Glue for other libraries, under the names that XGrammar has for it. Each module is imported only when it is used."""

from __future__ import annotations

from importlib import import_module

__all__ = ["hf", "mlxlm"]


def __getattr__(name: str) -> object:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
