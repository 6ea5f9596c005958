"""Writers: what writes the outputs of a batch of prompts, each in its own library's way.

A worker of a job holds one. It is given prompts by key and gives results by key as they come, so that each can be kept
at once. Random numbers come from the seed and the key: an output does not depend on what else is in the batch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import wrap_model
from tokenstile.exceptions import InvalidArgumentError, TokenBudgetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tokenstile.engine import Model
    from tokenstile.structured_output import StructuredOutputsParams

__all__ = [
    "EngineWriter",
    "ModelLoader",
    "Result",
    "VllmWriter",
    "Writer",
    "llama_cpp_model",
    "load_writer",
    "transformers_model",
    "vllm_model",
]


@dataclass(frozen=True, slots=True)
class Result:
    """One output."""

    text: str
    finish_reason: str
    error: str = ""
    """What is wrong with the prompt, if that is why there is no text."""


@dataclass(frozen=True, slots=True)
class ModelLoader:
    """Loads a model in the process that is to hold it."""

    name: str
    """What tells the model from others: outputs of another model are other outputs."""
    load: Callable[[], Model | Writer]


@runtime_checkable
class Writer(Protocol):
    """Writes outputs that follow a structure.

    One that has a ``template``, a function from messages to a prompt, takes chats too.
    """

    def warm(self, structure: StructuredOutputsParams) -> None:
        """Compile the grammar, and raise what is wrong with it."""
        ...

    def write(
        self, prompts: Mapping[str, str], structure: StructuredOutputsParams, params: SamplingParams
    ) -> Iterator[tuple[str, Result]]:
        """Give the output of each prompt, by key, as soon as it is there."""
        ...


def load_writer(loader: ModelLoader, num_speculative_tokens: int = 0) -> Writer:
    """Load a model, and give what writes with it: models of the engine are put into one."""
    loaded = loader.load()
    return loaded if isinstance(loaded, Writer) else EngineWriter(loaded, num_speculative_tokens)


def _seed_of(params: SamplingParams, key: str) -> int:
    """Give the seed of one output."""
    return int(hashlib.sha256(f"{params.seed} {key}".encode()).hexdigest()[:8], 16)


class EngineWriter:
    """Writes with the engine of this package."""

    def __init__(self, model: Model, num_speculative_tokens: int = 0) -> None:
        self._engine = Engine(model, num_speculative_tokens=num_speculative_tokens)
        self._model = model

    @cached_property
    def template(self) -> Callable[[list[dict[str, str]]], str] | None:
        """The chat template that the model's files bring."""
        return wrap_model(self._model).template

    def warm(self, structure: StructuredOutputsParams) -> None:
        """Compile the grammar; it stays in the cache of the engine's manager."""
        self._engine.manager.grammar_init("warm", structure).result()
        self._engine.manager.release("warm")

    def write(
        self, prompts: Mapping[str, str], structure: StructuredOutputsParams, params: SamplingParams
    ) -> Iterator[tuple[str, Result]]:
        """Write all outputs at once, and give them in the order of the prompts."""
        requests = {}
        for key, prompt in prompts.items():
            own = replace(params, seed=_seed_of(params, key))
            try:
                requests[key] = self._engine.submit(prompt, own, structure=structure, request_id=key)
            except InvalidArgumentError as error:
                # One prompt that is too long must not end a job.
                yield key, Result("", "error", str(error))
        for key, request in requests.items():
            while request.finish_reason is None:
                self._engine.step()
            try:
                done = request.result()
            except TokenBudgetError as error:
                # Its prompt leaves too little room: the others may have more.
                yield key, Result("", "error", str(error))
            else:
                yield key, Result(done.text, done.finish_reason.value)


class VllmWriter:
    """Writes with vLLM, which holds outputs to structures by itself, or with tokenstile's plug-in for it.

    A spelling is followed by the plug-in alone.
    """

    def __init__(self, llm: Any) -> None:  # noqa: ANN401 - a vllm.LLM
        self._llm = llm

    @property
    def template(self) -> Callable[[list[dict[str, str]]], str] | None:
        """The chat template of the model's tokenizer."""
        tokenizer = self._llm.get_tokenizer()
        if not getattr(tokenizer, "chat_template", None):
            return None
        return lambda messages: str(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        )

    def warm(self, structure: StructuredOutputsParams) -> None:
        """Let vLLM check the structure; it compiles grammars when they are used."""
        self._extra(structure)
        self._structure(structure)

    @staticmethod
    def _extra(structure: StructuredOutputsParams) -> dict[str, Any] | None:
        """Return the extra arguments of vLLM that carry what its parameters have no place for."""
        if structure.spelling is None:
            return None
        from tokenstile.integrations.vllm import is_active  # noqa: PLC0415 - in the worker
        from tokenstile.integrations.vllm.extras import SPELLING  # noqa: PLC0415 - in the worker

        if not is_active():
            raise InvalidArgumentError(
                f"vLLM's own backends have no spelling {structure.spelling!r}, and tokenstile's plug-in for vLLM "
                "is not active: the log of vLLM says why"
            )
        return {SPELLING: structure.spelling}

    @staticmethod
    def _structure(structure: StructuredOutputsParams) -> Any:  # noqa: ANN401 - vLLM's
        from vllm.sampling_params import StructuredOutputsParams as VllmParams  # noqa: PLC0415 - in the worker

        if structure.parts:
            raise InvalidArgumentError(
                "vLLM's parameters have no all_of, any_of and then; compose grammars, and give their text as grammar"
            )
        kind, spec = structure.key
        given: Any = list(structure.choice) if structure.choice is not None else spec
        name = "grammar" if kind.value == "lark" else kind.value
        return VllmParams(
            **{name: True if name == "json_object" else given},
            disable_any_whitespace=structure.disable_any_whitespace,
        )

    def write(
        self, prompts: Mapping[str, str], structure: StructuredOutputsParams, params: SamplingParams
    ) -> Iterator[tuple[str, Result]]:
        """Write all outputs at once."""
        from vllm import SamplingParams as VllmSampling  # noqa: PLC0415 - in the worker

        sampling = [
            VllmSampling(
                max_tokens=params.max_tokens,
                temperature=params.temperature,
                top_p=params.top_p,
                top_k=params.top_k,
                seed=_seed_of(params, key),
                stop=list(params.stop),
                stop_token_ids=list(params.stop_token_ids),
                min_p=params.min_p,
                frequency_penalty=params.frequency_penalty,
                presence_penalty=params.presence_penalty,
                repetition_penalty=params.repetition_penalty,
                logit_bias=dict(params.logit_bias) or None,
                structured_outputs=self._structure(structure),
                extra_args=self._extra(structure),
            )
            for key in prompts
        ]
        done = self._llm.generate(list(prompts.values()), sampling, use_tqdm=False)
        for key, result in zip(prompts, done, strict=True):
            output = result.outputs[0]
            yield key, Result(output.text, output.finish_reason or "stop")


def llama_cpp_model(
    path: str | Path, *, num_slots: int = 4, max_length: int = 1024, num_threads: int | None = None
) -> ModelLoader:
    """Describe a model of llama.cpp: a file that all workers see."""
    file = Path(path).absolute()

    def load() -> Model:
        from tokenstile.engine.models.gguf import GgufFile  # noqa: PLC0415 - in the worker
        from tokenstile.engine.models.llama_cpp import LlamaCppModel  # noqa: PLC0415 - in the worker

        return LlamaCppModel(
            GgufFile(file), num_slots=num_slots, max_length=max_length, num_threads=num_threads
        )

    return ModelLoader(f"llama.cpp {file.name}", load)


def transformers_model(
    name: str, *, num_slots: int = 4, max_length: int = 1024, **options: object
) -> ModelLoader:
    """Describe a model of transformers: a name or a folder, with options of ``from_pretrained``."""
    place = str(Path(name).absolute()) if Path(name).is_dir() else name

    def load() -> Model:
        from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415 - in the worker

        from tokenstile.engine.models.transformers import TransformersModel  # noqa: PLC0415 - in the worker

        model = AutoModelForCausalLM.from_pretrained(place, **options)
        tokenizer = AutoTokenizer.from_pretrained(place)
        return TransformersModel(model, tokenizer, num_slots=num_slots, max_length=max_length)

    return ModelLoader(f"transformers {name} {sorted(options.items())}", load)


def vllm_model(name: str, **options: object) -> ModelLoader:
    """Describe a model of vLLM: a name or a folder, with options of ``vllm.LLM``.

    vLLM chooses for all requests whether JSON has white space:
    ``structured_outputs_config={"backend": "xgrammar", "disable_any_whitespace": True}`` is among those options, and it
    wants the backend by its name, which tokenstile's plug-in keeps.
    """
    place = str(Path(name).absolute()) if Path(name).is_dir() else name

    def load() -> Writer:
        from vllm import LLM  # noqa: PLC0415 - in the worker

        return VllmWriter(LLM(place, **options))

    return ModelLoader(f"vllm {name} {sorted(options.items())}", load)
