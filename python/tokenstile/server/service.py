"""Requests on their way through the engine: admitted, begun, followed to their ends, given up in time.

One request of a client is several outputs: ``n`` of them for each prompt. They are begun together, and their chunks
come in the order in which the engine makes them. Whatever happens, each output that was begun is finished or given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tokenstile.engine import FinishReason, SamplingParams
from tokenstile.exceptions import TokenstileError
from tokenstile.server.errors import ApiError, grammar_error
from tokenstile.server.fair_threads import FairThreads
from tokenstile.server.metrics import ServerMetrics
from tokenstile.server.prompts import Prompts
from tokenstile.server.structure import backend_name
from tokenstile.server.tools import ToolFormat

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable

    from tokenstile.engine import Chunk, Engine, GenerationRequest
    from tokenstile.server.api.chat import ChatRequest
    from tokenstile.server.api.completion import CompletionRequest
    from tokenstile.server.chat_template import ChatTemplate
    from tokenstile.server.config import ServerConfig
    from tokenstile.server.preparing import Prepared
    from tokenstile.server.structure import Structure

__all__ = ["Generation", "Service"]

_LARGEST_SEED = 1 << 63
_READING_THREADS = 2
_SIDE_THREADS = 2
_LOOK_AGAIN = 0.25


@dataclass
class Generation:
    """The outputs of one request of a client."""

    service: Service
    structure: Structure
    requests: list[GenerationRequest]
    asked_at: float
    num_prompts: int
    num_outputs: int
    """How many outputs there are to be; they are begun one by one."""
    is_given_up: bool = False

    async def events(self) -> AsyncGenerator[tuple[int, Chunk]]:
        """Give the chunks of all outputs, each with the number of its output, until all have ended.

        Raises `ApiError` where an output cannot be written, or takes too long. The others are given up then, and so are
        all when the caller stops asking.
        """
        queue: asyncio.Queue[tuple[int, Chunk]] = asyncio.Queue()
        tasks = [asyncio.create_task(_pump(at, request, queue)) for at, request in enumerate(self.requests)]
        try:
            under_way = len(self.requests)
            while under_way:
                at, chunk = await self._before_deadline(queue)
                if chunk.finish_reason is not None:
                    under_way -= 1
                    await self._check(self.requests[at])
                yield at, chunk
        finally:
            for task in tasks:
                task.cancel()
            self.close()

    async def _before_deadline(self, queue: asyncio.Queue[tuple[int, Chunk]]) -> tuple[int, Chunk]:
        while True:
            patience = min(self._deadline() - time.monotonic(), _LOOK_AGAIN)
            try:
                async with asyncio.timeout(patience):
                    return await queue.get()
            except TimeoutError:
                self.service.check_open()
                # The model may have begun meanwhile, and then there is another deadline.
                if time.monotonic() >= self._deadline():
                    raise self._too_late() from None

    def _deadline(self) -> float:
        """Say until when to wait: for the model to begin with all outputs, and then for it to be done."""
        begun = [request.begun_at for request in self.requests if request.begun_at is not None]
        if len(begun) < len(self.requests):
            return self.asked_at + self.service.config.queue_timeout
        return max(begun) + self.service.config.timeout

    def _too_late(self) -> ApiError:
        config = self.service.config
        if any(request.begun_at is None for request in self.requests):
            return overloaded(config)
        text = f"the request took longer than {config.timeout:g} seconds; ask for fewer tokens"
        return ApiError(504, text, code="timeout")

    async def _check(self, request: GenerationRequest) -> None:
        if request.finish_reason is FinishReason.ERROR:
            error = request.error or TokenstileError("no reason is known")
            raise await self._explain(error) from error
        if request.finish_reason is FinishReason.CANCELLED:
            raise shutting_down()

    async def wait_for_grammar(self) -> None:
        """Wait until the structure is compiled; raises `ApiError` where it cannot be."""
        structured = self.requests[0].structured
        if structured is None or structured.future is None:
            return
        waiting = asyncio.shield(asyncio.wrap_future(structured.future))
        try:
            async with asyncio.timeout(self._deadline() - time.monotonic()):
                await waiting
        except TimeoutError:
            self.close()
            raise self._too_late() from None
        except asyncio.CancelledError:
            self.close()
            # What waited was cancelled, or what it waited for.
            self.service.check_open()
            raise
        except Exception as error:
            self.close()
            raise await self._explain(error) from error

    async def _explain(self, error: BaseException) -> ApiError:
        # It may look at schemas again, which takes time.
        return await self.service.side_threads.run(id(self), partial(self.structure.explain, error))

    def close(self) -> None:
        """Give up what has not ended, and make room for others. May be called again."""
        self.is_given_up = True
        for request in self.requests:
            if request.finish_reason is None:
                request.cancel()
        self.service.leave(self)

    @property
    def num_prompt_tokens(self) -> int:
        """Tokens of the prompts, each counted once."""
        outputs = self.num_outputs // self.num_prompts
        return sum(len(request.prompt) for request in self.requests[::outputs])

    @property
    def num_output_tokens(self) -> int:
        """Tokens of all outputs so far."""
        return sum(len(request.output) for request in self.requests)


async def _pump(at: int, request: GenerationRequest, queue: asyncio.Queue[tuple[int, Chunk]]) -> None:
    async with contextlib.aclosing(request.__aiter__()) as chunks:  # type: ignore[type-var] # it is a generator
        async for chunk in chunks:
            queue.put_nowait((at, chunk))


def overloaded(config: ServerConfig) -> ApiError:
    """Say that a request waited too long."""
    text = f"the request waited longer than {config.queue_timeout:g} seconds for others; try again later"
    return ApiError(503, text, code="overloaded")


def shutting_down() -> ApiError:
    """Say that there is no time left."""
    return ApiError(503, "the server is shutting down", code="cancelled")


class Service:
    """What the server works with: an engine, the model's way to chat, and the settings."""

    def __init__(self, engine: Engine, template: ChatTemplate, config: ServerConfig) -> None:
        self.engine = engine
        self.template = template
        self.config = config
        self.tool_format = ToolFormat(config.tool_format, config.max_whitespace)
        self.metrics = ServerMetrics()
        backend = partial(backend_name, config.max_whitespace, config.max_compile_time)
        self.closed_backend, self.open_backend = backend(is_open=False), backend(is_open=True)
        self.started_at = int(time.time())
        self.prompts = Prompts(engine.model, config.max_prompt_bytes)
        self.readers = FairThreads(_READING_THREADS, "read")
        # For what shows and explains: it must not keep the API waiting.
        self.side_threads = FairThreads(_SIDE_THREADS, "side")
        self.is_ending = False
        """Whether there is no time left for what is under way."""
        self._under_way: dict[int, Generation] = {}

    def end(self) -> None:
        """End what is under way, each output with an error that says why; nothing new begins."""
        self.is_ending = True
        for generation in list(self._under_way.values()):
            generation.close()

    def check_open(self) -> None:
        """Raise `ApiError` once there is no time left."""
        if self.is_ending:
            raise shutting_down()

    def close(self) -> None:
        """End everything, the engine too."""
        for threads in (self.prompts, self.readers, self.side_threads):
            threads.close()
        self.engine.close()

    @property
    def num_under_way(self) -> int:
        """How many outputs are under way, or wait."""
        return sum(generation.num_outputs for generation in self._under_way.values())

    def check_model(self, name: str | None) -> None:
        """Refuse a request for another model."""
        # Ollama's clients add a tag to the name.
        if name is not None and name.removesuffix(":latest") != self.config.model_name:
            text = f"there is no model {name!r}; the server has {self.config.model_name!r}"
            raise ApiError(404, text, code="model_not_found", param="model")

    async def begin(self, prepared: Prepared, client: Hashable) -> Generation:
        """Begin the outputs of a request; those of a request that is cancelled meanwhile are given up."""
        self.check_open()
        count = len(prepared.prompts) * prepared.request.n
        self._check_size(count)
        self._check_room(count)
        structure, prompts = prepared.structure, prepared.prompts
        generation = Generation(self, structure, [], time.monotonic(), len(prompts), count)
        self._under_way[id(generation)] = generation
        try:
            await self._begin_outputs(generation, prepared, client)
        except BaseException:
            generation.close()
            raise
        self.metrics.note_prompt(generation.num_prompt_tokens)
        return generation

    async def _begin_outputs(self, generation: Generation, prepared: Prepared, client: Hashable) -> None:
        param = prepared.request.prompt_field
        try:
            async with asyncio.timeout(self.config.queue_timeout):
                tokens = [
                    await self.prompts.encode(prompt, client, param) if isinstance(prompt, str) else prompt
                    for prompt in prepared.prompts
                ]
                submit = partial(self._submit, generation, prepared.request, tokens, client)
                await self.readers.run(client, submit)
        except TimeoutError:
            raise overloaded(self.config) from None
        except TokenstileError as error:
            self.check_open()
            raise grammar_error(error, param) from error

    def _submit(
        self,
        generation: Generation,
        request: ChatRequest | CompletionRequest,
        tokens: list[list[int]],
        client: Hashable,
    ) -> None:
        """Give the outputs to the engine, on a thread; they may be given up meanwhile."""
        structure = generation.structure
        spelled = structure.spelled(request.spelling or self.config.spelling)
        backend = self.open_backend if structure.is_open else self.closed_backend
        for prompt in tokens:
            for at in range(request.n):
                params = self._sampling(request, len(prompt), at)
                submitted = self.engine.submit(
                    prompt, params, structure=spelled, backend=backend, client=client
                )
                generation.requests.append(submitted)
                if generation.is_given_up:
                    submitted.cancel()
                    return

    def _check_size(self, count: int) -> None:
        if count > self.config.max_choices:
            text = f"{count} outputs were asked for, and one request may have {self.config.max_choices}"
            raise ApiError(400, text, code="limit_exceeded", param="n")

    def _check_room(self, count: int) -> None:
        if self.num_under_way + count > self.config.max_concurrent:
            text = f"{self.num_under_way} outputs are under way, of {self.config.max_concurrent} at once; try again"
            raise ApiError(429, text, code="rate_limit_exceeded")

    def _sampling(self, request: ChatRequest | CompletionRequest, num_prompt: int, at: int) -> SamplingParams:
        stops = request.stop_texts
        for name, given in (("stop", stops), ("stop_token_ids", request.stop_token_ids or ())):
            if len(given) > self.config.max_stops:
                text = f"{name} has {len(given)} entries, and may have {self.config.max_stops}"
                raise ApiError(400, text, code="limit_exceeded", param=name)
        room = max(self.engine.model.max_length - num_prompt, 1)
        most = min(request.most_tokens or room, room, self.config.max_tokens)
        return SamplingParams(
            max_tokens=most,
            temperature=request.temperature,
            top_p=request.top_p,
            top_k=max(request.top_k, 0),
            # Outputs of one request differ, and come again with the same seed.
            seed=None if request.seed is None else (request.seed + at) % _LARGEST_SEED,
            stop=stops,
            stop_token_ids=tuple(request.stop_token_ids or ()),
            logprobs=request.num_logprobs,
            min_p=request.min_p,
            frequency_penalty=request.frequency_penalty,
            presence_penalty=request.presence_penalty,
            repetition_penalty=request.repetition_penalty,
            logit_bias=request.biases,
        )

    def leave(self, generation: Generation) -> None:
        """Forget outputs that have ended or were given up."""
        if self._under_way.pop(id(generation), None) is not None:
            self.metrics.note_output(generation.num_output_tokens)
