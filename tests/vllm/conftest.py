"""The real vLLM with the real SmolLM2, started once for each way of running it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")


@pytest.fixture(scope="session")
def model() -> str:
    folder = os.environ.get("TOKENSTILE_TEST_MODEL", "")
    if not (Path(folder) / "model.safetensors").exists():
        pytest.fail("TOKENSTILE_TEST_MODEL names no model; `make test-vllm` makes one")
    return folder


@pytest.fixture(scope="session")
def plugin() -> None:
    """Load the plugins as vLLM does, through the entry points."""
    from vllm.plugins import load_general_plugins

    load_general_plugins()


@pytest.fixture(scope="session")
def tokenizer(model, plugin):  # noqa: ARG001 - the plugin is loaded
    from vllm.tokenizers import get_tokenizer

    return get_tokenizer(model)


@pytest.fixture(scope="session")
def config(model, plugin):  # noqa: ARG001 - the plugin is loaded
    """vLLM's settings for the model, without an engine."""
    from vllm.engine.arg_utils import EngineArgs

    arguments = EngineArgs(model, dtype="bfloat16", max_model_len=512, max_num_seqs=200, enforce_eager=True)
    return arguments.create_engine_config()


def start(model: str, **settings):
    from vllm import LLM

    return LLM(model, dtype="bfloat16", max_model_len=512, max_num_seqs=32, enforce_eager=True, **settings)
