"""The loop: continuous batching with structured output.

```text
 submit ──▶ waiting ──(grammar ready, slot free)──▶ running ──▶ finished
                                                     │   ▲
                 each step, for all running at once: ▼   │
   plan     which tokens of whom: parts of prompts, last tokens, guesses
   forward  the model reads them            ║ masks: the manager fills the rows on another thread meanwhile
   choose   mask the logits, sample, keep guesses as long as they are what was sampled
   settle   move the grammars on, pass text on, end what has ended
```

What always holds:

1. Requests join and leave between steps. Nobody waits for somebody else's grammar, prompt or output.
2. A token is sampled from the model's logits under the mask of its own place, whether it was guessed or not. So guesses
   change how long a text takes, and never the text.
3. A structured output that ended with ``FinishReason.STOP`` by itself is a text of its grammar, and every one does so
   within its ``max_tokens``, unless the engine is told not to see to that. While a request thinks, it cannot stop.
4. What is wrong with one request ends that request.
"""

from __future__ import annotations

import itertools
import logging
import operator
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from tokenstile.bitmask import apply_token_bitmask_inplace
from tokenstile.engine.drafting import NgramDrafter
from tokenstile.engine.models import Feed
from tokenstile.engine.request import FinishReason, GenerationRequest
from tokenstile.engine.sampling import SamplingParams, TokenLogprobs
from tokenstile.engine.thoughts import Thoughts
from tokenstile.exceptions import InvalidArgumentError, MatcherError
from tokenstile.structured_output import RequestStatus, StructuredOutputManager

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from types import TracebackType
    from typing import Self

    import numpy.typing as npt

    from tokenstile.engine.models import Model
    from tokenstile.structured_output import GrammarBitmask, ReasoningMarkers, StructuredOutputsParams

__all__ = ["Engine"]

_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Turn:
    """What one running request does in one step."""

    request: GenerationRequest
    feed: Feed
    drafts: list[int] = field(default_factory=list)


class Engine:
    """Serves one model.

    ``num_speculative_tokens`` is how many tokens are guessed ahead, and ``reasoning`` how the model marks its thoughts.
    ``max_batch_tokens`` is how many tokens a step reads at most; longer prompts are read in parts. With
    ``complete_in_time`` a structured output is complete within its ``max_tokens`` and the model's context, its thoughts
    included, and one that no text of its grammar is short enough for is an error; without it outputs are cut off there.
    Use it as a context manager, and it runs on a thread of its own; or call `step` until `is_idle`.
    """

    def __init__(
        self,
        model: Model,
        *,
        num_speculative_tokens: int = 0,
        reasoning: ReasoningMarkers | None = None,
        max_batch_tokens: int = 512,
        manager: StructuredOutputManager | None = None,
        complete_in_time: bool = True,
    ) -> None:
        if max_batch_tokens < 1:
            raise InvalidArgumentError(f"max_batch_tokens must be positive, not {max_batch_tokens}")
        self.model = model
        self.manager = manager or StructuredOutputManager(
            model.tokenizer_info,
            max_num_seqs=model.num_slots,
            num_speculative_tokens=num_speculative_tokens,
            reasoning=reasoning,
        )
        self.complete_in_time = complete_in_time
        self.num_steps = 0
        self._drafter = NgramDrafter(num_speculative_tokens) if num_speculative_tokens else None
        self._max_batch_tokens = max_batch_tokens
        self._stops = frozenset(model.tokenizer_info.stop_token_ids)
        self._free_slots = list(range(model.num_slots))
        self._waiting: deque[GenerationRequest] = deque()
        self._running: list[GenerationRequest] = []
        self._names = itertools.count()
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closing = False

    # Clients.

    def submit(
        self,
        prompt: str | Sequence[int],
        params: SamplingParams | None = None,
        *,
        structure: StructuredOutputsParams | None = None,
        request_id: str | None = None,
        backend: str | None = None,
        client: Hashable = None,
    ) -> GenerationRequest:
        """Begin a request. What is wrong with its grammar comes out of the request.

        ``backend`` is the name of a structured output backend, if it is not to be the manager's. ``client`` is who
        asks: the grammars of clients are compiled in turns.
        """
        params = params or SamplingParams()
        tokens = self.model.encode(prompt) if isinstance(prompt, str) else _token_ids(prompt)
        self._check(tokens, params)
        name = request_id or f"request-{next(self._names)}"
        request = GenerationRequest(name, tokens, params, self._stops.union(params.stop_token_ids))
        with self._wake:
            if self._is_closing:
                raise InvalidArgumentError("the engine is closed")
            request.structured = self.manager.grammar_init(
                request.request_id,
                structure,
                backend=backend,
                stop_token_ids=request.stops if params.stop_token_ids else None,
                prompt_token_ids=tokens,
                max_tokens=self._most_tokens(request) if self.complete_in_time else None,
                on_ready=self._notice,
                client=client,
            )
            self._waiting.append(request)
            self._wake.notify_all()
        return request

    def _most_tokens(self, request: GenerationRequest) -> int:
        """Say how many tokens an output may have: as many as were asked for, and as the model has room for."""
        return min(request.params.max_tokens, self.model.max_length - len(request.prompt))

    def _check(self, tokens: list[int], params: SamplingParams) -> None:
        size = self.model.tokenizer_info.vocab_size
        if not all(0 <= token < size for token in params.stop_token_ids):
            raise InvalidArgumentError(f"stop_token_ids must be from 0 to {size - 1}")
        if not all(0 <= token < size for token, _ in params.logit_bias):
            raise InvalidArgumentError(f"the tokens of logit_bias must be from 0 to {size - 1}")
        if not tokens or not all(0 <= token < size for token in tokens):
            raise InvalidArgumentError(f"a prompt is one token or more, each from 0 to {size - 1}")
        if len(tokens) >= self.model.max_length:
            raise InvalidArgumentError(
                f"the prompt has {len(tokens)} tokens, and the model has room for {self.model.max_length}"
            )

    def generate(
        self,
        prompt: str | Sequence[int],
        params: SamplingParams | None = None,
        *,
        structure: StructuredOutputsParams | None = None,
    ) -> str:
        """Write one text, and wait for it."""
        request = self.submit(prompt, params, structure=structure)
        if self._thread is None:
            self.run_until_idle()
        return request.result().text

    # The loop.

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._running and not self._waiting

    def run_until_idle(self) -> None:
        """Do steps until all requests are finished."""
        if self._thread is not None:
            raise InvalidArgumentError("the engine runs on a thread of its own: wait for the requests")
        while not self.is_idle:
            if not self.step():
                self._sleep()

    def step(self) -> bool:
        """Do one step. Gives whether anything was done: requests may all be waiting for their grammars."""
        self._drop_cancelled()
        self._admit()
        turns = self._plan()
        if not turns:
            return False
        self.num_steps += 1
        asking = [turn for turn in turns if turn.feed.num_logits]
        drafts = {turn.request.request_id: turn.drafts for turn in asking if turn.drafts}
        masks = self.manager.grammar_bitmask_async([turn.request.request_id for turn in asking], drafts)
        try:
            try:
                logits = self.model.forward([turn.feed for turn in turns])
            finally:
                # Waited for in any case: requests must not go while their rows are being filled.
                rows = masks.result()
        except Exception as error:  # noqa: BLE001 - a model may raise anything; the engine goes on
            _LOG.exception("a step failed, and with it %s requests", len(turns))
            for turn in turns:
                self._finish(turn.request, FinishReason.ERROR, error)
            return True
        for turn in turns:
            turn.request.num_fed += len(turn.feed.tokens) - len(turn.drafts)
        self._settle(asking, self._choose(asking, logits, rows))
        return True

    def _drop_cancelled(self) -> None:
        for request in [*self._running, *self._waiting_now()]:
            if request.is_cancelled:
                self._finish(request, FinishReason.CANCELLED)

    def _waiting_now(self) -> list[GenerationRequest]:
        with self._wake:
            return list(self._waiting)

    def _admit(self) -> None:
        """Let requests run whose grammar is ready, in the order in which they came."""
        for request in self._waiting_now():
            assert request.structured is not None  # noqa: S101 - since `submit`
            status = request.structured.poll()
            if status is RequestStatus.FAILED:
                self._finish(request, FinishReason.ERROR, request.structured.error)
            elif status is RequestStatus.CANCELLED:
                self._finish(request, FinishReason.CANCELLED)
            elif status is RequestStatus.READY and self._free_slots:
                with self._wake:
                    self._waiting.remove(request)
                request.slot = self._free_slots.pop()
                request.begun_at = time.monotonic()
                self._running.append(request)

    def _plan(self) -> list[_Turn]:
        """Say what each running request feeds: those that write go first, prompts take what room is left."""
        turns = []
        room = self._max_batch_tokens
        for request in sorted(self._running, key=lambda request: not request.output):
            if room < 1:
                break
            turn = self._turn(request, room)
            room -= len(turn.feed.tokens)
            turns.append(turn)
        return turns

    def _turn(self, request: GenerationRequest, room: int) -> _Turn:
        assert request.slot is not None  # noqa: S101 - it is running
        pending = request.tokens[request.num_fed :]
        if len(pending) > room:
            return _Turn(request, Feed(request.slot, request.num_fed, pending[:room], 0))
        drafts = self._guess(request, room - len(pending))
        feed = Feed(request.slot, request.num_fed, pending + drafts, 1 + len(drafts))
        return _Turn(request, feed, drafts)

    def _guess(self, request: GenerationRequest, room: int) -> list[int]:
        """Guess the next tokens of a request, as far as its grammar allows them."""
        if self._drafter is None:
            return []
        most = min(
            room,
            request.params.max_tokens - len(request.output) - 1,
            self.model.max_length - len(request.tokens) - 1,
        )
        guesses = self._drafter.propose(request.tokens)[: max(most, 0)]
        return self.manager.validate_tokens(request.request_id, guesses)

    def _choose(
        self, turns: list[_Turn], logits: npt.NDArray[np.float32], masks: GrammarBitmask
    ) -> dict[str, list[int]]:
        """Sample the next tokens of each request, in as many places as its guesses were right."""
        chosen: dict[str, list[int]] = {}
        if not turns:
            return chosen
        apply_token_bitmask_inplace(logits, masks.bitmask, vocab_size=self.model.tokenizer_info.vocab_size)
        for turn, start in zip(turns, masks.starts, strict=True):
            failure = masks.errors.get(turn.request.request_id)
            if failure is not None:
                # Its rows let it only end, and that would look like an answer.
                self._finish(turn.request, FinishReason.ERROR, failure)
                continue
            rows = logits[start : start + 1 + len(turn.drafts)]
            try:
                chosen[turn.request.request_id] = self._choose_row_by_row(turn, rows)
            except MatcherError as error:
                self._finish(turn.request, FinishReason.ERROR, error)
        return chosen

    def _choose_row_by_row(self, turn: _Turn, rows: npt.NDArray[np.float32]) -> list[int]:
        thoughts = Thoughts(turn.request)
        tokens: list[int] = []
        for row, guess in zip(rows, [*turn.drafts, None], strict=True):
            if thoughts.thinking:
                # The answer is still to come.
                row[list(turn.request.stops)] = -np.inf
            token = turn.request.sampler.choose(row)
            tokens.append(token)
            if turn.request.params.logprobs is not None:
                noted = TokenLogprobs.note(row, token, turn.request.params.logprobs)
                turn.request.logprobs.append(noted)
            if token != guess or token in turn.request.stops:
                break
            thoughts.split(token)
        return tokens

    def _settle(self, turns: list[_Turn], chosen: dict[str, list[int]]) -> None:
        """Take the tokens: by the grammar first, then by the model's memory and by the client."""
        taking = [turn for turn in turns if turn.request.request_id in chosen]
        thoughts = {turn.request.request_id: Thoughts(turn.request) for turn in taking}
        fits = self.manager.accept_batch(chosen)
        for turn in taking:
            request, name = turn.request, turn.request.request_id
            if not fits[name]:
                self._finish(request, FinishReason.ERROR, _misfit(request))
                continue
            request.output += chosen[name]
            # The last token was not fed: the others were, as guesses.
            right = len(chosen[name]) - 1
            request.num_fed += right
            request.num_accepted_drafts += right
            if right < len(turn.drafts):
                self._truncate(request)
            self._write(request, chosen[name], thoughts[name])
            self._end_if_over(request)

    def _truncate(self, request: GenerationRequest) -> None:
        assert request.slot is not None  # noqa: S101 - it is running
        self.model.truncate(request.slot, request.num_fed)

    def _write(self, request: GenerationRequest, tokens: list[int], thoughts: Thoughts) -> None:
        """Pass the text of tokens on; a token that ended the output has none."""
        has_stopped = self._has_stopped(request)
        for at, token in enumerate(tokens):
            text, reasoning = thoughts.split(token)
            is_end = has_stopped and at == len(tokens) - 1
            num_tokens = len(request.output) - len(tokens) + at + 1
            request.write(b"" if is_end else text, reasoning, num_tokens)
            if request.text.is_stopped:
                # What came behind a stop text is not part of the output.
                del request.output[num_tokens:]
                return

    def _end_if_over(self, request: GenerationRequest) -> None:
        if request.text.is_stopped or self._has_stopped(request):
            structured = request.structured
            if structured is not None and structured.is_cut_by_budget and not request.text.is_stopped:
                request.note_cut(self._most_tokens(request) < request.params.max_tokens)
                self._finish(request, FinishReason.LENGTH)
                return
            self._finish(request, FinishReason.STOP)
        elif len(request.output) >= self._most_tokens(request):
            request.note_cut(len(request.output) < request.params.max_tokens)
            self._finish(request, FinishReason.LENGTH)

    def _has_stopped(self, request: GenerationRequest) -> bool:
        structured = request.structured
        if structured is not None and structured.grammar is not None:
            # A grammar may have a stop token in the middle, so that one alone does not say it.
            return structured.grammar.is_terminated()
        return request.output[-1] in request.stops

    def _finish(
        self, request: GenerationRequest, reason: FinishReason, error: BaseException | None = None
    ) -> None:
        if request in self._running:
            self._running.remove(request)
        else:
            with self._wake:
                self._waiting.remove(request)
        if request.slot is not None:
            self.model.truncate(request.slot, 0)
            self._free_slots.append(request.slot)
            request.slot = None
        self.manager.release(request.request_id)
        request.finish(reason, error)

    # A thread for the loop.

    def start(self) -> None:
        """Run the loop on a thread of its own."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tokenstile-engine", daemon=True)
            self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the loop runs on its thread."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        while not self._is_closing:
            try:
                is_busy = self.step()
            except Exception as error:  # noqa: BLE001 - clients wait: they must hear of it, whatever it is
                _LOG.exception("the engine failed, and with it %s requests", len(self._running))
                for request in list(self._running):
                    self._finish(request, FinishReason.ERROR, error)
                continue
            if not is_busy:
                self._sleep()

    def _sleep(self) -> None:
        """Wait until there may be something to do; cancellations are looked for now and then."""
        with self._wake:
            if not self._is_closing and not self._running:
                self._wake.wait(0.05 if self._waiting else 1.0)

    def _notice(self, _: object) -> None:
        with self._wake:
            self._wake.notify_all()

    def close(self) -> None:
        """End everything; requests that are not finished are cancelled."""
        with self._wake:
            self._is_closing = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()
        for request in [*self._running, *self._waiting_now()]:
            self._finish(request, FinishReason.CANCELLED)
        self.manager.shutdown()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _token_ids(prompt: Sequence[int]) -> list[int]:
    """Return a prompt as plain numbers; anything else would fail the step of all requests."""
    try:
        return [operator.index(token) for token in prompt]
    except TypeError as error:
        raise InvalidArgumentError(f"a prompt is a text, or token ids: {error}") from None


def _misfit(request: GenerationRequest) -> BaseException:
    """Say why the tokens of a request were not taken."""
    assert request.structured is not None  # noqa: S101 - since `submit`
    return request.structured.failure or MatcherError(
        f"a token of {request.request_id} does not fit its grammar"
    )
