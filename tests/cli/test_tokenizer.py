"""``tokenstile tokenizer``."""

from __future__ import annotations

import pytest


def test_bytes(run):
    answer = run("tokenizer", "bytes", "--json").json
    assert answer["size"] == 257
    assert answer["missing_bytes"] == []
    assert [entry["id"] for entry in answer["stop_tokens"]] == [256]
    assert answer["odd"]["parts of characters"]["count"] == 128


def test_a_real_one(run, deepseek_file):
    answer = run("tokenizer", deepseek_file, "--json", "--find", "okeniz").json
    assert answer["kind"] == "BYTE_LEVEL"
    assert answer["size"] > 128_000
    assert any("okeniz" in entry["text"] for entry in answer["found"]["okeniz"])
    text = run("tokenizer", deepseek_file.parent).out
    assert "BYTE_LEVEL" in text
    assert "white space of several characters" in text


@pytest.mark.parametrize("name", ["no such name", "nowhere.gguf", "nowhere.json", "x.tiktoken"])
def test_names_that_are_nothing(run, name):
    result = run("tokenizer", name, "--json")
    assert result.code == 2
    assert result.json["error"]["message"]
