"""Vocabularies named on the command line.

A name is a GGUF file, a ``tokenizer.json`` or a folder with one, a ``.tiktoken`` file, an encoding of tiktoken, or
``bytes``: 256 tokens of one byte and one that ends a text, which needs nothing to be installed. Without a name it is
the embedded model's.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tokenstile.cli.outcome import notes
from tokenstile.engine.models.embedded import (
    EMBEDDED_MODEL,
    HOW_TO_GET_IT,
    embedded_gguf,
    silence_llama,
)
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["TokenizerOption", "Vocabulary", "load_vocabulary", "spell_token"]

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


def load_vocabulary(name: str | None) -> Vocabulary:
    """Load a vocabulary by its name."""
    if name is None:
        path = embedded_gguf()
        if path is not None and importlib.util.find_spec("llama_cpp") is not None:
            return Vocabulary(_from_gguf(path), EMBEDDED_MODEL)
        notes().print(f"[dim]taking single bytes for tokens: {HOW_TO_GET_IT}[/]")
        name = "bytes"
    if name == "bytes":
        return Vocabulary(TokenizerInfo([*(bytes([byte]) for byte in range(256)), b"</s>"]), name)
    return Vocabulary(_from_name(name), name)


def _from_name(name: str) -> TokenizerInfo:
    path = Path(name)
    if path.suffix == ".gguf":
        return _from_gguf(path)
    if path.suffix == ".tiktoken":
        return TokenizerInfo.from_tiktoken(path)
    if path.exists():
        return TokenizerInfo.from_file(path)
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


def _from_gguf(path: Path) -> TokenizerInfo:
    if not path.is_file():
        raise InvalidArgumentError(f"there is no file {str(path)!r}")
    try:
        import llama_cpp  # noqa: PLC0415 - only when used
    except ImportError as error:
        raise ImportError("GGUF files need llama-cpp-python: pip install 'tokenstile[llama-cpp]'") from error
    from tokenstile.integrations.llama_cpp import tokenizer_info  # noqa: PLC0415 - only when used

    silence_llama()
    return tokenizer_info(llama_cpp.Llama(str(path), vocab_only=True, verbose=False))


def spell_token(info: TokenizerInfo, token: int) -> str:
    """Show a token: its text in quotes, or its bytes where it is no text; or that it is a stop token."""
    data = info.token_bytes(token)
    if not data:
        return "(ends the text)" if token in info.stop_token_ids else "(no text)"
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)
