"""Tokenizers of transformers, made here: nothing is downloaded."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

import tokenstile as xgr
from tokenstile.testing import bitmask_to_bool_mask

SHARED = Path(__file__).parents[3] / "shared" / "tokenizers"
CORPUS = [
    '{"name": "value", "list": [1, 2, 3]}',
    "true false null",
    "héllo wörld 日本語 😀",
    "brown fox",
] * 20


@pytest.fixture(scope="module")
def tokenizer():
    """A small byte-level BPE tokenizer as transformers has it."""
    core = tokenizers.Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, special_tokens=["<|end|>"])
    core.train_from_iterator(CORPUS, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|end|>")  # noqa: S106


def test_from_huggingface(tokenizer):
    info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=512)
    assert info.vocab_type is xgr.VocabType.BYTE_LEVEL
    assert info.vocab_size == 512
    assert info.stop_token_ids == [tokenizer.eos_token_id]
    decoded = info.decoded_vocab
    for text in CORPUS[:4]:
        assert b"".join(decoded[token] for token in tokenizer.encode(text)) == text.encode()


RECORD = r"""
root ::= "{" pair (", " pair){0,3} "}"
pair ::= "\"" [a-zé日]{1,8} "\": " value
value ::= [1-9] [0-9]{0,4} | "true" | "null" | "[" (value ("," value){0,2})? "]"
"""


def test_greedy_decoding_gives_json(tokenizer):
    """A model of random logits, held to a grammar of small JSON objects."""
    info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=512)
    compiled = xgr.GrammarCompiler(info).compile_grammar(RECORD)
    closing = torch.tensor([float(token.count(b"]")) for token in info.decoded_vocab])
    for seed in range(10):
        torch.manual_seed(seed)
        matcher = xgr.GrammarMatcher(compiled)
        bitmask = xgr.allocate_token_bitmask(1, info.vocab_size)
        tokens = []
        while not matcher.is_terminated():
            logits = torch.randn(1, info.vocab_size) + closing * len(tokens)
            matcher.fill_next_token_bitmask(bitmask)
            xgr.apply_token_bitmask_inplace(logits, bitmask)
            token = int(logits.argmax())
            assert matcher.accept_token(token)
            tokens.append(token)
            assert len(tokens) < 1000
        json.loads(tokenizer.decode(tokens[:-1]))


def test_the_mask_follows_encoded_text(tokenizer):
    info = xgr.TokenizerInfo.from_huggingface(tokenizer)
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_builtin_json_grammar())
    bitmask = xgr.allocate_token_bitmask(1, info.vocab_size)
    for token in tokenizer.encode(CORPUS[0]):
        matcher.fill_next_token_bitmask(bitmask)
        assert bitmask_to_bool_mask(bitmask, info.vocab_size)[0][token]
        assert matcher.accept_token(token)
    assert matcher.is_completed()


NAMES = ["gpt2", "llama3_1", "qwen3", "deepseek_v3", "gemma4", "llama2", "mistral_nemo", "smollm2"]


@pytest.mark.parametrize("name", NAMES)
def test_real_tokenizers(name, tmp_path):
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the tokenizer {name} is not beside the checkout")
    file = tmp_path / "tokenizer.json"
    file.write_bytes(gzip.decompress((folder / "tokenizer.json.gz").read_bytes()))
    meta = json.loads((folder / "meta.json").read_text())
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(file))
    options = {"vocab_size": meta["logits_size"], "stop_token_ids": meta["eos_id"]}
    by_object = xgr.TokenizerInfo.from_huggingface(fast, **options)
    by_file = xgr.TokenizerInfo.from_file(file, **options)
    assert by_object.vocab_size == by_file.vocab_size == meta["logits_size"]
    assert by_object.decoded_vocab == by_file.decoded_vocab
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(by_object).compile_builtin_json_grammar())
    bitmask = xgr.allocate_token_bitmask(1, by_object.vocab_size)
    matcher.fill_next_token_bitmask(bitmask)
    allowed = bitmask_to_bool_mask(bitmask, by_object.vocab_size)[0]
    starts = {by_object.decoded_vocab[token][:1] for token in allowed.nonzero().flatten().tolist()}
    assert starts == {b"{", b"["}
