"""The examples of the documents that need a model: they run and print what they say."""

from __future__ import annotations

import warnings

import pytest
from tests.test_docs import ROOT, run_examples

PAGES = [
    "README.md",
    "docs/engine.md",
    "docs/generate.md",
    "docs/quick-start.md",
    *(f"docs/integrations/{page}.md" for page in ("llama_cpp", "outlines", "ray", "transformers")),
]


def test_server(gguf):
    """The examples talk to a server on a port of the machine's choice."""
    from tests.server.conftest import running

    from tokenstile.server.running import EngineOptions, load_app

    app = load_app(gguf, None, EngineOptions(num_slots=2, max_length=512, num_threads=1))
    with running(app) as address:
        run_examples(ROOT / "docs/server.md", lambda code: code.replace("http://127.0.0.1:8000", address))


@pytest.mark.parametrize("page", PAGES)
def test_examples(page, gguf, hf_folder, tmp_path, monkeypatch):
    (tmp_path / gguf.name).symlink_to(gguf)
    (tmp_path / "SmolLM2-135M-Instruct").symlink_to(hf_folder)
    monkeypatch.chdir(tmp_path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run_examples(ROOT / page)
    finally:
        if page.endswith("ray.md"):
            import ray

            ray.shutdown()
