"""The vocabulary of a GGUF file, token by token out of llama.cpp.

``functions`` is whatever has llama.cpp's functions by their names: `llama_library`, or the module ``llama_cpp``.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["read_control_token_names", "read_vocabulary", "token_piece"]

_TEXT_TYPES: Final = {1: "SPM", 2: "BPE", 4: "UGM", 5: "RWKV", 6: "PLAMO2"}
"""llama.cpp's types of vocabularies whose tokens are pieces of text that only need to be put together."""

_UNKNOWN: Final = 1
_CONTROL: Final = 8
"""llama.cpp's attributes of the tokens that it leaves out of texts."""


def read_vocabulary(functions: Any, vocab: Any, *, special: bool = False) -> TokenizerInfo:  # noqa: ANN401 - llama.cpp's
    """Read a vocabulary, with all tokens that end a text.

    Control tokens and the unknown token are special: llama.cpp leaves them out of the texts that it gives, and a
    grammar has them only where it names them. With ``special`` they are text like any other.
    """
    kind = functions.llama_vocab_type(vocab)
    if kind not in _TEXT_TYPES:
        raise InvalidArgumentError(
            f"the model has a vocabulary of llama.cpp's type {kind}, whose tokens are no texts"
        )
    ids = range(functions.llama_vocab_n_tokens(vocab))
    pieces = [token_piece(functions, vocab, token, special=True) for token in ids]
    silent = [] if special else [token for token in ids if _is_silent(functions, vocab, token)]
    ends = [token for token in ids if functions.llama_vocab_is_eog(vocab, token)]
    if not ends:
        raise InvalidArgumentError("the model has no token that ends a text")
    return TokenizerInfo(pieces, stop_token_ids=ends, special_token_ids=silent)


def read_control_token_names(functions: Any, vocab: Any) -> dict[int, str]:  # noqa: ANN401 - llama.cpp's
    """Give the names of the special tokens, by their ids: ``<|im_start|>`` and its like."""
    ids = range(functions.llama_vocab_n_tokens(vocab))
    names = {
        token: token_piece(functions, vocab, token, special=True).decode("utf-8", "replace")
        for token in ids
        if _is_silent(functions, vocab, token)
    }
    return {token: name for token, name in names.items() if name}


def _is_silent(functions: Any, vocab: Any, token: int) -> bool:  # noqa: ANN401 - llama.cpp's
    return bool(functions.llama_vocab_get_attr(vocab, token) & (_UNKNOWN | _CONTROL))


def token_piece(functions: Any, vocab: Any, token: int, *, special: bool) -> bytes:  # noqa: ANN401 - llama.cpp's
    """Give the bytes of a token; none for a control token, or its name with ``special``."""
    size = 64
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = functions.llama_token_to_piece(vocab, token, buffer, size, 0, special)
        if length >= 0:
            return buffer.raw[:length]
        # It was too small, and so many bytes are needed.
        size = -length
