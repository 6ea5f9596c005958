"""``tokenstile bench``: the table, the plots, and that it checks its own answers."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

import tokenstile
from tokenstile.cli.random_walk import random_tokens
from tokenstile.structured_output import available_backends, create_backend, register_backend
from tokenstile.structured_output.registry import _factories


@pytest.fixture
def folder(tmp_path, person):
    """A folder with two schemas that are fine, one that is refused, and a file that is no schema."""
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    person.rename(schemas / "person.json")
    (schemas / "list.json").write_text('{"type": "array", "items": {"enum": [1, "a"]}}', encoding="utf-8")
    (schemas / "wrong.json").write_text('{"type": 1}', encoding="utf-8")
    (schemas / "torn.json").write_text('{"type": ', encoding="utf-8")
    return schemas


def test_json_and_plots(run, folder, tmp_path):
    png, svg = tmp_path / "times.png", tmp_path / "times.svg"
    result = run("bench", folder, "-e", "tokenstile", "-T", "bytes", "--plot", png, "--plot", svg, "--json")
    assert result.code == 0
    assert (result.json["schemas"], result.json["without_text"]) == (3, 1)
    (ours,) = result.json["engines"]
    assert (ours["compiled"], ours["refused"], ours["disagrees"], ours["skipped"]) == (2, 1, 0, 0)
    assert ours["mask_us"]["p50"] > 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ET.parse(svg).getroot().tag.endswith("svg")  # noqa: S314 - our own


def test_table(run, folder):
    result = run("bench", folder, "-e", "tokenstile", "-T", "bytes")
    assert "tokenstile" in result.out
    assert "3 schemas" in result.out
    assert "1 without a text" in result.out
    assert ["refused", "1"] in [line.split() for line in result.out.splitlines()]
    assert "it is not JSON" in result.err
    assert "torn.json" in result.err.replace("\n", "")
    assert "wrong.json" not in result.err.replace("\n", "")


def test_an_engine_that_is_wrong_is_found_out(run, folder):
    """A backend that takes every schema for that of numbers."""

    def numbers_only(context):
        backend = create_backend("tokenstile", context)
        compile_grammar = backend.compile_grammar
        backend.compile_grammar = lambda kind, _spec: compile_grammar(kind, '{"type": "number"}')
        return backend

    register_backend("numbers", numbers_only)
    try:
        result = run("bench", folder, "-e", "numbers", "-T", "bytes", "--json")
    finally:
        del _factories["numbers"]
    (wrong,) = result.json["engines"]
    assert (wrong["compiled"], wrong["refused"], wrong["disagrees"]) == (3, 0, 2)


def test_wrong_usage(run, folder, tmp_path):
    assert run("bench", folder, "-e", "nobody").code == 2
    assert run("bench", folder, "-e", "tokenstile", "--plot", tmp_path / "times.pdf", "-T", "bytes").code == 2
    (tmp_path / "empty").mkdir()
    assert run("bench", tmp_path / "empty", "-T", "bytes").code == 2
    assert "tokenstile" in available_backends()


def test_walks_are_texts_of_the_grammar(deepseek):
    compiled = tokenstile.GrammarCompiler(deepseek).compile_json_schema(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "required": ["a", "b"],
        }
    )
    for seed in range(5):
        tokens = random_tokens(compiled, 400, seed)
        text = b"".join(deepseek.token_bytes(token) for token in tokens)
        assert sorted(json.loads(text)) == ["a", "b"]
