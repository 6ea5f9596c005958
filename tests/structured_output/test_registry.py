"""Backends by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tokenstile as xgr
from tokenstile.structured_output import (
    BackendContext,
    TokenstileBackend,
    available_backends,
    create_backend,
    register_backend,
    registry,
)


@pytest.fixture
def context(tiny):
    return BackendContext(tiny)


def test_ours_is_there(context):
    assert "tokenstile" in available_backends()
    assert isinstance(create_backend("tokenstile", context), TokenstileBackend)


def test_registering(context, monkeypatch):
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    made = []
    register_backend("mine", lambda given: made.append(given) or TokenstileBackend(given))
    assert "mine" in available_backends()
    create_backend("mine", context)
    assert made == [context]
    for wrong in (("", TokenstileBackend), ("mine", None)):
        with pytest.raises(xgr.InvalidArgumentError):
            register_backend(*wrong)


def test_a_library_that_is_not_installed_is_named(context, monkeypatch):
    monkeypatch.setattr(registry, "_is_installed", lambda _: False)
    for name in ("xgrammar", "llguidance", "guidance", "outlines_core", "outlines"):
        with pytest.raises(xgr.InvalidArgumentError, match=r"needs the package \w+, which is not installed"):
            create_backend(name, context)
    assert "xgrammar" not in available_backends()


def test_it_is_light_and_imported_when_used():
    code = (
        "import sys, tokenstile\n"
        "assert 'tokenstile.structured_output' not in sys.modules\n"
        "import tokenstile.structured_output\n"
        "heavy = {'torch', 'xgrammar', 'llguidance', 'outlines_core', 'transformers', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
