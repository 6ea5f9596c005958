"""Vocabularies named on the command line.

A name is a GGUF file, a ``tokenizer.json`` or a folder with one, a ``.tiktoken`` file, an encoding of tiktoken, or
``bytes``: 256 tokens of one byte and one that ends a text, which needs nothing to be installed. Without a name it is
the embedded model's.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tokenstile.cli.outcome import escape, notes
from tokenstile.disk_cache import DiskCache, encoding_key, gguf_key
from tokenstile.engine.models.embedded import EMBEDDED_MODEL, HOW_TO_GET_IT, embedded_gguf
from tokenstile.engine.models.llama_library import has_llama
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from tokenstile.engine.models.gguf import GgufFile

__all__ = ["Reader", "TokenizerOption", "Vocabulary", "find_reader", "load_vocabulary", "spell_token"]

TokenizerOption = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        "-T",
        help="A GGUF file, a tokenizer.json or its folder, a .tiktoken file, an encoding of tiktoken, or bytes. "
        f"By default {EMBEDDED_MODEL}'s, where it is installed, and bytes otherwise.",
    ),
]


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary and where it is from."""

    info: TokenizerInfo
    name: str
    read_names: Callable[[], dict[int, str]] = dict
    """Gives the names of tokens that have no text, where the source knows them."""


@dataclass(frozen=True)
class Reader:
    """A vocabulary that is known by name, and how to get at it."""

    name: str
    read: Callable[[], TokenizerInfo]
    key: str | None = None
    """Where the disk cache keeps it; ``None`` if reading it is as fast."""
    read_names: Callable[[], dict[int, str]] = dict
    """Gives the names of tokens that have no text, where the source knows them."""


def load_vocabulary(name: str | None) -> Vocabulary:
    """Load a vocabulary by its name, from the disk cache where that is faster."""
    reader = find_reader(name)
    info = DiskCache().vocabulary(reader.key, reader.name, reader.read)
    return Vocabulary(info, reader.name, reader.read_names)


def find_reader(name: str | None) -> Reader:
    """Find out what a name stands for; nothing is read yet."""
    if name is None:
        path = embedded_gguf()
        if path is not None and has_llama():
            return _gguf_reader(EMBEDDED_MODEL, path)
        notes().print(f"[dim]taking single bytes for tokens: {escape(HOW_TO_GET_IT)}[/]")
        name = "bytes"
    if name == "bytes":
        return Reader(name, _single_bytes)
    path = Path(name)
    if path.suffix == ".gguf":
        return _gguf_reader(name, path)
    if path.suffix == ".tiktoken":
        return Reader(name, partial(TokenizerInfo.from_tiktoken, path))
    if path.exists():
        return Reader(name, partial(TokenizerInfo.from_file, path))
    return Reader(name, partial(_from_encoding, name), encoding_key(name))


def _single_bytes() -> TokenizerInfo:
    return TokenizerInfo([*(bytes([byte]) for byte in range(256)), b"</s>"])


def _from_encoding(name: str) -> TokenizerInfo:
    _check_encoding(name)
    return TokenizerInfo.from_tiktoken(name)


def _check_encoding(name: str) -> None:
    """Refuse what is no encoding of tiktoken, before anything is fetched."""
    known: list[str] = []
    if importlib.util.find_spec("tiktoken") is not None:
        import tiktoken  # noqa: PLC0415 - only when used

        known = tiktoken.list_encoding_names()
    if name not in known:
        raise InvalidArgumentError(f"there is no file {name!r}, and no encoding of tiktoken of that name")


def _gguf_reader(name: str, path: Path) -> Reader:
    return Reader(name, partial(_from_gguf, path), gguf_key(path), partial(_names_in_gguf, path))


def _from_gguf(path: Path) -> TokenizerInfo:
    return _open_gguf(path).tokenizer_info()


def _names_in_gguf(path: Path) -> dict[int, str]:
    return _open_gguf(path).control_token_names()


def _open_gguf(path: Path) -> "GgufFile":
    if not path.is_file():
        raise InvalidArgumentError(f"there is no file {str(path)!r}")
    from tokenstile.engine.models.gguf import GgufFile  # noqa: PLC0415 - only when used

    return GgufFile(path, vocab_only=True)


def spell_token(info: TokenizerInfo, token: int) -> str:
    """Show a token: its text in quotes, or its bytes where it is no text; or that it is a stop token."""
    data = info.token_bytes(token)
    if not data:
        return "(ends the text)" if token in info.stop_token_ids else "(no text)"
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)
