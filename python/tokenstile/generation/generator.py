"""`generate` and `Generator`: a prompt in, an object out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, cast, overload

from tokenstile._core import Grammar
from tokenstile.engine.sampling import SamplingParams
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.generation.outputs import (
    NOTHING,
    FreeText,
    GrammarOutput,
    JsonOutput,
    PatternOutput,
    StructureOutput,
)
from tokenstile.generation.sources import Ask
from tokenstile.generation.sources.local import LocalModel, local_model
from tokenstile.generation.sources.remote import RemoteModel
from tokenstile.generation.tools import Tools, ToolsOutput
from tokenstile.generation.typed import typed_output
from tokenstile.structured_output.params import StructuredOutputsParams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from tokenstile.generation.outputs import Answer, Output
    from tokenstile.generation.sources import Answering, Source
    from tokenstile.json_schema import Spelling

    Prompt = str | Sequence[Mapping[str, str]]

__all__ = ["Generator", "Options", "generate", "generate_async"]

_T = TypeVar("_T")


class Options(TypedDict, total=False):
    """How to write; the keyword arguments of `Generator`, `generate` and `generate_async`."""

    system: str | None
    """The system message."""
    max_tokens: int
    """The most tokens of an answer (512); one with a structure is complete within them."""
    temperature: float
    """Zero, the default, takes the likeliest token."""
    top_p: float
    """Only the likeliest tokens whose probabilities add up to this are chosen from."""
    seed: int | None
    """The same seed gives the same answer."""
    compact: bool
    """Whether JSON has no white space between its parts."""
    spelling: Spelling | None
    """How values of JSON are written; the default of the process without it."""


class Generator(Generic[_T]):
    """Answers prompts with objects of one type.

    ``output_type`` says what comes out:

    | ``output_type`` | what comes out |
    |---|---|
    | a model of Pydantic, a dataclass, a TypedDict, ``list[int]``, any type that Pydantic knows | an object of it |
    | ``Literal`` or an enum of texts | one of them, written without quotes |
    | a dict | a value of that JSON Schema |
    | ``re.compile(...)`` | a text that the pattern matches as a whole |
    | a `Grammar`, or ``StructuredOutputsParams`` | a text of it |
    | ``Tools([...])``, or a list of functions | a list of calls |
    | ``str`` | free text, cut off at ``max_tokens`` |

    ``model`` says who answers: ``None`` (the small embedded model), the path of a GGUF file or of a HuggingFace folder,
    a ``LoadedModel``, a model of the engine, a ``Llama`` of llama-cpp-python, a pair of transformers' model and
    tokenizer, or a server by its address, ``http://...``, or as `RemoteModel`.

    A model in this process is held to the structure, and completes it within ``max_tokens``. What a server answers is
    checked against it, and one that does not fit is an `OutputError`.
    """

    @overload
    def __init__(
        self: Generator[_T], output_type: type[_T], model: object = None, **options: Unpack[Options]
    ) -> None: ...
    @overload
    def __init__(
        self: Generator[Any], output_type: object, model: object = None, **options: Unpack[Options]
    ) -> None: ...

    def __init__(
        self,
        output_type: object,
        model: object = None,
        **options: Unpack[Options],
    ) -> None:
        self._params = SamplingParams(
            options.get("max_tokens", 512),
            options.get("temperature", 0.0),
            options.get("top_p", 1.0),
            seed=options.get("seed"),
        )
        self._system = options.get("system")
        self._output = _output_of(
            output_type, compact=options.get("compact", False), spelling=options.get("spelling")
        )
        self._source = _source_of(model)
        unknown = sorted(options.keys() - Options.__annotations__.keys())
        if unknown:
            raise TypeError(
                f"unknown options: {', '.join(unknown)}; there are {', '.join(Options.__annotations__)}"
            )

    def __call__(self, prompt: Prompt) -> _T:
        """Answer a prompt: a text, or messages with ``role`` and ``content``."""
        return cast("_T", self._output.read(self._source.ask(self._ask(prompt), stream=False).result()))

    async def call_async(self, prompt: Prompt) -> _T:
        """Answer a prompt without blocking the event loop."""
        answering = await _begin(self._source, self._ask(prompt), stream=False)
        try:
            return cast("_T", self._output.read(await answering.result_async()))
        finally:
            answering.cancel()

    def stream(self, prompt: Prompt) -> Iterator[_T]:
        """Answer a prompt, and give the object each time that there is more of it.

        Before the last one objects are partial: fields that are not there yet are ``None`` or missing, and nothing is
        validated.
        """
        answering = self._source.ask(self._ask(prompt), stream=True)
        reader = _Parts[_T](self._output)
        try:
            for answer in answering.parts():
                yield from reader.push(answer)
        finally:
            answering.cancel()
        yield reader.whole()

    async def stream_async(self, prompt: Prompt) -> AsyncIterator[_T]:
        """Do as `stream` does without blocking the event loop."""
        answering = await _begin(self._source, self._ask(prompt), stream=True)
        reader = _Parts[_T](self._output)
        try:
            async for answer in answering.parts_async():
                for part in reader.push(answer):
                    yield part
        finally:
            answering.cancel()
        yield reader.whole()

    def _ask(self, prompt: Prompt) -> Ask:
        if not isinstance(prompt, str) and not all(isinstance(one, Mapping) for one in prompt):
            raise InvalidArgumentError("a prompt is a text, or a list of messages with role and content")
        return Ask(prompt, self._system, self._output, self._params)


class _Parts(Generic[_T]):
    """Makes objects of an answer that grows."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._answer: Answer | None = None
        self._last: object = NOTHING

    def push(self, answer: Answer) -> Iterator[_T]:
        """Take the answer so far, and give the object if there is more of it than before."""
        self._answer = answer
        part = self._output.read_part(answer)
        if part is not NOTHING and part != self._last:
            self._last = part
            yield cast("_T", part)

    def whole(self) -> _T:
        """Give the object of the last answer, which is whole."""
        assert self._answer is not None  # noqa: S101 - the last answer always comes
        return cast("_T", self._output.read(self._answer))


async def _begin(source: Source, ask: Ask, *, stream: bool) -> Answering:
    """Begin an answer on another thread: a server may take its time to reply."""
    return await asyncio.to_thread(source.ask, ask, stream=stream)


def _output_of(output_type: Any, *, compact: bool, spelling: Spelling | None) -> Output:  # noqa: ANN401, PLR0911 - one for each kind
    """Say what is asked of a model."""
    if output_type is str:
        return FreeText()
    if isinstance(output_type, str):
        raise InvalidArgumentError(
            "a text is no type: give json.loads(text) for a schema, re.compile(text) for a pattern, or "
            "Grammar.from_ebnf(text) or Grammar.from_lark(text) for a grammar"
        )
    if isinstance(output_type, Grammar):
        return GrammarOutput(output_type)
    if isinstance(output_type, re.Pattern):
        return PatternOutput(output_type)
    if isinstance(output_type, StructuredOutputsParams):
        return StructureOutput(output_type)
    if isinstance(output_type, Tools):
        return ToolsOutput(output_type)
    if isinstance(output_type, list | tuple):
        return ToolsOutput(Tools(output_type))
    if isinstance(output_type, Mapping):
        return JsonOutput(dict(output_type), compact=compact, spelling=spelling)
    return typed_output(output_type, compact=compact, spelling=spelling)


def _source_of(model: object) -> Source:
    """Say who answers."""
    if isinstance(model, LocalModel | RemoteModel):
        return model
    if isinstance(model, str) and model.startswith(("http://", "https://")):
        return RemoteModel(model)
    return local_model(model)


@overload
def generate(
    prompt: Prompt, output_type: type[_T], model: object = None, **options: Unpack[Options]
) -> _T: ...
@overload
def generate(
    prompt: Prompt, output_type: object, model: object = None, **options: Unpack[Options]
) -> Any: ...  # noqa: ANN401


def generate(prompt: Prompt, output_type: Any, model: object = None, **options: Unpack[Options]) -> Any:
    """Answer a prompt with an object of a type.

    See `Generator` for what types and models there are; ``options`` are its keyword arguments: ``system``,
    ``max_tokens``, ``temperature``, ``top_p``, ``seed``, ``compact`` and ``spelling``.
    """
    return Generator(output_type, model, **options)(prompt)


@overload
async def generate_async(
    prompt: Prompt, output_type: type[_T], model: object = None, **options: Unpack[Options]
) -> _T: ...
@overload
async def generate_async(
    prompt: Prompt, output_type: object, model: object = None, **options: Unpack[Options]
) -> Any: ...  # noqa: ANN401


async def generate_async(
    prompt: Prompt, output_type: Any, model: object = None, **options: Unpack[Options]
) -> Any:
    """Do as `generate` does without blocking the event loop, the loading of the model included."""
    generator: Generator[Any] = await asyncio.to_thread(lambda: Generator(output_type, model, **options))
    return await generator.call_async(prompt)
