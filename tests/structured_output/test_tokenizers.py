"""Tokenizers of all kinds, found out and known again."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest
import tiktoken
import tokenizers

import tokenstile as xgr
from tokenstile import TokenizerInfo, VocabType
from tokenstile.structured_output import (
    StructuredOutputManager,
    StructuredOutputsParams,
    TokenstileBackend,
    register_backend,
)
from tokenstile.structured_output.tokenizers import TokenizerCache, find_encoder


def make_tokenizer(words=("a", "b", "Ġa", "<|end|>")):
    model = tokenizers.models.BPE({word: at for at, word in enumerate(words)}, [])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>"])
    return tokenizer


class Fast:
    """As a fast tokenizer of transformers looks."""

    eos_token_id = 3

    def __init__(self):
        self.backend_tokenizer = make_tokenizer()

    def get_vocab(self):
        return self.backend_tokenizer.get_vocab()

    def encode(self, text, add_special_tokens=True):
        assert not add_special_tokens
        return self.backend_tokenizer.encode(text, add_special_tokens=False).ids


def make_encoding():
    ranks = {bytes([byte]): byte for byte in range(256)}
    return tiktoken.Encoding("tiny", pat_str=".", mergeable_ranks=ranks, special_tokens={"</s>": 256})


def test_every_kind(tmp_path):
    plain = [b"a", b"b", b" a", b"<|end|>"]
    file = tmp_path / "tokenizer.json"
    file.write_text(make_tokenizer().to_str())
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": 3}))
    for tokenizer in (make_tokenizer(), Fast(), file, str(tmp_path), plain, TokenizerInfo(plain)):
        with pytest.MonkeyPatch.context():
            info = TokenizerInfo.from_tokenizer(tokenizer)
        assert info.decoded_vocab == plain
        padded = TokenizerInfo.from_tokenizer(tokenizer, 40)
        assert padded.vocab_size == 40
        assert padded.decoded_vocab[:4] == plain
        assert padded.stop_token_ids == info.stop_token_ids
    assert TokenizerInfo._detect_vocab_type(Fast()) is VocabType.BYTE_LEVEL
    assert TokenizerInfo.from_tokenizer(make_encoding()).vocab_size == 257
    with pytest.raises(xgr.InvalidArgumentError, match="Unsupported tokenizer"):
        TokenizerInfo.from_tokenizer(object())


def test_a_tokenizer_is_read_once():
    cache = TokenizerCache()
    tokenizer = Fast()
    first = cache.find(tokenizer)
    assert cache.find(tokenizer).info is first.info
    assert cache.find(tokenizer, 40).info is not first.info
    assert cache.find(Fast()).info is first.info, "the same tokens, by their fingerprint"
    assert cache.find(first.info).info is first.info


def test_tokenizers_are_not_kept_alive():
    cache = TokenizerCache()
    for _ in range(5):
        cache.find(Fast())
        cache.find(make_encoding())
    gc.collect()
    assert len(cache) == 0


def test_encoders():
    kept = Fast(), make_tokenizer(), make_encoding()
    assert [find_encoder(tokenizer)("ab") for tokenizer in kept] == [[0, 1], [0, 1], [97, 98]]
    assert find_encoder(["a"]) is None
    assert find_encoder("ab") is None, "a path is a text, and texts have a method of that name"
    encode = find_encoder(Fast())
    gc.collect()
    assert encode("ab") == [0, 1], "it holds the tokenizer"


def test_forced_tokens_are_cut_as_long_as_the_request_lives():
    with StructuredOutputManager(Fast()) as manager:
        for name, options in {"default": {}, "own": {"tokenizer": Fast()}}.items():
            manager.grammar_init(name, StructuredOutputsParams(regex="aba[ab]"), **options).result(30)
        gc.collect()
        assert manager.jump_forward_tokens("default") == [0, 1, 0]
        assert manager.jump_forward_tokens("own") == [0, 1, 0]


def numbered(number):
    """A vocabulary that no other number has."""
    return TokenizerInfo(["a", "b", f"token {number}", "</s>"])


def test_backends_of_many_tokenizers_are_dropped():
    params = StructuredOutputsParams(regex="a+")
    with StructuredOutputManager(max_idle_backends=3) as manager:
        held = manager.grammar_init("held", params, tokenizer=numbered(0))
        held.result(30)
        backend = held.holds
        for number in range(1, 30):
            name = str(number)
            manager.grammar_init(name, params, tokenizer=numbered(number)).result(30)
            manager.grammar_bitmask([name])
            manager.release(name)
        assert len(manager._backends) <= 4, "three that lie idle, and one in use"
        manager.grammar_init("again", params, tokenizer=numbered(0)).result(30)
        assert manager.get("again").holds is backend, "what is in use is found again"
        assert manager.accept_tokens("held", [0])
        assert manager.get_stats()["compile_cache_hits_total"]["tokenstile"] == 1
        del held, backend
        for name in ("held", "again"):
            manager.release(name)
        for number in range(1, 4):
            manager.grammar_init(f"last {number}", params, tokenizer=numbered(number)).result(30)
        assert len(manager._backends) == 3
        assert manager.get_stats()["compile_cache_hits_total"]["tokenstile"] == 1, "counters never fall"


def test_dropped_backends_are_destroyed_when_nobody_uses_them():
    destroyed = []

    class Watched(TokenstileBackend):
        def destroy(self):
            destroyed.append(self.context.tokenizer_info.decoded_vocab[2])
            super().destroy()

    register_backend("watched", Watched)
    params = StructuredOutputsParams(regex="a+")
    with StructuredOutputManager(max_idle_backends=1, backend="watched") as manager:
        for number in range(3):
            manager.grammar_init(str(number), params, tokenizer=numbered(number)).result(30)
        assert destroyed == []
        manager.release("0")
        gc.collect()
        assert destroyed == [b"token 0"]
        manager.release("2")
        gc.collect()
        assert destroyed == [b"token 0"], "the last one is kept"
    assert sorted(destroyed) == [b"token 0", b"token 1", b"token 2"]


def test_bitmasks_of_many_sizes_are_dropped():
    made = []

    def allocate(rows, vocab_size):
        made.append(vocab_size)
        return np.full((rows, -(-vocab_size // 32)), -1, dtype=np.int32)

    params = StructuredOutputsParams(regex="a+")
    with StructuredOutputManager(max_idle_backends=2, allocate=allocate, max_num_seqs=2) as manager:
        rows = []
        for size in (10, 20, 30, 10):
            name = str(len(rows))
            info = TokenizerInfo(["a", "b", "</s>"], vocab_size=size)
            manager.grammar_init(name, params, tokenizer=info).result(30)
            rows.append(manager.grammar_bitmask([name]).bitmask[0, 0])
        assert made == [10, 20, 30, 10]
        assert len(manager._bitmasks) == 2
        assert rows == [1, 1, 1, 1]


def test_at_least_one_is_kept():
    with pytest.raises(xgr.InvalidArgumentError, match="at least one must be kept"):
        StructuredOutputManager(["a"], max_idle_backends=0)
