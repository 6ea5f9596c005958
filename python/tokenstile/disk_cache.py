"""Vocabularies kept on disk, so that a second start does not need the library that the first one read them with.

A ``tokenizer.json`` is read as fast as anything that could be kept of it, and a grammar is compiled as fast as a
compiled one is loaded; neither is kept here. What does take long is a vocabulary that only another library can read:
that of a GGUF file comes out of llama.cpp token by token, and an encoding of tiktoken by name is fetched and put
together by tiktoken. Those are kept, in the form of `TokenizerInfo.serialize_json`.

An entry is a file: a line of JSON that says what it is, and the body. What always holds:

1. An entry is found by a hash of everything that it depends on: the source, the library that reads it, and the version
   of this package. So it never has to be invalidated.
2. Nothing of an entry is believed before its checksum, its version and the fingerprint of the vocabulary that it gives
   are right. One that is not is dropped with a warning, and made again.
3. Entries are written beside their place and moved there, so that readers see a whole one or none.
4. The folder is bounded in bytes: those that were not used for the longest time go first.
5. A folder that somebody else owns or may write to is not used. A cache that does not work is never an error:
   everything goes on without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from tokenstile._core import TokenizerInfo as _NativeTokenizerInfo
from tokenstile._core import __version__
from tokenstile.exceptions import TokenstileError
from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CACHE_VARIABLE", "DiskCache", "Entry", "cache_folder", "encoding_key", "gguf_key"]

CACHE_VARIABLE: Final = "TOKENSTILE_CACHE_DIR"
"""The environment's variable for another folder; empty for none at all."""

_LOG: Final = logging.getLogger(__name__)
_FORMAT: Final = "tokenstile-vocabulary-2"
_SUFFIX: Final = ".vocabulary"
_LIMIT_BYTES: Final = 256 << 20
_LARGEST_ENTRY: Final = 64 << 20
_LONGEST_HEADER: Final = 4096
# A GGUF file begins with its vocabulary; what comes after are gigabytes of weights.
_HEAD_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A vocabulary on disk."""

    name: str
    """What it was read from."""
    num_tokens: int
    path: Path
    num_bytes: int
    used_at: float
    """When it was last used, in seconds since 1970."""

    @property
    def age(self) -> float:
        """Seconds since it was last used."""
        return max(time.time() - self.used_at, 0.0)


class DiskCache:
    """A folder of vocabularies. Several processes may use one at a time."""

    def __init__(self, folder: Path | None = None, limit_bytes: int = _LIMIT_BYTES) -> None:
        self.folder = cache_folder() if folder is None else folder
        """Where the entries are, or ``None`` where nothing is kept."""
        self._limit_bytes = limit_bytes

    def vocabulary(self, key: str | None, name: str, read: Callable[[], TokenizerInfo]) -> TokenizerInfo:
        """Give the vocabulary under a key, or read it and keep it. Without a key it is just read."""
        if key is None or self.folder is None:
            return read()
        found = self.load(key)
        if found is None:
            found = read()
            self.store(key, name, found)
        return found

    def load(self, key: str) -> TokenizerInfo | None:
        """Give the vocabulary under a key, or nothing."""
        if self.folder is None or not _is_safe(self.folder):
            return None
        path = self.folder / f"{key}{_SUFFIX}"
        try:
            info = _read(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, TokenstileError) as error:
            warnings.warn(f"dropping {path} from the cache: {error}", stacklevel=2)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return info

    def store(self, key: str, name: str, info: TokenizerInfo) -> bool:
        """Keep a vocabulary; gives whether that was possible."""
        if self.folder is None:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_safe(self.folder):
                return False
            _write(self.folder / f"{key}{_SUFFIX}", name, info)
            self._evict(self.folder / f"{key}{_SUFFIX}")
        except OSError as error:
            _LOG.warning("the vocabulary of %s is not kept in %s: %s", name, self.folder, error)
            return False
        return True

    def entries(self) -> list[Entry]:
        """List what is kept, the last used first."""
        found = (_entry(path) for path in self._files(_SUFFIX))
        return sorted((entry for entry in found if entry), key=lambda entry: -entry.used_at)

    def clear(self) -> int:
        """Remove all entries, and what broken writes left; gives how many files that were. Others are left alone."""
        count = 0
        for path in [*self._files(_SUFFIX), *self._files(f"{_SUFFIX}.part")]:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
                count += 1
        return count

    def _files(self, suffix: str) -> Iterator[Path]:
        if self.folder is not None and self.folder.is_dir():
            for path in sorted(self.folder.iterdir()):
                if path.name.endswith(suffix) and stat.S_ISREG(path.lstat().st_mode):
                    yield path

    def _evict(self, newest: Path) -> None:
        entries = self.entries()
        room = self._limit_bytes - sum(entry.num_bytes for entry in entries if entry.path == newest)
        for entry in entries:
            if entry.path == newest:
                continue
            room -= entry.num_bytes
            if room < 0:
                with contextlib.suppress(FileNotFoundError):
                    entry.path.unlink()


def cache_folder() -> Path | None:
    """Give the folder of the cache: that of the environment, or where the system keeps such things."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        return _system_folder() / "tokenstile"
    except RuntimeError:  # there is no home
        return None


def _system_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return base if base.is_absolute() else Path.home() / ".cache"


def gguf_key(path: Path) -> str | None:
    """Give the key of the vocabulary of a GGUF file, or nothing if it cannot be read.

    It depends on the first bytes of the file, which hold the vocabulary, its size and its time, because models are too
    large to be read as a whole.
    """
    try:
        with _open(path) as file:
            status = os.fstat(file.fileno())
            head = hashlib.sha256(file.read(_HEAD_BYTES)).hexdigest()
    except OSError:
        return None
    return _key(
        "gguf", head, status.st_size, status.st_mtime_ns, _version("xllamacpp"), _version("llama_cpp_python")
    )


def encoding_key(name: str) -> str:
    """Give the key of an encoding of tiktoken; which tokens it has is fixed in that package."""
    return _key("tiktoken", name, _version("tiktoken"))


def _key(*parts: object) -> str:
    known = (_FORMAT, __version__, _NativeTokenizerInfo.SAVED_VERSION, *parts)
    return hashlib.sha256(json.dumps([str(part) for part in known]).encode()).hexdigest()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _is_safe(folder: Path) -> bool:
    """Tell whether nobody else can put entries there."""
    if not hasattr(os, "getuid"):
        return True
    try:
        status = folder.stat()
    except OSError:
        return False
    is_ours = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not is_ours:
        warnings.warn(
            f"the cache {folder} is not used, because others may write to it: chmod go-w, or set {CACHE_VARIABLE}",
            stacklevel=3,
        )
    return is_ours


def _write(path: Path, name: str, info: TokenizerInfo) -> None:
    body = info.serialize_json().encode()
    header = {
        "format": _FORMAT,
        "version": __version__,
        "name": name,
        "num_tokens": info.vocab_size,
        "fingerprint": info.fingerprint,
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    line = json.dumps(header).encode() + b"\n"
    if len(line) > _LONGEST_HEADER or len(line) + len(body) > _LARGEST_ENTRY:
        raise OSError("it is too large")
    handle, part = tempfile.mkstemp(suffix=f"{_SUFFIX}.part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(line + body)
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _open(path: Path) -> BinaryIO:
    """Open a file to read it; ``OSError`` for a pipe or a device, which may have no end, or nobody who writes."""
    file = os.fdopen(
        os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb"
    )
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is not a regular file")
    return file


def _read(path: Path) -> TokenizerInfo:
    """Read an entry, and check all that can be checked."""
    with _open(path) as file:
        header = _header(file.readline(_LONGEST_HEADER))
        body = file.read(_LARGEST_ENTRY + 1)
    if header["version"] != __version__:
        raise ValueError(f"it is of version {header['version']}")
    if hashlib.sha256(body).hexdigest() != header["sha256"]:
        raise ValueError("its checksum is wrong")
    info = TokenizerInfo.deserialize_json(body.decode())
    if info.fingerprint != header["fingerprint"] or info.vocab_size != header["num_tokens"]:
        raise ValueError("it holds another vocabulary than it says")
    return info


def _header(line: bytes) -> dict[str, Any]:
    header = json.loads(line)
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ValueError("it is no vocabulary of this format")
    wanted = {"version": str, "name": str, "num_tokens": int, "fingerprint": str, "sha256": str}
    if not all(isinstance(header.get(field), kind) for field, kind in wanted.items()):
        raise ValueError("its first line is not complete")
    return header


def _entry(path: Path) -> Entry | None:
    """Describe an entry without reading its body; nothing if it went, and just a file if it is broken."""
    try:
        status = path.stat()
        with _open(path) as file:
            line = file.readline(_LONGEST_HEADER)
    except OSError:
        return None
    try:
        header = _header(line)
    except (ValueError, RecursionError):
        header = {"name": "(broken)", "num_tokens": 0}
    return Entry(header["name"], header["num_tokens"], path, status.st_size, status.st_mtime)
