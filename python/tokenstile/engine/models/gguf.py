"""A GGUF file that llama.cpp has read: its weights, its vocabulary and what it says of itself."""

from __future__ import annotations

import ctypes
import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenstile.engine.models.gguf_vocabulary import read_control_token_names, read_vocabulary, token_piece
from tokenstile.engine.models.llama_library import llama_functions, take_errors
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    import llama_cpp

    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["GgufFile"]


class GgufFile:
    """A file that is loaded. Its memory is given back with this object."""

    def __init__(self, path: str | Path, *, vocab_only: bool = False) -> None:
        """Load a file; ``vocab_only`` leaves the weights out.

        Raises ``ImportError`` where llama.cpp is missing, and `InvalidArgumentError` where it cannot read the file.
        """
        self.functions = llama_functions()
        """llama.cpp's functions by their names."""
        if not Path(path).is_file():
            raise InvalidArgumentError(f"there is no file {str(path)!r}")
        params = self.functions.llama_model_default_params()
        params.vocab_only = vocab_only
        take_errors()
        self.handle: Any = self.functions.llama_model_load_from_file(os.fsencode(path), params)
        """llama.cpp's pointer to the model."""
        if not self.handle:
            raise InvalidArgumentError(
                f"llama.cpp cannot load {path}: {take_errors() or 'it does not say why'}"
            )
        self.vocab: Any = self.functions.llama_model_get_vocab(self.handle)
        """llama.cpp's pointer to the vocabulary."""
        self._owner: llama_cpp.Llama | None = None
        # At the end of the process it goes by itself.
        weakref.finalize(self, self.functions.llama_model_free, self.handle).atexit = False

    @classmethod
    def of_llama(cls, llama: llama_cpp.Llama) -> GgufFile:
        """Take the file that a ``Llama`` of llama-cpp-python has loaded."""
        import llama_cpp  # noqa: PLC0415 - there is a Llama, so there is the module

        file = cls.__new__(cls)
        file.functions = llama_cpp
        file.handle = llama.model
        file.vocab = llama_cpp.llama_model_get_vocab(llama.model)
        file._owner = llama  # noqa: SLF001 - the file lives as long as it does
        return file

    @property
    def train_length(self) -> int:
        """The longest sequence that the model was trained for, in tokens."""
        return int(self.functions.llama_model_n_ctx_train(self.handle))

    @property
    def chat_template(self) -> str | None:
        """The template of Jinja that writes messages as a prompt."""
        return self.metadata("tokenizer.chat_template")

    @property
    def bos_token(self) -> str:
        """The text of the token that begins a sequence, or nothing."""
        return self._name(self.functions.llama_vocab_bos(self.vocab))

    @property
    def eos_token(self) -> str:
        """The text of the token that ends one, or nothing."""
        return self._name(self.functions.llama_vocab_eos(self.vocab))

    def metadata(self, key: str) -> str | None:
        """Give a value of the file's header as text."""
        size = 4096
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = self.functions.llama_model_meta_val_str(self.handle, key.encode(), buffer, size)
            if length < 0:
                return None
            if length < size:
                return buffer.value.decode("utf-8", "replace")
            size = length + 1

    def tokenizer_info(self) -> TokenizerInfo:
        """Read the vocabulary, with all tokens that end a text."""
        return read_vocabulary(self.functions, self.vocab)

    def control_token_names(self) -> dict[int, str]:
        """Give the names of the special tokens, by their ids."""
        return read_control_token_names(self.functions, self.vocab)

    def encode(self, text: str) -> list[int]:
        """Give the tokens of a text; names of special tokens in it stand for these tokens."""
        data = text.encode()
        size = len(data) + 8
        while True:
            tokens = (ctypes.c_int32 * size)()
            count = self.functions.llama_tokenize(self.vocab, data, len(data), tokens, size, False, True)
            if count >= 0:
                return tokens[:count]
            size = -count

    def _name(self, token: int) -> str:
        if token < 0:
            return ""
        return token_piece(self.functions, self.vocab, token, special=True).decode("utf-8", "replace")
