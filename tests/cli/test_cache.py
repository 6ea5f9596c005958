"""``tokenstile cache``."""

from __future__ import annotations

import pytest

from tokenstile.disk_cache import CACHE_VARIABLE, DiskCache, encoding_key


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_list_and_clear(run, folder, tiny):
    assert run("cache", "list", "--json").json == {"folder": str(folder), "entries": []}
    DiskCache().store(encoding_key("tiny"), "tiny", tiny)
    (entry,) = run("cache", "list", "--json").json["entries"]
    assert entry["name"] == "tiny"
    assert entry["num_tokens"] == 4
    assert entry["bytes"] > 100
    text = run("cache", "list").out
    assert "tiny" in text
    assert "1 kept" in text
    assert run("cache", "clear", "--json").json == {
        "folder": str(folder),
        "removed": 1,
        "bytes": entry["bytes"],
    }
    assert "0 kept" in run("cache", "list").out


def test_a_kept_encoding_needs_no_library(run, folder, tiny):
    """What is kept is used: there is no encoding of that name anywhere else."""
    assert run("tokenizer", "of-no-library", "--json").code == 2
    DiskCache().store(encoding_key("of-no-library"), "of-no-library", tiny)
    assert run("tokenizer", "of-no-library", "--json").json["size"] == 4
    told = run("cache", "warm", "of-no-library", "--json").json
    assert told["vocabularies"] == [{"name": "of-no-library", "outcome": "was kept", "num_tokens": 4}]
    assert folder.exists()


def test_what_is_read_directly_is_not_kept(run, folder, deepseek_file):
    result = run("cache", "warm", deepseek_file, "bytes", "--json")
    assert [one["outcome"] for one in result.json["vocabularies"]] == ["read directly"] * 2
    assert "nothing is kept" in result.err
    assert not folder.exists()


def test_what_cannot_be_warmed(run, folder, monkeypatch):
    assert run("cache", "warm", "no-such-thing", "--json").code == 2
    folder.parent.joinpath("file").write_text("", encoding="utf-8")
    monkeypatch.setenv(CACHE_VARIABLE, "")
    result = run("cache", "warm", "bytes", "--json")
    assert result.code == 2
    assert CACHE_VARIABLE in result.json["error"]["message"]
