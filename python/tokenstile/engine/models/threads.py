"""How many threads a model of llama.cpp is given where nobody says, and how they wait for each other.

Its threads meet many times in each layer, and those that come first spin until the others are there: for milliseconds,
as long as there are no more threads than processors. On a machine that has other work, one of the others is often not
running, and the rest burn what it waits for. So threads go to sleep after some microseconds here, and there is one less
than there are processors, for everything else that goes on in the process: masks, compilations, clients.

PERF: 16 requests of SmolLM2 in 8 slots, two processors, ten other processes: 20 s with one thread; more than 126 s with
two that spin, 29 to 40 s with two that sleep; 22 s with four, which libgomp does not let spin, for half as much
processor time again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["default_threads", "let_threads_sleep"]

_MOST: Final = 16
_CPU_LIMIT: Final = Path("/sys/fs/cgroup/cpu.max")
_SPIN_VARIABLE: Final = "GOMP_SPINCOUNT"
_SPINS: Final = "10000"


def default_threads() -> int:
    """Give the number of threads for a model on this machine."""
    return max(1, min(_processors() - 1, _MOST))


def let_threads_sleep() -> None:
    """Have threads of OpenMP sleep after a short while of waiting, unless the environment says how they wait.

    It counts for libraries that are loaded later.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault(_SPIN_VARIABLE, _SPINS)


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
