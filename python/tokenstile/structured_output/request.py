"""One request: what it asks for, its grammar once that is ready, and where it stands.

The grammar comes through a `concurrent.futures.Future`, so there are three ways to wait for it: ``request.result()``
blocks, ``await request`` does not, and ``request.add_done_callback`` calls back. An engine does none of these: it looks
at ``request.is_schedulable`` when it makes up a batch.

A request is used by one thread at a time once it is ready, as its sequence is; many requests by many threads.
"""

from __future__ import annotations

import asyncio
import operator
import time
from concurrent.futures import CancelledError as FutureCancelledError
from enum import Enum
from typing import TYPE_CHECKING

from tokenstile.exceptions import CancelledError, TokenstileError
from tokenstile.structured_output.backend import TokenstileGrammar
from tokenstile.structured_output.feeding import feed_grammar
from tokenstile.structured_output.thought_budget import allows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence

    from tokenstile._core import GrammarMatcher
    from tokenstile.structured_output.compile_pool import GrammarFuture
    from tokenstile.structured_output.contract import StructuredOutputGrammar
    from tokenstile.structured_output.key import StructuredOutputKey
    from tokenstile.structured_output.params import StructuredOutputsParams
    from tokenstile.structured_output.reasoning import GatePosition, ReasoningGate
    from tokenstile.structured_output.tokenizers import KnownTokenizer

__all__ = ["RequestStatus", "StructuredOutputRequest"]


class RequestStatus(Enum):
    """Where a request stands."""

    COMPILING = "compiling"
    """Its grammar is not ready; it cannot be scheduled."""
    READY = "ready"
    """It can be scheduled."""
    FINISHED = "finished"
    """Its text has ended; its rows allow everything."""
    FAILED = "failed"
    """Its grammar could not be compiled, or its backend raised; ``error`` says which. Its rows let it only end."""
    CANCELLED = "cancelled"
    """It was cancelled. Its rows let it only end."""


class StructuredOutputRequest:
    """A request of a `StructuredOutputManager`, which makes it."""

    __slots__ = (
        "__weakref__",
        "_trail",
        "backend",
        "begun_at",
        "error",
        "future",
        "gate",
        "grammar",
        "holds",
        "is_cancelled",
        "key",
        "matcher",
        "native",
        "params",
        "position",
        "request_id",
        "stop_token_ids",
        "tokenizer",
        "trimmed",
    )

    def __init__(
        self,
        request_id: str,
        params: StructuredOutputsParams | None,
        tokenizer: KnownTokenizer,
        backend: str,
        future: GrammarFuture | None,
        *,
        gate: ReasoningGate | None = None,
        position: GatePosition | None = None,
        stop_token_ids: Collection[int] | None = None,
        holds: object = None,
    ) -> None:
        self.request_id = request_id
        """What the engine calls it."""
        self.params = params
        """What it asks for; ``None`` if its output has no structure."""
        self.key: StructuredOutputKey | None = None if params is None else params.key
        """What is compiled for it."""
        self.tokenizer = tokenizer
        self.stop_token_ids = _stop_tokens(stop_token_ids, tokenizer)
        """The tokens that end its text."""
        self.backend = backend
        """The name of its backend."""
        self.future = future
        """Its grammar to come; ``None`` if it needs none."""
        self.grammar: StructuredOutputGrammar | None = None
        """Its grammar, once it is ready."""
        self.matcher: GrammarMatcher | None = None
        """The matcher of a grammar of tokenstile."""
        self.native: GrammarMatcher | None = None
        """The matcher, while the native code can do all that is to be done: nothing is wrong, and no thoughts."""
        self.error: BaseException | None = None
        """Why it failed."""
        self.is_cancelled = False
        self.holds = holds
        """What must live as long as the request: its backend."""
        self.gate, self.position = gate, position
        self.begun_at = time.perf_counter()
        self.trimmed = 0
        """How many tokens of a thought `take_thought` has taken, until somebody asks."""
        # For each token, where the gate was before it and how many steps the grammar took.
        self._trail: list[tuple[GatePosition, int]] = []

    # Waiting.

    def poll(self) -> RequestStatus:
        """Look whether the grammar is ready; never waits."""
        future = self.future
        if self.is_cancelled or (future is not None and future.cancelled()):
            return RequestStatus.CANCELLED
        if self.error is not None:
            return RequestStatus.FAILED
        if future is not None and self.grammar is None:
            if not future.done():
                return RequestStatus.COMPILING
            self._take(future)
            return self.poll()
        if self.grammar is not None and self.grammar.is_terminated():
            return RequestStatus.FINISHED
        return RequestStatus.READY

    def _take(self, future: GrammarFuture) -> None:
        """Take what the future has."""
        self.error = future.exception()
        if self.error is None:
            grammar = future.result()
            self.matcher = grammar.matcher if isinstance(grammar, TokenstileGrammar) else None
            self.grammar = grammar
            self._update_native()

    def _update_native(self) -> None:
        is_fine = self.error is None and not self.is_cancelled and not self.needs_gate
        self.native = self.matcher if is_fine else None

    @property
    def status(self) -> RequestStatus:
        """Where it stands."""
        return self.poll()

    @property
    def is_schedulable(self) -> bool:
        """Whether an engine can put it into a batch."""
        return self.poll() is RequestStatus.READY

    def result(self, timeout: float | None = None) -> StructuredOutputGrammar | None:
        """Wait for the grammar; raise what kept it from being compiled, or ``TimeoutError``."""
        if self.future is None:
            return None
        try:
            self.future.result(timeout)
        except FutureCancelledError:
            raise self._cancelled() from None
        self.poll()
        return self.grammar

    @property
    def failure(self) -> BaseException | None:
        """Why it cannot go on, if it cannot: its error, or that it was cancelled."""
        status = self.poll()
        return self._cancelled() if status is RequestStatus.CANCELLED else self.error

    def _cancelled(self) -> CancelledError:
        return CancelledError(f"the request {self.request_id!r} was cancelled")

    def __await__(self) -> Generator[object, None, StructuredOutputGrammar | None]:
        """Wait for the grammar in asyncio. A task that is cancelled while it waits cancels the request."""
        return self._wait().__await__()

    async def _wait(self) -> StructuredOutputGrammar | None:
        if self.future is not None:
            try:
                await asyncio.wrap_future(self.future)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise  # it is the one who waits that was cancelled
                raise self._cancelled() from None
        self.poll()
        return self.grammar

    def add_done_callback(self, callback: Callable[[StructuredOutputRequest], object]) -> None:
        """Let ``callback`` be called with the request when its grammar is ready, failed or cancelled.

        It is called by the thread that settles the request, or at once if that has happened.
        """
        if self.future is None:
            callback(self)
        else:
            self.future.add_done_callback(lambda _: callback(self))

    def cancel(self) -> None:
        """Give the request up. Its compilation stops, unless others wait for it."""
        self.is_cancelled = True
        self.native = None
        if self.future is not None:
            self.future.cancel()

    def fail(self, error: BaseException) -> None:
        """Note that the request cannot go on."""
        if self.error is None:
            self.error = error
        self.native = None

    # Tokens.

    @property
    def is_thinking(self) -> bool:
        """Whether a thought is under way, so that only the beginning of an answer is constrained."""
        return self.position is not None and self.position.thinking

    @property
    def keeps_budget(self) -> bool:
        """Whether its grammar sees to it that the output is complete in time; known once that is ready."""
        return self.matcher is not None and self.matcher.tokens_left is not None

    @property
    def is_cut_by_budget(self) -> bool:
        """Whether the budget has cut free text off, so that the output is whole only by the letter of its grammar."""
        return self.matcher is not None and self.matcher.is_cut_by_budget

    @property
    def reasoning_ended(self) -> bool:
        """Whether thinking is over, for now."""
        return not self.is_thinking

    @property
    def needs_gate(self) -> bool:
        """Whether thoughts can still come or go."""
        gate, position = self.gate, self.position
        return gate is not None and position is not None and not gate.is_settled(position)

    def accept(self, tokens: Sequence[int]) -> bool:
        """Take tokens, all of them or none; returns whether they fit."""
        grammar = self._ready_grammar()
        if grammar is None:
            return True
        if self.gate is None or self.position is None:
            return grammar.accept_tokens(self.request_id, tokens)
        mark = len(self._trail)
        for token in tokens:
            if grammar.is_terminated():
                break
            number = operator.index(token)
            step = position, feed = self.gate.step(self.position, number)
            is_allowed = allows(grammar, self.gate, self.position, step, number)
            steps = feed_grammar(grammar, feed, self.gate) if is_allowed else None
            if steps is None:
                self.rollback(len(self._trail) - mark)
                return False
            self._trail.append((self.position, steps))
            self.position = position
        self._update_native()
        return True

    def take_thought(self, tokens: Sequence[int]) -> int:
        """Take the tokens before the first that the grammar has to read, and return how many they are."""
        gate, position = self.gate, self.position
        if gate is None or position is None:
            return 0
        count = 0
        for token in tokens:
            position, feed = gate.step(position, operator.index(token))
            if feed is not None:
                break
            count += 1
        return count if self.accept(tokens[:count]) else 0

    def count_taken(self, tokens: Sequence[int]) -> int:
        """Return how many of some tokens would be taken if they fit: those after the end are ignored."""
        grammar = self._ready_grammar()
        if grammar is None:
            return len(tokens)
        if grammar.is_terminated():
            return 0
        # Only a stop token that is not the last one leaves any behind the end.
        if len(tokens) > 1 and not self.stop_token_ids.isdisjoint(tokens[:-1]):
            return len(self.validate(tokens))
        return len(tokens)

    def note_step(self) -> None:
        """Note that the grammar took one token of the answer, by another way than `accept`."""
        if self.position is not None:
            self._trail.append((self.position, 1))

    def rollback(self, num_tokens: int) -> None:
        """Take back the last accepted tokens, those of thoughts too."""
        grammar = self._ready_grammar()
        if grammar is None or num_tokens <= 0:
            return
        if self.gate is None:
            grammar.rollback(num_tokens)
            return
        if num_tokens > len(self._trail):
            raise TokenstileError(
                f"cannot roll back {num_tokens} tokens: only {len(self._trail)} were accepted"
            )
        taken_back = self._trail[-num_tokens:]
        del self._trail[-num_tokens:]
        self.position = taken_back[0][0]
        self._update_native()
        grammar.rollback(sum(steps for _, steps in taken_back))

    def validate(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix that would be accepted; nothing moves."""
        grammar = self._ready_grammar()
        if grammar is None:
            return list(tokens)
        if not self.needs_gate:
            return grammar.validate_tokens(tokens)
        mark = len(self._trail)
        count = 0
        for token in tokens:
            if grammar.is_terminated() or not self.accept([token]):
                break
            count += 1
        self.rollback(len(self._trail) - mark)
        return list(tokens[:count])

    def _ready_grammar(self) -> StructuredOutputGrammar | None:
        """Return the grammar, or nothing for a request without structure."""
        if self.grammar is None and self.future is not None and self.poll() is not RequestStatus.READY:
            raise TokenstileError(f"the request {self.request_id!r} is {self.status.value}")
        return self.grammar

    def __repr__(self) -> str:
        return f"<StructuredOutputRequest {self.request_id!r} {self.status.value}>"


def _stop_tokens(own: Collection[int] | None, tokenizer: KnownTokenizer) -> frozenset[int]:
    """Return the stop tokens of a request: its own that the model has, or else the tokenizer's."""
    known = frozenset(token for token in own or () if 0 <= token < tokenizer.info.vocab_size)
    return known or frozenset(tokenizer.info.stop_token_ids)
