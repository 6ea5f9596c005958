"""Models of llama.cpp, through a context with one sequence for each slot.

All slots share the cells of one cache.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenstile.engine.models.gguf import GgufFile
from tokenstile.engine.models.llama_library import take_errors
from tokenstile.engine.models.threads import default_threads
from tokenstile.exceptions import InvalidArgumentError, TokenstileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import llama_cpp

    from tokenstile.engine.models import Feed
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["LlamaCppModel"]


class LlamaCppModel:
    """A model of llama.cpp."""

    def __init__(
        self,
        source: GgufFile | llama_cpp.Llama,
        *,
        num_slots: int = 8,
        max_length: int = 1024,
        max_batch_tokens: int = 512,
        num_threads: int | None = None,
        info: TokenizerInfo | None = None,
    ) -> None:
        """Take a loaded file, or a ``Llama`` of llama-cpp-python; ``info`` is its vocabulary, where that is known."""
        self.file = source if isinstance(source, GgufFile) else GgufFile.of_llama(source)
        """The model's file. Its weights are loaded once, for all contexts."""
        self.tokenizer_info = info or self.file.tokenizer_info()
        self.num_slots = num_slots
        self.max_length = max_length
        self._max_batch_tokens = max_batch_tokens
        self._functions = functions = self.file.functions
        params = functions.llama_context_default_params()
        params.n_ctx = num_slots * max_length
        params.n_batch = params.n_ubatch = max_batch_tokens
        params.n_seq_max = num_slots
        params.kv_unified = True
        params.n_threads = params.n_threads_batch = num_threads or default_threads()
        take_errors()
        self._context = functions.llama_init_from_model(self.file.handle, params)
        if not self._context:
            raise InvalidArgumentError(
                f"llama.cpp makes no context for {num_slots} sequences of {max_length} tokens: "
                f"{take_errors() or 'it does not say why'}"
            )
        self._memory = functions.llama_get_memory(self._context)
        self._batch = functions.llama_batch_init(max_batch_tokens, 0, 1)
        # llama.cpp's memory is given back with this object. At the end of the process it goes by itself.
        # With the file, which must outlive the context: in a cycle the collector has no order of its own.
        weakref.finalize(self, _free, functions, self._context, self._batch, self.file).atexit = False

    def encode(self, text: str) -> list[int]:
        """Give the tokens of a text; names of special tokens in it stand for these tokens."""
        return self.file.encode(text)

    def forward(self, feeds: Sequence[Feed]) -> Any:  # noqa: ANN401 - an array of numpy
        """Read tokens. Gives a row of logits for each wanted token."""
        entries = [
            (token, feed.position + at, feed.slot, at >= len(feed.tokens) - feed.num_logits)
            for feed in feeds
            for at, token in enumerate(feed.tokens)
        ]
        rows = []
        for start in range(0, len(entries), self._max_batch_tokens):
            rows += self._decode(entries[start : start + self._max_batch_tokens])
        return np.stack(rows) if rows else np.empty((0, self.tokenizer_info.vocab_size), np.float32)

    def _decode(self, entries: list[tuple[int, int, int, bool]]) -> list[Any]:
        batch = self._batch
        batch.n_tokens = len(entries)
        for at, (token, position, slot, wanted) in enumerate(entries):
            batch.token[at], batch.pos[at], batch.logits[at] = token, position, wanted
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, slot
        status = self._functions.llama_decode(self._context, batch)
        if status:
            raise TokenstileError(f"llama.cpp could not read {len(entries)} tokens: it returned {status}")
        size = (self.tokenizer_info.vocab_size,)
        return [
            np.ctypeslib.as_array(self._functions.llama_get_logits_ith(self._context, at), size).copy()
            for at, entry in enumerate(entries)
            if entry[3]
        ]

    def truncate(self, slot: int, length: int) -> None:
        """Forget all but the first tokens of a sequence."""
        self._functions.llama_memory_seq_rm(self._memory, slot, length, -1)


def _free(functions: Any, context: Any, batch: Any, _file: GgufFile) -> None:  # noqa: ANN401 - llama.cpp's
    functions.llama_batch_free(batch)
    functions.llama_free(context)
