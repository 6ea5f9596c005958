"""A model that wants to say one thing: logits that prefer a text, for tests without a real model."""

from __future__ import annotations

import numpy as np

import tokenstile as xgr
from tokenstile.engine.models.loading import LoadedModel

WORDS = ["name", "age", '":', '", "', '{"', '"}', "the ", "yes", "no", "  "]
TOKENS = [bytes([byte]) for byte in range(256)] + [word.encode() for word in WORDS] + [b"</s>"]
STOP = len(TOKENS) - 1


class StubModel:
    """Says its answer to every prompt, and then stops; what a mask takes away, it replaces by the lowest token."""

    def __init__(self, answer: str, num_slots: int = 2, max_length: int = 4096) -> None:
        self.tokenizer_info = xgr.TokenizerInfo(TOKENS)
        self.num_slots, self.max_length = num_slots, max_length
        self.answer = answer.encode()
        self.prompts: list[str] = []
        self._tokens: dict[int, list[int]] = {}
        self._starts: dict[int, int] = {}

    def encode(self, text: str) -> list[int]:
        self.prompts.append(text)
        return list(text.encode())

    def forward(self, feeds):
        rows = []
        for feed in feeds:
            tokens = self._tokens.setdefault(feed.slot, [])
            tokens[feed.position :] = feed.tokens
            if feed.num_logits:
                self._starts.setdefault(feed.slot, len(tokens))
            first = len(tokens) - feed.num_logits + 1
            rows += [self._logits(feed.slot, first + count) for count in range(feed.num_logits)]
        return np.stack(rows) if rows else np.empty((0, len(TOKENS)), np.float32)

    def _logits(self, slot: int, length: int):
        written = b"".join(TOKENS[token] for token in self._tokens[slot][self._starts[slot] : length])
        rest = self.answer[len(written) :]
        logits = -np.arange(len(TOKENS), dtype=np.float32) / 1000
        if not rest:
            logits[STOP] = 100
        for token, text in enumerate(TOKENS[:STOP]):
            if rest.startswith(text):
                logits[token] = 10 + len(text)
        return logits

    def truncate(self, slot: int, length: int) -> None:
        self._tokens[slot] = self._tokens.get(slot, [])[:length]
        if not length:
            self._starts.pop(slot, None)


def loaded(answer: str, **options) -> LoadedModel:
    """Give the model as `tokenstile.engine.models.loading.load_model` does."""
    return LoadedModel("stub", StubModel(answer, **options), None)
