"""The real vLLM with the real SmolLM2, started once for each way of running it.

`TOKENSTILE_TEST_VLLM` names another release, of which only the Python files are taken (`tests.vllm.released`): the
contract. They run beside the libraries of the environment, and an engine of theirs computes the model with what is
compiled in the vLLM that is installed. That knows nothing of masks.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from pathlib import Path

import pytest

from tests.vllm import released

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")

CONTRACT = os.environ.get("TOKENSTILE_TEST_VLLM", "")
TARGET = Path(__file__).parents[2] / "target"
missing = ""
"""Why the release cannot be had, if it cannot."""


def take(release: str) -> None:
    """Let vLLM be imported from the files of a release, here and in processes that are started."""
    folder = released.python_files(release, TARGET / f"vllm-{release}")
    installed = importlib.util.find_spec("vllm")
    for compiled in Path(installed.origin).parent.glob("*.so") if installed else ():
        link = folder / "vllm" / compiled.name
        link.unlink(missing_ok=True)
        link.symlink_to(compiled)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    # Its files do not say for what it was compiled.
    os.environ["VLLM_TARGET_DEVICE"] = "cpu"


if CONTRACT:
    try:
        take(CONTRACT)
    except released.NotThereError as error:
        missing = str(error)


class LeftOut(pytest.File):
    """A module whose tests cannot run."""

    def collect(self):
        pytest.skip(missing)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path, parent):
    if missing and module_path.name != "test_released.py":
        return LeftOut.from_parent(parent, path=module_path)
    return None


@pytest.fixture(scope="session", autouse=True)
def release():
    """The release that is tested, and not another one that is installed beside it."""
    if missing:
        return ""
    import vllm

    assert vllm.__version__ == CONTRACT or not CONTRACT
    return vllm.__version__


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


@pytest.fixture
def unpatched(plugin):  # noqa: ARG001 - it is loaded, and comes back
    """Take vLLM as it is without the plug-in."""
    from tokenstile.integrations.vllm import patches

    patches.remove()
    yield
    patches.remove()
    patches.apply()


@pytest.fixture
def warnings():
    """Collect what the plugin warns of; vLLM's loggers do not pass it on to pytest."""
    from tokenstile.integrations.vllm import switch

    class Collector(logging.Handler):
        def emit(self, record):
            messages.append(record.getMessage())

    messages: list[str] = []
    handler = Collector(logging.WARNING)
    switch.logger.addHandler(handler)
    yield messages
    switch.logger.removeHandler(handler)


def start(model: str, **settings):
    from vllm import LLM

    return LLM(model, dtype="bfloat16", max_model_len=512, max_num_seqs=32, enforce_eager=True, **settings)
