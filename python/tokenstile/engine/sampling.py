"""Choosing a token from logits.

One choice takes one random number, whatever the parameters. So a request with a seed writes the same text alone, in a
batch, and with speculation, where only tokens that are kept are chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenstile.exceptions import InvalidArgumentError, MatcherError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["Sampler", "SamplingParams", "TokenLogprobs"]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a text is to be written."""

    max_tokens: int = 256
    """The most tokens, those of thoughts included."""
    temperature: float = 0.0
    """Zero takes the likeliest token."""
    top_p: float = 1.0
    """Only the likeliest tokens whose probabilities add up to this are chosen from."""
    top_k: int = 0
    """Only so many of the likeliest tokens are chosen from; zero for all."""
    seed: int | None = None
    """The same seed gives the same text."""
    stop: tuple[str, ...] = ()
    """Texts that end the output, and are not part of it."""
    stop_token_ids: tuple[int, ...] = ()
    """Tokens that end the output, beside those of the model."""
    logprobs: int | None = None
    """How many of the likeliest tokens to note at each place, with the chosen one; ``None`` to note nothing."""
    min_p: float = 0.0
    """Only tokens whose probability is at least this much of the likeliest's are chosen from."""
    frequency_penalty: float = 0.0
    """What a token's logit is less for each time that the output has it."""
    presence_penalty: float = 0.0
    """What a token's logit is less if the output has it."""
    repetition_penalty: float = 1.0
    """What the logits of tokens of the prompt and the output are divided by, or, if negative, multiplied by."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    """Tokens, and what is added to their logits."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InvalidArgumentError(f"max_tokens must be positive, not {self.max_tokens}")
        if not 0 <= self.temperature < float("inf"):
            raise InvalidArgumentError(f"temperature must be a number from 0 on, not {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise InvalidArgumentError(f"top_p must be more than 0 and at most 1, not {self.top_p}")
        if self.top_k < 0:
            raise InvalidArgumentError(f"top_k must not be negative, not {self.top_k}")
        if isinstance(self.stop, str) or not all(isinstance(text, str) and text for text in self.stop):
            raise InvalidArgumentError("stop must be a tuple of texts that are not empty")
        if self.logprobs is not None and self.logprobs < 0:
            raise InvalidArgumentError(f"logprobs must not be negative, not {self.logprobs}")
        if not 0 <= self.min_p <= 1:
            raise InvalidArgumentError(f"min_p must be from 0 to 1, not {self.min_p}")
        if not 0 < self.repetition_penalty < float("inf"):
            raise InvalidArgumentError(f"repetition_penalty must be positive, not {self.repetition_penalty}")
        added = (self.frequency_penalty, self.presence_penalty, *(bias for _, bias in self.logit_bias))
        if not all(math.isfinite(value) for value in added):
            raise InvalidArgumentError("penalties and biases must be finite")

    @property
    def changes_logits(self) -> bool:
        """Whether logits are changed before a token is chosen."""
        return bool(
            self.frequency_penalty or self.presence_penalty or self.repetition_penalty != 1 or self.logit_bias
        )


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """How likely the tokens of one place were, among those that were allowed there, at temperature 1."""

    logprob: float
    """The logarithm of the chosen token's probability."""
    top: tuple[tuple[int, float], ...]
    """The likeliest tokens with theirs, from the likeliest on; fewer where fewer were allowed."""

    @classmethod
    def note(cls, logits: npt.NDArray[np.float32], chosen: int, count: int) -> TokenLogprobs:
        """Read the probabilities from logits under their mask."""
        scores = logits.astype(np.float64)
        scores -= scores.max()
        scores -= np.log(np.exp(scores).sum())
        best = np.argpartition(-scores, min(count, len(scores) - 1))[:count]
        order = best[np.argsort(-scores[best], kind="stable")]
        top = tuple((int(token), float(scores[token])) for token in order if np.isfinite(scores[token]))
        return cls(float(scores[chosen]), top)


class Sampler:
    """Chooses the tokens of one request."""

    def __init__(self, params: SamplingParams, prompt: Sequence[int] = ()) -> None:
        self._params = params
        self._random = np.random.default_rng(params.seed)
        self._changes = _Changes(params, prompt) if params.changes_logits else None

    def choose(self, logits: npt.NDArray[np.float32]) -> int:
        """Choose the next token of the output; those whose logit is minus infinity cannot be."""
        if self._changes is None:
            return self._choose(logits)
        token = self._choose(self._changes.apply(logits))
        self._changes.note(token)
        return token

    def _choose(self, logits: npt.NDArray[np.float32]) -> int:
        best = int(np.argmax(logits))
        if not np.isfinite(logits[best]):
            raise MatcherError("no token can be chosen: the logits are not finite")
        if self._params.temperature == 0:
            return best
        scaled = (logits.astype(np.float64) - float(logits[best])) / self._params.temperature
        weights = np.exp(scaled)
        # Under a mask few are left, and those are quickly put in order.
        possible = np.flatnonzero(weights)
        order = possible[np.argsort(-weights[possible], kind="stable")]
        kept = self._kept(weights[order])
        totals = np.cumsum(weights[order[:kept]])
        at = int(np.searchsorted(totals, self._random.random() * totals[-1], side="right"))
        return int(order[min(at, kept - 1)])

    def _kept(self, weights: npt.NDArray[np.float64]) -> int:
        """Count the tokens that are chosen from, given their weights from the likeliest on."""
        count = int(np.count_nonzero(weights))
        if self._params.top_k:
            count = min(count, self._params.top_k)
        if self._params.min_p > 0:
            count = int(np.searchsorted(-weights[:count], -self._params.min_p * weights[0], side="right"))
        if self._params.top_p < 1:
            totals = np.cumsum(weights[:count])
            count = int(np.searchsorted(totals, self._params.top_p * totals[-1])) + 1
        return min(count, len(weights))


class _Changes:
    """What is changed of logits before a token is chosen."""

    def __init__(self, params: SamplingParams, prompt: Sequence[int]) -> None:
        self._params = params
        self._counts: Counter[int] = Counter()
        self._seen = set(prompt)
        self._biased = np.array([token for token, _ in params.logit_bias], dtype=np.int64)
        self._biases = np.array([bias for _, bias in params.logit_bias], dtype=np.float32)

    def note(self, token: int) -> None:
        """Take note of a token of the output."""
        self._counts[token] += 1
        self._seen.add(token)

    def apply(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Give other logits; what is minus infinity stays so."""
        changed = logits.copy()
        params = self._params
        if params.repetition_penalty != 1 and self._seen:
            seen = np.fromiter(self._seen, dtype=np.int64)
            seen = seen[seen < len(changed)]
            values = changed[seen]
            penalty = np.float32(params.repetition_penalty)
            changed[seen] = np.where(values > 0, values / penalty, values * penalty)
        if self._counts:
            tokens = np.fromiter(self._counts.keys(), dtype=np.int64)
            counts = np.fromiter(self._counts.values(), dtype=np.float32)
            changed[tokens] -= params.frequency_penalty * counts + params.presence_penalty
        np.add.at(changed, self._biased, self._biases)
        return changed
