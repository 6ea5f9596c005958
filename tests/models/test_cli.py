"""The command and the demo with the real model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from tests import everyday
from tests.cli.documented import commands, needs_model, run_documented, write_files
from tests.test_docs import ROOT

from tokenstile.disk_cache import CACHE_VARIABLE
from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import load_model
from tokenstile.structured_output import StructuredOutputsParams


def run(*arguments):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module", autouse=True)
def _model(gguf):
    """There is a model."""


def test_generate(person):
    code, out, err = run(
        "-m", "tokenstile", "generate", "Who is Ann, 30, from Rome?", "--schema", json.dumps(person), "--json"
    )
    assert code == 0, err
    assert not err, "llama.cpp writes nothing of its own"
    (answer,) = json.loads(out)
    assert json.loads(answer["text"])["city"] in {"Paris", "Rome", "Oslo"}


def test_stream(person):
    code, out, _ = run(
        "-m",
        "tokenstile",
        "generate",
        "Who is Ann, 30, from Rome?",
        "--schema",
        json.dumps(person),
        "--stream",
        "--json",
    )
    assert code == 0
    tokens = [json.loads(line) for line in out.splitlines()]
    assert sorted(json.loads("".join(token["text"] for token in tokens))) == ["age", "city", "name"]
    assert any(token["forced"] for token in tokens)


def test_tokenizer_and_explain():
    code, out, _ = run("-m", "tokenstile", "tokenizer", "--json")
    assert code == 0
    assert json.loads(out)["size"] == 49_152
    code, out, _ = run("-m", "tokenstile", "explain", "(yes|no)", "-k", "regex", "-p", "y", "--json")
    assert code == 0
    assert {entry["text"] for entry in json.loads(out)["mask"]["shortest"]} == {"'e'", "'es'"}


def test_demo(monkeypatch):
    """Its invoice is complete and right, and about half of it is forced."""
    monkeypatch.setitem(os.environ, "COLUMNS", "1000")
    code, out, err = run("examples/demo.py")
    assert code == 0, err
    assert "fits the schema" in out
    (invoice,) = (line[2:498].strip() for line in out.splitlines() if '"DE-0042"' in line)
    assert not list(everyday.oddities(invoice))
    assert json.loads(invoice) == {
        "number": "DE-0042",
        "date": "2026-03-01",
        "customer": "Ann Miller",
        "items": [{"name": "2 chairs", "price": 190.0}, {"name": "1 table", "price": 120.5}],
        "total": 310.5,
        "currency": "EUR",
    }
    count, forced = map(int, re.search(r"(\d+) tokens, (\d+) of them forced", out).groups())
    assert forced * 61 >= count * 30


def test_documented_commands(tmp_path, monkeypatch):
    """In the order of the page, with a cache of their own."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    write_files(tmp_path)
    for command, said in commands():
        if needs_model(command):
            if command.endswith("warm"):
                run_documented("tokenstile cache clear", tmp_path)
            assert run_documented(command, tmp_path) == said, command


def test_a_second_start_does_not_need_llama(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    code = (
        "import sys; from tokenstile.cli.vocabularies import load_vocabulary as load; "
        "print(load(None).info.fingerprint, 'tokenstile.engine.models.gguf' in sys.modules)"
    )
    _, first, _ = run("-c", code)
    _, second, _ = run("-c", code)
    assert first.split()[1:] == ["True"]
    assert second.split() == [first.split()[0], "False"]


def test_a_model_with_a_kept_vocabulary_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    first, second = (load_model(num_slots=1, max_length=64, num_threads=1) for _ in range(2))
    assert len(list(tmp_path.iterdir())) == 1
    assert first.model.tokenizer_info == second.model.tokenizer_info


def test_a_folder_of_huggingface(hf_folder):
    loaded = load_model(hf_folder, num_slots=1, max_length=128)
    prompt = loaded.prompt("Is the sky blue? Answer yes or no.")
    assert prompt.endswith("<|im_start|>assistant\n")
    structure = StructuredOutputsParams(choice=["yes", "no"])
    engine = Engine(loaded.model)
    assert engine.generate(prompt, SamplingParams(max_tokens=4), structure=structure) in {"yes", "no"}
