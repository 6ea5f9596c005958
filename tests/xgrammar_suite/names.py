"""Names of tests, many in one line: ``test_lark.py::test_errors[0,3-5]``."""

from __future__ import annotations

import re
from collections import defaultdict

__all__ = ["joined", "split"]

_JOINED = re.compile(r"(?P<function>[^\[]+)\[(?P<numbers>[0-9,-]+)\]")


def split(lines):
    """Give the single names of lines that stand for many."""
    names = set()
    for line in lines:
        found = _JOINED.fullmatch(line)
        if found is None:
            raise ValueError(f"{line!r} is no name of tests, such as test_a.py::test_b[0,2-4]")
        for part in found["numbers"].split(","):
            first, _, last = part.partition("-")
            names.update(f"{found['function']}[{at}]" for at in range(int(first), int(last or first) + 1))
    return names


def joined(names):
    """Give the shortest lines for single names, in order."""
    numbers = defaultdict(set)
    for name in names:
        function, _, number = name.removesuffix("]").rpartition("[")
        numbers[function].add(int(number))
    return [f"{function}[{_ranges(sorted(found))}]" for function, found in sorted(numbers.items())]


def _ranges(numbers):
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
