"""How many threads a model of llama.cpp is given where nobody says, and how they wait for each other.

Its threads meet some two hundred times a token, and by OpenMP's default those that come first spin until the others are
there. On a machine that has other work, one of the others is often not running, and the rest burn what it waits for. So
threads sleep while they wait, and there is one less than there are processors, for everything else that goes on in the
process: masks, compilations, clients.

PERF: 60 tokens of SmolLM2 on two processors with two other busy processes, wall time and processor time: one thread
1.4 s and 0.4; two that sleep 0.9 and 0.6; two that spin 1,000 times before they sleep 5.9 and 1.7; 10,000 times 31 and
6.8; OpenMP's default over 60 s.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["default_threads", "let_threads_sleep"]

_MOST: Final = 16
_CPU_LIMIT: Final = Path("/sys/fs/cgroup/cpu.max")
_WAITING: Final = "OMP_WAIT_POLICY"
_SPINS_OF_GNU: Final = "GOMP_SPINCOUNT"


def default_threads() -> int:
    """Give the number of threads for a model on this machine."""
    return max(1, min(_processors() - 1, _MOST))


def let_threads_sleep() -> None:
    """Have threads of OpenMP sleep while they wait, unless the environment says how they wait.

    It counts for libraries that are loaded later.
    """
    if _SPINS_OF_GNU not in os.environ:
        os.environ.setdefault(_WAITING, "passive")


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
