"""How many threads a model is given where nobody says.

llama.cpp takes four, whatever the machine has. Its threads wait for each other by spinning, so with fewer processors
than threads each step waits for one that is not running, and a machine with two processors is many times slower than
with one thread. So the number is that of the processors that this process may use, less one for everything else that
goes on in it: masks, compilations, clients.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["default_threads"]

_MOST: Final = 16
_CPU_LIMIT: Final = Path("/sys/fs/cgroup/cpu.max")


def default_threads() -> int:
    """Give the number of threads for a model on this machine."""
    return max(1, min(_processors() - 1, _MOST))


def _processors() -> int:
    """Count the processors that this process may use; a container may have less than the machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return min(count, _container_limit() or count)


def _container_limit() -> int | None:
    """Read how many processors a Linux container may use at a time, rounded up; nothing where there is no limit."""
    try:
        quota, period = _CPU_LIMIT.read_text(encoding="ascii").split()
        return None if quota == "max" else max(1, -(-int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        return None
