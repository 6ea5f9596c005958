"""The programs of examples/ as modules, and a stand-in for vLLM where it is not installed."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

from tests.test_docs import ROOT
from tokenstile.engine import Engine, SamplingParams
from tokenstile.structured_output import StructuredOutputsParams


def load_example(name):
    """Import a program."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def answer_for_vllm(model, monkeypatch):
    """Let an engine over ``model`` answer the calls that a program makes of vLLM."""

    class LLM:
        def __init__(self, name):
            assert "SmolLM2" in name

        def generate(self, prompts, params):
            engine = Engine(model.model)
            sampling = SamplingParams(max_tokens=params["max_tokens"], temperature=params["temperature"])
            structure = params["structured_outputs"]
            texts = [engine.generate(prompt, sampling, structure=structure) for prompt in prompts]
            return [SimpleNamespace(outputs=[SimpleNamespace(text=text)]) for text in texts]

    vllm, parameters = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    vllm.LLM, vllm.SamplingParams = LLM, dict
    parameters.StructuredOutputsParams = StructuredOutputsParams
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", parameters)
