"""vLLM's tokenizers as compilers, one for each tokenizer in a process.

Where the front end and the engine are one process they share the compiler, and with it the grammars and their tables.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import vllm.envs
from vllm.utils.mistral import is_mistral_tokenizer

from tokenstile import GrammarCompiler, TokenizerInfo, VocabType

__all__ = ["compiler_for", "vocabulary_of"]

_LOCK = threading.Lock()
_COMPILERS: weakref.WeakKeyDictionary[Any, dict[int, GrammarCompiler]] = weakref.WeakKeyDictionary()


def compiler_for(tokenizer: Any, vocab_size: int) -> GrammarCompiler:  # noqa: ANN401 - of vLLM
    """Return the compiler for a tokenizer and a model with so many logits; made at the first call."""
    with _LOCK:
        by_size = _COMPILERS.setdefault(tokenizer, {})
        if vocab_size not in by_size:
            by_size[vocab_size] = GrammarCompiler(
                vocabulary_of(tokenizer, vocab_size),
                cache_limit_bytes=vllm.envs.VLLM_XGRAMMAR_CACHE_MB * 1024 * 1024,
            )
        return by_size[vocab_size]


def vocabulary_of(tokenizer: Any, vocab_size: int) -> TokenizerInfo:  # noqa: ANN401 - of vLLM
    """Read a tokenizer of vLLM; ``vocab_size`` is the number of the model's logits."""
    if is_mistral_tokenizer(tokenizer):
        return _mistral_vocabulary(tokenizer, vocab_size)
    return TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocab_size)


def _mistral_vocabulary(tokenizer: Any, vocab_size: int) -> TokenizerInfo:  # noqa: ANN401 - of mistral_common
    """Read a tokenizer of mistral_common, which has the bytes of each token."""
    inner = tokenizer.tokenizer
    if not tokenizer.is_tekken:
        names = [inner.id_to_piece(token) for token in range(len(tokenizer.vocab))]
        vocab_type = VocabType.BYTE_FALLBACK
    else:
        # Tekken's names for bytes that are no text are all the same, so the bytes themselves are taken.
        names = [_tekken_bytes(inner, token) for token in range(len(tokenizer.vocab))]
        vocab_type = VocabType.RAW
    return TokenizerInfo(
        names[:vocab_size],
        vocab_type,
        vocab_size=vocab_size,
        stop_token_ids=[tokenizer.eos_token_id],
        add_prefix_space=not tokenizer.is_tekken,
        special_token_ids=[token for token in range(len(names[:vocab_size])) if inner.is_special(token)],
    )


def _tekken_bytes(inner: Any, token: int) -> bytes:  # noqa: ANN401 - of mistral_common
    if inner.is_special(token):
        return str(inner.id_to_piece(token)).encode()
    return bytes(inner.id_to_byte_piece(token))
