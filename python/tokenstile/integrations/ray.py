"""Ray Data: a dataset of prompts in, the same dataset with structured outputs out, over as many workers as there are.

Each worker is an actor that loads the model once and compiles the grammar once. It serves its batches with the engine
of this package, so that a batch is written by continuous batching. What is written goes to a folder at once
(`tokenstile.integrations.checkpoint`): a worker that dies is started again by Ray and its batch is given out again, and
what it had written is read instead of being written again. The same goes for a job that is run again as a whole.

This is for one job on many machines. To serve requests on many machines, use vLLM or SGLang with the plug-ins for them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenstile._core import Grammar
from tokenstile.engine import Engine, SamplingParams
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.integrations.checkpoint import Checkpoint
from tokenstile.structured_output import StructuredOutputsParams

try:
    import ray.data
except ImportError as error:
    raise ImportError("this needs Ray Data: pip install 'tokenstile[ray]'") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokenstile.engine import GenerationRequest, Model

__all__ = ["generate", "llama_cpp_model", "transformers_model"]


def llama_cpp_model(
    path: str | Path, *, num_slots: int = 4, max_length: int = 1024, num_threads: int | None = None
) -> Callable[[], Model]:
    """Describe a model of llama.cpp: a file that all workers see."""
    file = Path(path).absolute()

    def load() -> Model:
        from llama_cpp import Llama  # noqa: PLC0415 - in the worker

        from tokenstile.engine.models.llama_cpp import LlamaCppModel  # noqa: PLC0415 - in the worker

        llama = Llama(str(file), n_ctx=64, verbose=False)
        return LlamaCppModel(llama, num_slots=num_slots, max_length=max_length, num_threads=num_threads)

    return load


def transformers_model(
    name: str, *, num_slots: int = 4, max_length: int = 1024, **options: object
) -> Callable[[], Model]:
    """Describe a model of transformers: a name or a folder, with options of ``from_pretrained``."""

    def load() -> Model:
        from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415 - in the worker

        from tokenstile.engine.models.transformers import TransformersModel  # noqa: PLC0415 - in the worker

        model = AutoModelForCausalLM.from_pretrained(name, **options)
        tokenizer = AutoTokenizer.from_pretrained(name)
        return TransformersModel(model, tokenizer, num_slots=num_slots, max_length=max_length)

    return load


def generate(
    dataset: ray.data.Dataset,
    *,
    model: Callable[[], Model],
    checkpoint: str | Path,
    schema: str | Mapping[str, Any] | bool | None = None,
    structure: StructuredOutputsParams | None = None,
    params: SamplingParams | None = None,
    prompt_column: str = "prompt",
    id_column: str | None = None,
    output_column: str = "output",
    num_workers: int = 2,
    batch_size: int = 16,
    num_speculative_tokens: int = 0,
    **worker_options: Any,  # noqa: ANN401 - Ray's
) -> ray.data.Dataset:
    """Write an output for each row of a dataset. Gives the dataset with two more columns: the output, and why it ended.

    ``schema`` is a JSON Schema; ``structure`` is anything else that outputs are to follow. ``model`` loads the model in
    a worker: `llama_cpp_model`, `transformers_model`, or a function of one's own. ``checkpoint`` is a folder that all
    workers see. Rows are known again by ``id_column``, or else by all they hold: equal rows have one output then.
    Row by row, random numbers come from the seed and from that, so that no output depends on who wrote it.
    ``worker_options`` are for Ray, such as ``num_cpus`` or ``num_gpus`` of a worker.
    """
    if (schema is None) == (structure is None):
        raise InvalidArgumentError("give a schema, or another structure")
    if structure is None:
        Grammar.from_json_schema(schema if isinstance(schema, str) else json.dumps(schema))
        structure = StructuredOutputsParams(json=schema)
    arguments = {
        "model": model,
        "checkpoint": str(Path(checkpoint).absolute()),
        "structure": structure,
        "params": params or SamplingParams(),
        "columns": (prompt_column, id_column, output_column),
        "num_speculative_tokens": num_speculative_tokens,
    }
    return dataset.map_batches(
        _Worker,
        fn_constructor_kwargs=arguments,
        batch_size=batch_size,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=num_workers),
        **{"max_restarts": -1, "max_task_retries": -1, **worker_options},
    )


class _Worker:
    """Writes batches, in a process of its own."""

    def __init__(
        self,
        *,
        model: Callable[[], Model],
        checkpoint: str,
        structure: StructuredOutputsParams,
        params: SamplingParams,
        columns: tuple[str, str | None, str],
        num_speculative_tokens: int,
    ) -> None:
        self._engine = Engine(model(), num_speculative_tokens=num_speculative_tokens)
        self._structure = structure
        self._params = params
        self._prompt, self._id, self._output = columns
        self._checkpoint = Checkpoint(checkpoint)
        # What makes an output: a change of it makes other keys.
        self._salt = repr((structure.key, params))
        # Compiled now, so that what is wrong with it comes out before anything is written.
        self._engine.manager.grammar_init("warm", structure).result()
        self._engine.manager.release("warm")

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        self._checkpoint.refresh()
        prompts = [str(prompt) for prompt in batch[self._prompt]]
        keys = [self._key(batch, row) for row in range(len(prompts))]
        self._write(dict(zip(keys, prompts, strict=True)))
        results = [self._checkpoint.get(key) or {} for key in keys]
        batch[self._output] = [result["text"] for result in results]
        batch["finish_reason"] = [result["finish_reason"] for result in results]
        return batch

    def _key(self, batch: dict[str, Any], row: int) -> str:
        columns = [self._id] if self._id is not None else sorted(batch)
        known = [(column, str(batch[column][row])) for column in columns]
        return hashlib.sha256(repr((self._salt, known)).encode()).hexdigest()[:32]

    def _write(self, prompts: dict[str, str]) -> None:
        """Write what is not there yet, each output as soon as it and those before it are done."""
        engine = self._engine
        requests = {
            key: self._submit(key, prompt)
            for key, prompt in prompts.items()
            if self._checkpoint.get(key) is None
        }
        for key, request in requests.items():
            while request.finish_reason is None:
                engine.step()
            done = request.result()
            self._checkpoint.put(key, {"text": done.text, "finish_reason": done.finish_reason.value})

    def _submit(self, key: str, prompt: str) -> GenerationRequest:
        seed = int(hashlib.sha256(f"{self._params.seed} {key}".encode()).hexdigest()[:16], 16)
        return self._engine.submit(
            prompt, replace(self._params, seed=seed), structure=self._structure, request_id=key
        )
