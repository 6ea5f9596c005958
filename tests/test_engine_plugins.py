"""What the plugins for engines do without the engines; with them they are tested in tests/vllm and tests/sglang."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import tokenstile
from tokenstile.integrations import _limits
from tokenstile.integrations.vllm import extras, switch
from tokenstile.integrations.writers import VllmWriter
from tokenstile.structured_output import StructuredOutputsParams
from tokenstile.structured_output.structural_tags import read_structural_tag

ROOT = Path(__file__).resolve().parent.parent


def test_entry_points_lead_somewhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]
    assert set(points) >= {"vllm.general_plugins", "sglang.srt.plugins"}
    for group in ("vllm.general_plugins", "sglang.srt.plugins"):
        module, _, name = points[group]["tokenstile"].partition(":")
        assert callable(getattr(import_module(module), name))


def test_importing_them_takes_no_engine():
    code = (
        "import sys, tokenstile.integrations.vllm, tokenstile.integrations.sglang\n"
        "assert not {'vllm', 'sglang', 'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("version", "choice", "wanted"),
    [
        ("0.32.0", "", True),
        ("0.32.7+cpu", "on", True),
        ("0.33.0", "", True),
        ("0.34.0", "", False),
        ("0.31.9", "ON", False),
        ("0.3.20", "", False),
        ("dev", "", False),
        ("0.34.0", "force", True),
        ("dev", "Force", True),
        ("0.32.0", "off", False),
        ("0.32.0", "0", False),
        ("0.32.0", "maybe", False),
    ],
)
def test_switch(version, choice, wanted, monkeypatch, caplog):
    monkeypatch.setenv("TOKENSTILE_VLLM", choice)
    caplog.set_level(logging.WARNING, logger=switch.logger.name)
    assert switch.is_wanted(version) is wanted
    silent = wanted or choice in {"off", "0"}
    assert bool(caplog.messages) is not silent
    assert silent or version in caplog.text or choice in caplog.text


def test_a_spelling_that_nobody_would_follow():
    """vLLM's own backends have none, and the plug-in is not active here."""
    writer = VllmWriter(None)
    with pytest.raises(tokenstile.InvalidArgumentError, match="plug-in for vLLM is not active"):
        writer.warm(StructuredOutputsParams(json={}, spelling="any"))


@pytest.mark.parametrize(
    ("extra", "spelling"),
    [
        (None, None),
        ({"mine": 1}, None),
        ({"tokenstile_spelling": "any"}, "any"),
        ({"tokenstile_spelling": "canonical", "mine": 1}, "canonical"),
    ],
)
def test_extra_arguments_of_vllm(extra, spelling):
    assert extras.spelling_of(SimpleNamespace(extra_args=extra)) == spelling


@pytest.mark.parametrize(
    "extra", [{"tokenstile_spelling": "no"}, {"tokenstile_spelling": 3}, {"tokenstile_x": 3}]
)
def test_extra_arguments_of_vllm_that_are_wrong(extra):
    with pytest.raises(tokenstile.InvalidArgumentError, match=next(iter(extra))):
        extras.spelling_of(SimpleNamespace(extra_args=extra))


def test_older_structural_tags():
    item = {"begin": "<f>", "schema": {"type": "object"}, "end": "</f>"}
    older = {"structures": [item], "triggers": ["<f"]}
    tag = read_structural_tag(json.dumps(older))
    assert "at_least_one" not in tag["format"]
    assert read_structural_tag(json.dumps({**older, "at_least_one": True}))["format"]["at_least_one"] is True
    assert tokenstile.Grammar.from_structural_tag(tag) == tokenstile.Grammar.from_structural_tag(
        [item], ["<f"]
    )
    assert read_structural_tag('{"format": {"type": "any_text"}}') == {"format": {"type": "any_text"}}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "[" * 10**5, '{"structures": 1}', '{"structures": [{}], "triggers": []}']
)
def test_structural_tags_that_are_none(text):
    with pytest.raises(tokenstile.TokenstileError):
        read_structural_tag(text)


@pytest.mark.parametrize(("text", "seconds"), [("", 10.0), ("2.5", 2.5), ("0", None), ("-1", None)])
def test_time_limit(text, seconds, monkeypatch):
    monkeypatch.setenv(_limits.COMPILE_SECONDS, text)
    assert _limits.time_limit() == seconds


@pytest.mark.parametrize("text", ["soon", "nan", "inf"])
def test_time_limits_that_are_none(text, monkeypatch):
    monkeypatch.setenv(_limits.COMPILE_SECONDS, text)
    with pytest.raises(tokenstile.InvalidArgumentError, match="number of seconds"):
        _limits.time_limit()


@pytest.mark.parametrize(("text", "most"), [("", None), ("0", 0), ("12", 12)])
def test_white_space_limit(text, most, monkeypatch):
    monkeypatch.setenv(_limits.MOST_WHITE_SPACE, text)
    assert _limits.white_space_limit() == most


@pytest.mark.parametrize("text", ["-1", "1.5", "some", "²"])
def test_white_space_limits_that_are_none(text, monkeypatch):
    monkeypatch.setenv(_limits.MOST_WHITE_SPACE, text)
    with pytest.raises(tokenstile.InvalidArgumentError, match="number of characters"):
        _limits.white_space_limit()
