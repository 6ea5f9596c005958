"""A model in this process, behind an engine that runs on a thread of its own."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tokenstile.engine import Engine, FinishReason
from tokenstile.engine.models.loading import LoadedModel, load_model, wrap_model
from tokenstile.exceptions import CancelledError, InvalidArgumentError
from tokenstile.generation.outputs import Answer, OutputError
from tokenstile.generation.sources import messages_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tokenstile.engine import Chunk, Completion, GenerationRequest
    from tokenstile.generation.sources import Ask

__all__ = ["LocalModel", "local_model"]

_lock: Final = threading.Lock()
_last: list[tuple[str, LocalModel]] = []
"""The model that was last loaded by its name, so that the next call finds it."""


def local_model(model: Any) -> LocalModel:  # noqa: ANN401 - a name, or a model of several libraries
    """Give the source of a model.

    A model by its name is loaded once, and kept until another one is asked for.
    """
    if isinstance(model, LoadedModel):
        return LocalModel(model)
    if model is not None and not isinstance(model, str | Path):
        return LocalModel(wrap_model(model))
    name = "" if model is None else str(Path(model).resolve())
    with _lock:
        if not _last or _last[0][0] != name:
            _last[:] = [(name, LocalModel(load_model(model)))]
        return _last[0][1]


class LocalModel:
    """A model with an engine, which ends with this object."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded
        self._engine = Engine(loaded.model)
        self._engine.start()
        weakref.finalize(self, self._engine.close)

    def ask(self, ask: Ask, *, stream: bool) -> LocalAnswering:  # noqa: ARG002 - every answer comes in parts
        """Begin an answer."""
        request = self._engine.submit(self._prompt(ask), ask.params, structure=ask.output.structure)
        return LocalAnswering(request, self, is_free=ask.output.structure is None)

    def _prompt(self, ask: Ask) -> str:
        if isinstance(ask.prompt, str):
            return self._loaded.prompt(ask.prompt, system=ask.system, tools=ask.output.tools or None)
        if self._loaded.template is None:
            raise InvalidArgumentError(
                f"{self._loaded.name} has no chat template: give the prompt as one text"
            )
        if ask.output.tools:
            raise InvalidArgumentError("a model in this process takes tools with a prompt that is one text")
        return self._loaded.template(messages_of(ask))


class LocalAnswering:
    """An answer of an engine."""

    def __init__(self, request: GenerationRequest, source: LocalModel, *, is_free: bool) -> None:
        self._request = request
        self._is_free = is_free
        self._source = source
        """Keeps the engine from ending before its answer."""

    def result(self) -> Answer:
        return self._whole(self._request.result())

    async def result_async(self) -> Answer:
        async for _ in self._request:
            pass
        return self.result()

    def parts(self) -> Iterator[Answer]:
        text = ""
        for chunk in self._request:
            text += chunk.text
            if (answer := self._part(text, chunk)) is not None:
                yield answer
        yield self.result()

    async def parts_async(self) -> AsyncIterator[Answer]:
        text = ""
        async for chunk in self._request:
            text += chunk.text
            if (answer := self._part(text, chunk)) is not None:
                yield answer
        yield self.result()

    def cancel(self) -> None:
        self._request.cancel()

    def _part(self, text: str, chunk: Chunk) -> Answer | None:
        return Answer(text) if chunk.text and chunk.finish_reason is None else None

    def _whole(self, completion: Completion) -> Answer:
        if completion.finish_reason is FinishReason.CANCELLED:
            raise CancelledError("the answer was given up, or the model was closed")
        if completion.finish_reason is not FinishReason.STOP and not self._is_free:
            raise OutputError(f"the answer was cut off: {completion.length_reason}", completion.text)
        return Answer(completion.text)
