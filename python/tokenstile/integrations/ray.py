"""Ray Data: a dataset of prompts in, the same dataset with structured outputs out, over as many workers as there are.

Each worker is an actor that loads the model once and compiles the grammar once. It serves its batches with the engine
of this package, so that a batch is written by continuous batching. What is written goes to a folder at once
(`tokenstile.integrations.checkpoint`): a worker that dies is started again by Ray and its batch is given out again, and
what it had written is read instead of being written again. The same goes for a job that is run again as a whole.

This is for one job on many machines. To serve requests on many machines, use vLLM or SGLang with the plug-ins for them.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenstile._core import Grammar, get_default_spelling
from tokenstile.engine import SamplingParams
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.integrations.checkpoint import Checkpoint
from tokenstile.integrations.writers import (
    ModelLoader,
    Result,
    llama_cpp_model,
    load_writer,
    transformers_model,
    vllm_model,
)
from tokenstile.json_schema import schema_text
from tokenstile.structured_output import StructuredOutputsParams

try:
    import ray.data
except ImportError as error:
    raise ImportError("this needs Ray Data: pip install 'tokenstile[ray]'") from error

if TYPE_CHECKING:
    from tokenstile.json_schema import Schema

__all__ = ["ModelLoader", "generate", "llama_cpp_model", "transformers_model", "vllm_model"]


_LOG = logging.getLogger(__name__)
_WORKERS_SPELLING = "canonical"
"""What a new process has, unless its environment says otherwise."""


def generate(
    dataset: ray.data.Dataset,
    *,
    model: ModelLoader,
    checkpoint: str | Path | None = None,
    schema: Schema | type | None = None,
    structure: StructuredOutputsParams | None = None,
    params: SamplingParams | None = None,
    prompt_column: str = "prompt",
    messages_column: str | None = None,
    id_column: str | None = None,
    output_column: str = "output",
    num_workers: int = 2,
    batch_size: int = 16,
    num_speculative_tokens: int = 0,
    **worker_options: Any,  # noqa: ANN401 - Ray's
) -> ray.data.Dataset:
    """Write an output for each row of a dataset. Gives the dataset with the columns for it: text, end and error.

    ``schema`` is a JSON Schema, or what stands for one, such as a model of Pydantic; ``structure`` is anything
    else that outputs are to follow. With ``messages_column`` a row has the messages of a chat, which the model's
    chat template makes a prompt of, in place of ``prompt_column``. ``model`` loads the model in a worker:
    `llama_cpp_model`, `transformers_model`, `vllm_model` or a `ModelLoader` of one's own. ``checkpoint`` is a
    folder that all workers see, in which outputs survive; without one it is a new folder of this machine, which
    is enough for a cluster of one machine, and is logged. Rows are known again by their prompt and ``id_column``,
    or else by all that they hold, and only where model, structure and parameters are the same; equal rows have
    one output. Random numbers come from that and from the seed, so that no output depends on who wrote it. A
    prompt that is missing or cannot be read has no text, ``finish_reason`` "error", and what is wrong in
    ``error``.
    ``worker_options`` are for Ray, such as ``num_cpus`` or ``num_gpus`` of a worker.
    """
    if (schema is None) == (structure is None):
        raise InvalidArgumentError("give a schema, or another structure")
    if structure is None:
        text = schema_text(schema)
        Grammar.from_json_schema(text)
        structure = StructuredOutputsParams(json=text)
    if structure.spelling is None and get_default_spelling() != _WORKERS_SPELLING:
        # Workers are other processes, which know nothing of this one's default.
        structure = replace(structure, spelling=get_default_spelling())
    if checkpoint is None:
        checkpoint = tempfile.mkdtemp(prefix="tokenstile-")
        _LOG.info("outputs are kept in %s", checkpoint)
    arguments = {
        "model": model,
        "checkpoint": str(Path(checkpoint).absolute()),
        "structure": structure,
        "params": params or SamplingParams(),
        "columns": _Columns(prompt_column, messages_column, id_column, output_column),
        "num_speculative_tokens": num_speculative_tokens,
    }
    # Ray starts actors that died again, and gives their batches out again, unless it is told otherwise.
    return dataset.map_batches(
        _Worker,
        fn_constructor_kwargs=arguments,
        batch_size=batch_size,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=num_workers),
        **worker_options,
    )


@dataclass(frozen=True)
class _Columns:
    """What columns hold what."""

    prompt: str
    messages: str | None
    row_id: str | None
    output: str


class _Worker:
    """Writes batches, in a process of its own."""

    def __init__(
        self,
        *,
        model: ModelLoader,
        checkpoint: str,
        structure: StructuredOutputsParams,
        params: SamplingParams,
        columns: _Columns,
        num_speculative_tokens: int,
    ) -> None:
        self._writer = load_writer(model, num_speculative_tokens)
        self._structure = structure
        self._params = params
        self._columns = columns
        self._checkpoint = Checkpoint(checkpoint)
        # What makes an output: a change of it makes other keys.
        self._salt = repr((model.name, structure, structure.chosen_spelling, params))
        # Compiled now, so that what is wrong with it comes out before anything is written.
        self._writer.warm(structure)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        self._checkpoint.refresh()
        prompts = self._prompts(batch)
        keys = [self._key(batch, row) for row in range(len(prompts))]
        missing = {
            key: prompt
            for key, prompt in zip(keys, prompts, strict=True)
            if isinstance(prompt, str) and self._checkpoint.get(key) is None
        }
        for key, result in self._writer.write(missing, self._structure, self._params):
            self._checkpoint.put(key, asdict(result))
        results = [
            (self._checkpoint.get(key) or {}) if isinstance(prompt, str) else asdict(prompt)
            for key, prompt in zip(keys, prompts, strict=True)
        ]
        columns = {self._columns.output: "text", "finish_reason": "finish_reason", "error": "error"}
        return {
            **batch,
            **{column: [result[field] for result in results] for column, field in columns.items()},
        }

    def _prompts(self, batch: dict[str, Any]) -> list[str | Result]:
        """Give the prompt of each row, or what is wrong with it."""
        if self._columns.messages is None:
            given = batch[self._columns.prompt]
            return [
                one if isinstance(one, str) else _wrong(f"the prompt is {one!r}, and no text")
                for one in given
            ]
        return [self._of_messages(messages) for messages in batch[self._columns.messages]]

    def _of_messages(self, messages: Any) -> str | Result:  # noqa: ANN401 - what a row holds
        template = getattr(self._writer, "template", None)
        if template is None:
            raise InvalidArgumentError("the model has no chat template: give prompts in place of messages")
        try:
            return str(
                template([{"role": str(one["role"]), "content": str(one["content"])} for one in messages])
            )
        except (TypeError, KeyError, ValueError) as error:
            return _wrong(f"the messages are no list of objects with role and content: {error!r}")

    def _key(self, batch: dict[str, Any], row: int) -> str:
        # An id does not say what was asked: with another prompt it is another row.
        asked = self._columns.messages or self._columns.prompt
        columns = [self._columns.row_id, asked] if self._columns.row_id is not None else sorted(batch)
        values = [batch[column][row] for column in columns]
        # Arrays are printed in full as lists only.
        known = [value.tolist() if hasattr(value, "tolist") else value for value in values]
        return hashlib.sha256(repr((self._salt, columns, known)).encode()).hexdigest()[:32]


def _wrong(text: str) -> Result:
    return Result("", "error", text)
