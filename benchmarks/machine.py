"""What a benchmark ran on, for those who read its figures later."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
from pathlib import Path

ENGINES = ("tokenstile", "xgrammar", "llguidance", "glrmask", "outlines_core")


def describe() -> dict[str, str]:
    """Give the processor, the day, and the versions of the engines that are installed."""
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "versions": ", ".join(f"{name} {version(name)}" for name in ENGINES if version(name)),
    }


def processor() -> str:
    """Give the processor's name as Linux knows it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def version(name: str) -> str:
    """Give the version of a package, or nothing if it is not installed; this tree may not be."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def in_words(about: dict[str, str]) -> str:
    """Give it as a sentence."""
    where = f"{about['cores']} cores of {about['processor']}, Python {about['python']}"
    return f"{where}, {about['date']}; {about['versions']}"
