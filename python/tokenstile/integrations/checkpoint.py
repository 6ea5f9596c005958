"""Results that are not lost: files of lines that several workers append to, each to its own, and all read.

A line is one result in JSON with its key. It is written whole, by one call, and forced to the disk before it counts; a
line that was cut off when a worker died ends without a line break, and is not read. Files are never changed otherwise,
so a reader goes on where it stopped. If a key was written twice, the first that is found counts.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from pathlib import Path
from typing import Any

__all__ = ["Checkpoint"]


class Checkpoint:
    """The results in a folder that all workers see."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._name = f"part-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
        self._read: dict[Path, int] = {}
        self._places: dict[str, tuple[Path, int]] = {}

    def refresh(self) -> None:
        """Look what others have written."""
        for path in sorted(self.folder.glob("part-*.jsonl")):
            with path.open("rb") as file:
                start = file.seek(self._read.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._places.setdefault(json.loads(line)["key"], (path, start))
                    start += len(line)
            self._read[path] = start

    def get(self, key: str) -> dict[str, Any] | None:
        """Give the result with a key, if it was there at the last `refresh` or was put by this worker."""
        place = self._places.get(key)
        if place is None:
            return None
        path, start = place
        with path.open("rb") as file:
            file.seek(start)
            result: dict[str, Any] = json.loads(file.readline())
        return result

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Write a result; it is on the disk when this returns."""
        path = self.folder / self._name
        with path.open("ab", buffering=0) as file:
            start = file.tell()
            file.write(json.dumps({**result, "key": key}).encode() + b"\n")
            os.fsync(file.fileno())
        self._places.setdefault(key, (path, start))

    def __len__(self) -> int:
        return len(self._places)
