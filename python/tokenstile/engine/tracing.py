"""One text, token by token, with what the grammar had to say about each.

It is the loop of the engine without batches and threads, for looking at it: how many tokens were allowed in each
place, whether the grammar left just one text, how long the mask and the model took. With the same parameters it writes
the text that the engine writes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenstile._core import GrammarMatcher
from tokenstile.bitmask import apply_token_bitmask_inplace, get_bitmask_shape
from tokenstile.engine.forced import is_forced_text
from tokenstile.engine.models import Feed
from tokenstile.engine.request import FinishReason
from tokenstile.engine.sampling import Sampler, SamplingParams
from tokenstile.engine.text import TextStream
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output import StructuredOutputManager

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from tokenstile.engine.models import Model
    from tokenstile.structured_output import StructuredOutputsParams

__all__ = ["TracedToken", "trace"]


@dataclass(frozen=True, slots=True)
class TracedToken:
    """One token of a text."""

    token_id: int
    text: str
    """What became certain of the text with it; a token may end in the middle of a character."""
    num_allowed: int
    """How many tokens were allowed in its place."""
    is_forced: bool
    """Whether it was alone in its mask, or the grammar left no text but its own.

    What is written to be complete within ``max_tokens`` is no matter of the grammar, and neither are escapes where JSON
    may be spelled in any way."""
    mask_us: float
    """The microseconds that the mask took; zero without a grammar."""
    model_ms: float
    """The milliseconds that the model took."""
    finish_reason: FinishReason | None = None
    """Set on the last one."""


def trace(
    model: Model,
    prompt: str,
    params: SamplingParams | None = None,
    structure: StructuredOutputsParams | None = None,
    *,
    slot: int = 0,
    complete_in_time: bool = True,
) -> Iterator[TracedToken]:
    """Write a text, and give its tokens as they come. The slot must not be in use.

    With ``complete_in_time`` a structured text is complete within ``max_tokens``, as the engine's are.
    """
    params = params or SamplingParams()
    tokens = model.encode(prompt)
    if not tokens or len(tokens) >= model.max_length:
        raise InvalidArgumentError(
            f"the prompt has {len(tokens)} tokens, and the model has room for 1 to {model.max_length - 1}"
        )
    most = min(params.max_tokens, model.max_length - len(tokens)) if complete_in_time else None
    matcher = None if structure is None else _matcher(model, params, structure, most)
    beside_escapes = (
        structure is not None
        and structure.chosen_spelling == "any"
        and (structure.json is not None or structure.json_object is not None)
    )
    return _trace(_Trace(model, params, matcher, slot, tokens, beside_escapes=beside_escapes), tokens)


def _matcher(
    model: Model, params: SamplingParams, structure: StructuredOutputsParams, max_tokens: int | None
) -> GrammarMatcher:
    manager = StructuredOutputManager(model.tokenizer_info, max_num_seqs=1)
    stops = {*model.tokenizer_info.stop_token_ids, *params.stop_token_ids}
    try:
        request = manager.grammar_init("trace", structure, stop_token_ids=stops, max_tokens=max_tokens)
        request.result()
        assert request.matcher is not None  # noqa: S101 - the backend is tokenstile's
        return request.matcher
    finally:
        manager.shutdown()


def _without_budget(matcher: GrammarMatcher) -> GrammarMatcher:
    return GrammarMatcher(matcher.compiled_grammar, override_stop_tokens=matcher.stop_token_ids)


def _trace(state: _Trace, tokens: list[int]) -> Iterator[TracedToken]:
    try:
        pending, position = tokens, 0
        while True:
            token = state.step(pending, position)
            yield token
            if token.finish_reason is not None:
                return
            position += len(pending)
            pending = [token.token_id]
    finally:
        state.model.truncate(state.slot, 0)


class _Trace:
    """What is kept between two tokens."""

    def __init__(
        self,
        model: Model,
        params: SamplingParams,
        matcher: GrammarMatcher | None,
        slot: int,
        prompt: list[int],
        *,
        beside_escapes: bool,
    ) -> None:
        self.model, self.slot = model, slot
        self._beside_escapes = beside_escapes
        self._params, self._matcher = params, matcher
        # Near the end of a budget less fits than the grammar has.
        self._unbounded = None if matcher is None else _without_budget(matcher)
        self._sampler, self._stream = Sampler(params, prompt), TextStream(params.stop)
        self._size = model.tokenizer_info.vocab_size
        self._stops = {*model.tokenizer_info.stop_token_ids, *params.stop_token_ids}
        self._bitmask = np.zeros(get_bitmask_shape(1, self._size), dtype=np.int32)
        self._count = 0

    def step(self, pending: list[int], position: int) -> TracedToken:
        """Read tokens, and choose the next one."""
        started = time.perf_counter()
        logits = self.model.forward([Feed(self.slot, position, pending, 1)])
        model_ms = (time.perf_counter() - started) * 1e3
        mask_us = self._mask(logits)
        num_allowed = int(np.count_nonzero(np.isfinite(logits[0])))
        token = self._sampler.choose(logits[0])
        is_forced = self._is_forced(token, num_allowed)
        self._count += 1
        text = self._text(token)
        reason = self._finish_reason(token, position + len(pending) + 1)
        if reason is not None:
            text += self._stream.push(b"", final=True)
        return TracedToken(token, text, num_allowed, is_forced, mask_us, model_ms, reason)

    def _mask(self, logits: npt.NDArray[np.float32]) -> float:
        if self._matcher is None:
            return 0.0
        started = time.perf_counter()
        self._matcher.fill_next_token_bitmask(self._bitmask)
        mask_us = (time.perf_counter() - started) * 1e6
        apply_token_bitmask_inplace(logits, self._bitmask, vocab_size=self._size)
        return mask_us

    def _is_forced(self, token: int, num_allowed: int) -> bool:
        if self._unbounded is None or num_allowed == 1 or token in self._stops:
            return num_allowed == 1
        data = self.model.tokenizer_info.token_bytes(token)
        return is_forced_text(self._unbounded, data, beside_escapes=self._beside_escapes)

    def _text(self, token: int) -> str:
        for matcher in (self._matcher, self._unbounded):
            if matcher is not None:
                matcher.accept_token(token)
        if token in self._stops:
            return ""
        return self._stream.push(self.model.tokenizer_info.token_bytes(token))

    def _finish_reason(self, token: int, length: int) -> FinishReason | None:
        has_stopped = token in self._stops if self._matcher is None else self._matcher.is_terminated()
        if self._stream.is_stopped:
            return FinishReason.STOP
        if has_stopped:
            is_cut = self._matcher is not None and self._matcher.is_cut_by_budget
            return FinishReason.LENGTH if is_cut else FinishReason.STOP
        is_full = self._count >= self._params.max_tokens or length >= self.model.max_length
        return FinishReason.LENGTH if is_full else None
