"""Reading vLLM's kinds of tokenizers: those of transformers, and Mistral's own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import tokenstile
from tokenstile.integrations.vllm.vocabulary import compiler_for, vocabulary_of

TEXT = '{"naïve": ["☃ snow", -12.5e3]}\n\tend 𝄞'


def mistral(name):
    from transformers.tokenization_mistral_common import MistralCommonBackend
    from vllm.tokenizers.mistral import MistralTokenizer

    folder = Path(importlib.util.find_spec("mistral_common").origin).parent / "data"
    return MistralTokenizer(MistralCommonBackend(tokenizer_path=str(folder / name), mode="test"))


@pytest.fixture(
    scope="module", params=["smollm2", "tekken_240911.json", "mistral_instruct_tokenizer_241114.model.v7"]
)
def read(request, tokenizer):
    """A tokenizer, and the vocabulary that was read from it for a model with some logits more."""
    made = tokenizer if request.param == "smollm2" else mistral(request.param)
    size = len(made.get_vocab() if request.param == "smollm2" else made.vocab) + 100
    return made, vocabulary_of(made, size), size


def test_bytes(read):
    """The bytes of the tokens of a text are the text."""
    made, info, size = read
    assert info.vocab_size == size
    tokens = made.encode(TEXT, add_special_tokens=False)
    spelled = b"".join(info.token_bytes(token) for token in tokens)
    assert spelled.removeprefix(b" " if info.add_prefix_space else b"").decode() == TEXT
    assert info.stop_token_ids == [made.eos_token_id]


def test_following_a_text(read):
    made, info, _ = read
    grammar = tokenstile.Grammar.from_regex(r"\s?(?s:.*)end 𝄞")
    matcher = tokenstile.GrammarMatcher(tokenstile.GrammarCompiler(info).compile_grammar(grammar))
    for token in [*made.encode(TEXT, add_special_tokens=False), made.eos_token_id]:
        assert matcher.accept_token(token)
    assert matcher.is_terminated()


def test_one_compiler_for_a_tokenizer(tokenizer):
    assert compiler_for(tokenizer, 49_152) is compiler_for(tokenizer, 49_152)
    assert compiler_for(tokenizer, 50_000) is not compiler_for(tokenizer, 49_152)
    assert compiler_for(tokenizer, 50_000).tokenizer_info.vocab_size == 50_000
