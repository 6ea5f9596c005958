"""One request, as its client sees it.

The engine's thread writes, the client's thread reads: chunks go through a queue, and the rest is written before the
last chunk and read after it. So there are three ways to use a request: iterate over it for chunks as they come, iterate
asynchronously, or wait for `result`.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from tokenstile.engine.sampling import Sampler, SamplingParams, TokenLogprobs
from tokenstile.engine.text import TextStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from tokenstile.structured_output import StructuredOutputRequest

__all__ = ["Chunk", "Completion", "FinishReason", "GenerationRequest"]


class FinishReason(Enum):
    """Why an output ended."""

    STOP = "stop"
    """It is complete: the grammar's text has ended, or a stop token or stop text came."""
    LENGTH = "length"
    """It was cut off at ``max_tokens``, or at the length of the model's context."""
    CANCELLED = "cancelled"
    """The client gave it up."""
    ERROR = "error"
    """It could not be written; `GenerationRequest.result` raises why."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of an output."""

    text: str = ""
    reasoning: str = ""
    """A piece of a thought, with its markers."""
    finish_reason: FinishReason | None = None
    """Set in the last chunk."""
    num_tokens: int = 0
    """How many tokens had been written when this became certain."""
    length_reason: str = ""
    """In a last chunk whose ``finish_reason`` is LENGTH: why the output is not complete."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished output."""

    text: str
    reasoning: str
    token_ids: list[int]
    finish_reason: FinishReason
    num_prompt_tokens: int
    num_accepted_drafts: int
    """How many tokens came from guesses, and cost no step of their own."""
    length_reason: str = ""
    """Why the output is not complete, if ``finish_reason`` is LENGTH."""


class GenerationRequest:
    """A request of an `Engine`, which makes it. Iterate over one only while the engine runs on its own thread."""

    def __init__(
        self, request_id: str, prompt: list[int], params: SamplingParams, stops: frozenset[int]
    ) -> None:
        self.request_id = request_id
        self.prompt = prompt
        self.params = params
        self.stops = stops
        """All tokens that end the output."""
        self.error: BaseException | None = None
        self.finish_reason: FinishReason | None = None
        self.begun_at: float | None = None
        """When it got a slot of the model, on the clock of ``time.monotonic``; until then it waits."""
        # What follows belongs to the engine.
        self.structured: StructuredOutputRequest | None = None
        self.slot: int | None = None
        self.num_fed = 0
        """How many tokens, of the prompt and the output, the model has read."""
        self.output: list[int] = []
        self.logprobs: list[TokenLogprobs] = []
        """One for each token of the output, where the parameters ask for it."""
        self.num_accepted_drafts = 0
        self.length_reason = ""
        """Why the output was cut off, if it was."""
        self.sampler = Sampler(params, prompt)
        self.text = TextStream(params.stop)
        self.reasoning = TextStream()
        self.is_cancelled = False
        self._chunks: queue.SimpleQueue[Chunk] = queue.SimpleQueue()
        self._notify: Callable[[], object] | None = None
        self._finished = threading.Event()

    @property
    def tokens(self) -> list[int]:
        """All tokens, of the prompt and of the output."""
        return self.prompt + self.output

    # The client's side.

    def __iter__(self) -> Iterator[Chunk]:
        """Give chunks as they come; once."""
        while True:
            chunk = self._chunks.get()
            yield chunk
            if chunk.finish_reason is not None:
                return

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        """Give chunks as they come; once. Leaving the loop early gives the request up.

        No thread waits meanwhile: the engine wakes the event loop.
        """
        arrived = asyncio.Event()
        self._notify = partial(asyncio.get_running_loop().call_soon_threadsafe, arrived.set)
        try:
            while True:
                arrived.clear()
                try:
                    chunk = self._chunks.get_nowait()
                except queue.Empty:
                    await arrived.wait()
                    continue
                yield chunk
                if chunk.finish_reason is not None:
                    return
        finally:
            self._notify = None
            if self.finish_reason is None:
                self.cancel()

    def result(self, timeout: float | None = None) -> Completion:
        """Wait for the end. Raises what went wrong, or ``TimeoutError``."""
        if not self._finished.wait(timeout):
            raise TimeoutError(f"{self.request_id} is not finished after {timeout} seconds")
        if self.error is not None:
            raise self.error
        assert self.finish_reason is not None  # noqa: S101 - set before the event
        return Completion(
            self.text.text,
            self.reasoning.text,
            self.output,
            self.finish_reason,
            len(self.prompt),
            self.num_accepted_drafts,
            self.length_reason,
        )

    def cancel(self) -> None:
        """Give the request up; it ends at the engine's next step."""
        self.is_cancelled = True

    # The engine's side.

    def write(self, text: bytes, reasoning: bytes, num_tokens: int) -> None:
        """Take the bytes of a token, the last of so many, and pass on what has become text."""
        chunk = Chunk(self.text.push(text), self.reasoning.push(reasoning), num_tokens=num_tokens)
        if chunk.text or chunk.reasoning:
            self._put(chunk)

    def note_cut(self, is_context: bool) -> None:
        """Note why the output is cut off: the model's context is full, or the tokens that were asked for are."""
        limit = (
            "the model's context is full" if is_context else f"max_tokens={self.params.max_tokens} is reached"
        )
        structured = self.structured
        if structured is None or structured.params is None:
            rest = "the output has no structure that would end it"
        elif structured.is_cut_by_budget:
            rest = "free text was cut off there, and could have gone on"
        elif structured.is_thinking:
            rest = "the model was still thinking, and its thoughts are not ended in time"
        else:
            rest = f"a grammar of the backend {structured.backend!r} was not asked to be complete in time"
        self.length_reason = f"{limit}; {rest}"

    def finish(self, reason: FinishReason, error: BaseException | None = None) -> None:
        """End the request."""
        rest = self.text.push(b"", final=True), self.reasoning.push(b"", final=True)
        self.finish_reason, self.error = reason, error
        self._finished.set()
        self._put(Chunk(*rest, reason, len(self.output), self.length_reason))

    def _put(self, chunk: Chunk) -> None:
        self._chunks.put(chunk)
        notify = self._notify
        if notify is not None:
            # The client's event loop may be gone, and the client with it.
            with contextlib.suppress(RuntimeError):
                notify()
