"""A model by its name: a GGUF file, a folder of HuggingFace's, or the embedded one.

What an engine needs of a model is in `LoadedModel.model`; beside it is the way in which prompts are written for it,
which is a template in the model's files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenstile.disk_cache import DiskCache, gguf_key
from tokenstile.engine.models.embedded import EMBEDDED_MODEL, HOW_TO_GET_IT, embedded_gguf
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenstile.engine.models import Model
    from tokenstile.engine.models.gguf import GgufFile

__all__ = ["LoadedModel", "load_model", "wrap_model"]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, and how to talk to it."""

    name: str
    model: Model
    template: Callable[[list[dict[str, str]]], str] | None
    """Writes messages as a prompt that asks for the next one; ``None`` for models that were not trained to chat."""

    def prompt(
        self, text: str, *, system: str | None = None, tools: Sequence[dict[str, Any]] | None = None
    ) -> str:
        """Write a question as the prompt of a chat; a model that does not chat gets it as it is."""
        if tools:
            system = "\n\n".join(filter(None, (system, _tools_in_words(tools))))
        if self.template is None:
            return "\n\n".join(filter(None, (system, text)))
        messages = [{"role": "system", "content": system}] if system else []
        return self.template([*messages, {"role": "user", "content": text}])


def load_model(
    name: str | Path | None = None,
    *,
    num_slots: int = 4,
    max_length: int = 2048,
    num_threads: int | None = None,
) -> LoadedModel:
    """Load a model; without a name, the embedded one.

    It has ``num_slots`` outputs at a time, each with its prompt at most ``max_length`` tokens long. ``num_threads`` is
    for models of llama.cpp; by default it is one less than there are processors.

    Raises ``ImportError`` where a library for it is missing, and `InvalidArgumentError` where there is no such model.
    """
    path = embedded_gguf() if name is None else Path(name)
    if path is None:
        raise ImportError(HOW_TO_GET_IT)
    shown = EMBEDDED_MODEL if name is None else str(name)
    if path.is_file() and path.suffix == ".gguf":
        return _load_gguf(path, shown, num_slots, max_length, num_threads)
    if (path / "config.json").is_file():
        return _load_folder(path, shown, num_slots, max_length)
    raise InvalidArgumentError(f"{shown!r} is neither a GGUF file nor a folder with a config.json")


def wrap_model(model: Any) -> LoadedModel:  # noqa: ANN401 - models of several libraries
    """Take a model that is loaded already, and find out how prompts are written for it.

    It is a ``Llama`` of llama-cpp-python, a pair of transformers' model and tokenizer, or a model of the engine, which
    gets prompts as they are.
    """
    if isinstance(model, tuple) and len(model) == 2:  # noqa: PLR2004 - a model and its tokenizer
        return _of_transformers(*model, "transformers")
    if all(hasattr(model, name) for name in ("encode", "forward", "truncate", "tokenizer_info")):
        return LoadedModel(type(model).__name__, model, _template_of(model))
    if type(model).__name__ == "Llama":
        from tokenstile.engine.models.gguf import GgufFile  # noqa: PLC0415 - only when used
        from tokenstile.engine.models.llama_cpp import LlamaCppModel  # noqa: PLC0415

        file = GgufFile.of_llama(model)
        return LoadedModel(
            "Llama", LlamaCppModel(file, num_slots=4, max_length=model.n_ctx()), _gguf_template(file)
        )
    raise InvalidArgumentError(
        f"{type(model).__name__} is no model that is known: give a path, a LoadedModel, a Llama of llama-cpp-python, "
        "a pair of transformers' model and tokenizer, or the address of a server"
    )


def _template_of(model: Any) -> Callable[[list[dict[str, str]]], str] | None:  # noqa: ANN401 - a model of the engine
    """Give the chat template that a model of llama.cpp or of transformers brings along."""
    if hasattr(model, "file"):
        return _gguf_template(model.file)
    tokenizer = getattr(model, "tokenizer", None)
    return _transformers_template(tokenizer) if getattr(tokenizer, "chat_template", None) else None


def _transformers_template(tokenizer: Any) -> Callable[[list[dict[str, str]]], str]:  # noqa: ANN401 - of transformers
    def write(messages: list[dict[str, str]]) -> str:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    return write


def _load_gguf(
    path: Path, name: str, num_slots: int, max_length: int, num_threads: int | None
) -> LoadedModel:
    # numpy and ctypes take their time, and other models do not need them.
    from tokenstile.engine.models.gguf import GgufFile  # noqa: PLC0415 - only when used
    from tokenstile.engine.models.llama_cpp import LlamaCppModel  # noqa: PLC0415

    file = GgufFile(path)
    info = DiskCache().vocabulary(gguf_key(path), name, file.tokenizer_info)
    length = min(max_length, file.train_length)
    model = LlamaCppModel(file, num_slots=num_slots, max_length=length, num_threads=num_threads, info=info)
    return LoadedModel(name, model, _gguf_template(file))


def _gguf_template(file: GgufFile) -> Callable[[list[dict[str, str]]], str] | None:
    source = file.chat_template
    if source is None:
        return None
    from tokenstile.engine.models.chat_template import compile_template  # noqa: PLC0415 - only when used

    render = compile_template(source).render
    special = {"bos_token": file.bos_token, "eos_token": file.eos_token}
    return lambda messages: render(messages=messages, add_generation_prompt=True, **special)


def _load_folder(path: Path, name: str, num_slots: int, max_length: int) -> LoadedModel:
    # First, because it says what to install where transformers is missing.
    import_module("tokenstile.engine.models.transformers")
    transformers = import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    network = transformers.AutoModelForCausalLM.from_pretrained(path)
    return _of_transformers(network, tokenizer, name, num_slots, max_length)


def _of_transformers(
    network: Any,  # noqa: ANN401 - a PreTrainedModel
    tokenizer: Any,  # noqa: ANN401 - a tokenizer of transformers
    name: str,
    num_slots: int = 4,
    max_length: int = 2048,
) -> LoadedModel:
    from tokenstile.engine.models.transformers import TransformersModel  # noqa: PLC0415 - only when used

    model = TransformersModel(network, tokenizer, num_slots=num_slots, max_length=max_length)
    return LoadedModel(name, model, _template_of(model))


def _tools_in_words(tools: Sequence[dict[str, Any]]) -> str:
    """Tell a model about its tools; small models understand this form best."""
    listed = "\n".join(json.dumps(tool) for tool in tools)
    return (
        "You can call these functions, given as JSON:\n"
        f"<tools>\n{listed}\n</tools>\n"
        'To call one, write <tool_call>{"name": ..., "arguments": {...}}</tool_call>.'
    )
