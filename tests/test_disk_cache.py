"""Vocabularies on disk: found again, checked, bounded, and never in the way."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

import tokenstile as xgr
from tokenstile import disk_cache
from tokenstile.disk_cache import CACHE_VARIABLE, DiskCache, cache_folder, encoding_key, gguf_key

KEY = "0" * 64


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache")


def entry_file(cache):
    (path,) = cache.folder.glob("*.vocabulary")
    return path


@pytest.mark.parametrize(
    "info",
    [
        xgr.TokenizerInfo(["a", b"\xff", "", "</s>"], vocab_size=6),
        xgr.TokenizerInfo(
            ["\u2581a", "<0x0A>", "</s>"],
            xgr.VocabType.BYTE_FALLBACK,
            stop_token_ids=[1, 2],
            add_prefix_space=True,
        ),
        xgr.TokenizerInfo(["\u0120a", "b", "</s>"], xgr.VocabType.BYTE_LEVEL),
    ],
)
def test_what_is_kept_comes_back_the_same(cache, info):
    assert cache.load(KEY) is None
    assert cache.store(KEY, "name", info)
    found = cache.load(KEY)
    assert found == info
    assert found.serialize_json() == info.serialize_json()


def test_a_vocabulary_is_read_once(cache, tiny):
    calls = []

    def read():
        calls.append(None)
        return tiny

    assert cache.vocabulary(KEY, "tiny", read) == tiny
    assert cache.vocabulary(KEY, "tiny", read) == tiny
    assert len(calls) == 1
    cache.vocabulary(None, "without a key", read)
    assert len(calls) == 2
    assert [entry.name for entry in cache.entries()] == ["tiny"]


def change_body(data):
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


def other_fingerprint(data):
    header, body = data.split(b"\n", 1)
    return json.dumps({**json.loads(header), "fingerprint": "0" * 32}).encode() + b"\n" + body


def other_version(data):
    header, body = data.split(b"\n", 1)
    return json.dumps({**json.loads(header), "version": "0.0.0"}).encode() + b"\n" + body


@pytest.mark.parametrize(
    "damage",
    [
        change_body,
        other_fingerprint,
        other_version,
        lambda data: data[: len(data) // 2],
        lambda data: data + b" ",
        lambda _: b"",
        lambda _: b"\x00" * 100,
        lambda _: b"[" * 4000 + b"\n",
        lambda _: b"{}\n{}",
        lambda data: data.replace(b'"num_tokens": 4', b'"num_tokens": "4"'),
    ],
)
def test_a_damaged_entry_is_dropped_and_written_again(cache, tiny, damage):
    cache.store(KEY, "tiny", tiny)
    path = entry_file(cache)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    assert len(cache.entries()) == 1
    with pytest.warns(UserWarning, match="dropping"):
        assert cache.vocabulary(KEY, "tiny", lambda: tiny) == tiny
    assert path.read_bytes() == whole


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_no_entry(cache, tiny):
    """Opening one waits for somebody who writes, for ever."""
    cache.store("key", "tiny", tiny)
    path = entry_file(cache)
    path.unlink()
    os.mkfifo(path)
    assert gguf_key(path) is None
    with pytest.warns(UserWarning, match="not a regular file"):
        assert cache.load("key") is None
    assert not path.exists()
    assert cache.store("key", "tiny", tiny)
    assert cache.load("key") is not None


def test_it_is_bounded_and_the_least_used_go_first(tmp_path, tiny):
    DiskCache(tmp_path).store("size", "size", tiny)
    size = entry_file(DiskCache(tmp_path)).stat().st_size
    DiskCache(tmp_path).clear()
    cache = DiskCache(tmp_path, limit_bytes=3 * size + size // 2)
    for at, key in enumerate("abc"):
        cache.store(key, key * 4, tiny)
        os.utime(tmp_path / f"{key}.vocabulary", (at, at))
    assert cache.load("a") is not None  # so it was used last
    cache.store("d", "dddd", tiny)
    assert {entry.name for entry in cache.entries()} == {"aaaa", "cccc", "dddd"}
    # One that is too large by itself is kept, and nothing else.
    DiskCache(tmp_path, limit_bytes=1).store("e", "eeee", tiny)
    assert [entry.name for entry in cache.entries()] == ["eeee"]


def test_clear_leaves_other_files_alone(cache, tiny):
    cache.store(KEY, "tiny", tiny)
    (cache.folder / "broken.vocabulary.part").write_bytes(b"half")
    (cache.folder / "mine.txt").write_text("keep", encoding="utf-8")
    assert cache.clear() == 2
    assert [path.name for path in cache.folder.iterdir()] == ["mine.txt"]
    assert cache.clear() == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has other permissions")
def test_a_folder_that_others_may_write_to_is_not_used(cache, tiny):
    cache.store(KEY, "tiny", tiny)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    cache.folder.chmod(0o777)
    with pytest.warns(UserWarning, match="others may write"):
        assert cache.load(KEY) is None
    with pytest.warns(UserWarning, match="others may write"):
        assert not cache.store(KEY, "tiny", tiny)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, tiny):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    cache = DiskCache(tmp_path / "file" / "cache")
    assert cache.vocabulary(KEY, "tiny", lambda: tiny) == tiny
    assert cache.entries() == []


def test_nothing_half_written_is_left(cache, tiny, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    cache.store("other", "other", tiny)
    monkeypatch.setattr(Path, "replace", fail)
    assert not cache.store(KEY, "tiny", tiny)
    assert [path.name for path in cache.folder.iterdir()] == ["other.vocabulary"]


def test_many_at_once(cache, tiny):
    failures = []

    def use(at):
        try:
            for _ in range(20):
                assert cache.vocabulary(f"{at % 2}", "tiny", lambda: tiny) == tiny
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=use, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(cache.entries()) == 2


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv(CACHE_VARIABLE, "")
    assert cache_folder() is None
    assert DiskCache().load(KEY) is None
    assert DiskCache().clear() == 0
    monkeypatch.delenv(CACHE_VARIABLE)
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder() == tmp_path / "tokenstile"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        assert cache_folder() == Path.home() / ".cache" / "tokenstile"


def test_keys(tmp_path, monkeypatch):
    path = tmp_path / "model.gguf"
    assert gguf_key(path) is None
    path.write_bytes(b"GGUF" * 100)
    os.utime(path, (1, 1))
    first = gguf_key(path)
    assert gguf_key(path) == first
    path.write_bytes(b"GGUG" * 100)
    os.utime(path, (1, 1))
    assert gguf_key(path) != first
    assert encoding_key("a") != encoding_key("b")
    before = encoding_key("a")
    monkeypatch.setattr(disk_cache, "__version__", "9.9.9")
    assert encoding_key("a") != before
