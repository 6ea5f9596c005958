"""A model by its name: a GGUF file, a folder of HuggingFace's, or the embedded one.

What an engine needs of a model is in `LoadedModel.model`; beside it is the way in which prompts are written for it,
which is a template in the model's files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenstile.disk_cache import DiskCache, gguf_key
from tokenstile.engine.models.embedded import (
    EMBEDDED_MODEL,
    HOW_TO_GET_IT,
    embedded_gguf,
    silence_llama,
)
from tokenstile.engine.models.threads import default_threads, let_threads_sleep
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenstile.engine.models import Model

__all__ = ["LoadedModel", "load_model"]


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


def _load_gguf(
    path: Path, name: str, num_slots: int, max_length: int, num_threads: int | None
) -> LoadedModel:
    let_threads_sleep()
    # First, because it says what to install where llama.cpp is missing.
    from tokenstile.engine.models.llama_cpp import LlamaCppModel  # noqa: PLC0415 - only when used
    from tokenstile.integrations.llama_cpp import tokenizer_info  # noqa: PLC0415

    llama_cpp = import_module("llama_cpp")
    silence_llama()
    num_threads = num_threads or default_threads()
    try:
        # The engine has a context of its own, so this one may be small.
        llama = llama_cpp.Llama(str(path), n_ctx=32, n_threads=num_threads, verbose=False)
    except ValueError as error:
        raise InvalidArgumentError(f"llama.cpp cannot load {path}: {error}") from error
    info = DiskCache().vocabulary(gguf_key(path), name, partial(tokenizer_info, llama))
    model = LlamaCppModel(
        llama, num_slots=num_slots, max_length=_length(llama, max_length), num_threads=num_threads, info=info
    )
    return LoadedModel(name, model, _gguf_template(llama))


def _length(llama: Any, wanted: int) -> int:  # noqa: ANN401 - a Llama
    """Give the length that was asked for, or that of the model's training where that is shorter."""
    trained = int(llama.metadata.get(f"{llama.metadata.get('general.architecture')}.context_length", wanted))
    return min(wanted, trained)


def _gguf_template(llama: Any) -> Callable[[list[dict[str, str]]], str] | None:  # noqa: ANN401 - a Llama
    from llama_cpp.llama_chat_format import Jinja2ChatFormatter  # noqa: PLC0415 - only when used

    template = llama.metadata.get("tokenizer.chat_template")
    if template is None:
        return None
    names = (llama.token_eos(), llama.token_bos())
    eos, bos = ("" if token < 0 else llama._model.token_get_text(token) for token in names)  # noqa: SLF001 - no other way
    formatter = Jinja2ChatFormatter(template=template, eos_token=eos, bos_token=bos)

    def write(messages: list[Any]) -> str:
        return str(formatter(messages=messages).prompt)

    return write


def _load_folder(path: Path, name: str, num_slots: int, max_length: int) -> LoadedModel:
    # First, because it says what to install where transformers is missing.
    from tokenstile.engine.models.transformers import TransformersModel  # noqa: PLC0415 - only when used

    transformers = import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    network = transformers.AutoModelForCausalLM.from_pretrained(path)
    model = TransformersModel(network, tokenizer, num_slots=num_slots, max_length=max_length)

    def write(messages: list[dict[str, str]]) -> str:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    return LoadedModel(name, model, write if getattr(tokenizer, "chat_template", None) else None)


def _tools_in_words(tools: Sequence[dict[str, Any]]) -> str:
    """Tell a model about its tools; small models understand this form best."""
    listed = "\n".join(json.dumps(tool) for tool in tools)
    return (
        "You can call these functions, given as JSON:\n"
        f"<tools>\n{listed}\n</tools>\n"
        'To call one, write <tool_call>{"name": ..., "arguments": {...}}</tool_call>.'
    )
