"""Tokenizers of all kinds, found out and known again."""

from __future__ import annotations

import gc
import json

import pytest
import tiktoken
import tokenizers

import tokenstile as xgr
from tokenstile import TokenizerInfo, VocabType
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
    encode = find_encoder(Fast())
    gc.collect()
    assert encode("ab") == []
