"""Families of models on the vocabularies that have their markers: calls as the real tokenizers write them.

The texts are those of ``testdata/tool_calling``. A tokenizer writes a marker as the one token that it has for it, so
this sees what the core's walks through small vocabularies cannot: that control tokens are allowed where a family writes
them. The tokenizers lie in ``../shared/tokenizers``, where that is present.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

import pytest
import tokenizers

import tokenstile as xgr
from tests.real_tokenizers import NAMES, read
from tests.tool_calling_cases import cases

VOCABULARIES = {
    "deepseek_v3": {"deepseek_r1", "deepseek_v3_1"},
    "gemma4": {"gemma_4"},
    "gpt_oss": {"harmony"},
    "mistral_nemo": {"magistral", "mistral", "mistral_json", "mistral_v11"},
    # Some have no more of their markers there than those of thoughts.
    "qwen3": {
        "deepseek_r1", "deepseek_v3_1", "deepseek_v3_2", "deepseek_v4", "deepseek_v4_1", "exaone", "glm_4_7", "granite",
        "granite_4", "hermes", "kimi", "mimo", "minimax", "minimax_m3", "nemotron", "nemotron_3", "qwen_3", "qwen_3_5",
        "qwen_3_coder",
    },
}  # fmt: skip
"""The vocabularies that have markers as tokens, and the families that write them."""

WITHOUT = {"cohere", "kimi_k3", "llama", "llama_4", "phi_4_mini"}
"""The families whose markers are no tokens of any of these vocabularies."""

ALL = list(cases())
OWN = [
    pytest.param(name, case, id=f"{name}-{path.stem}-{case['name']}")
    for name, models in VOCABULARIES.items()
    for path, case in ALL
    if case["model"] in models
]


class Loaded(NamedTuple):
    """A vocabulary, the same tokenizer in its own library, and a compiler."""

    info: xgr.TokenizerInfo
    reference: Any
    compiler: xgr.GrammarCompiler

    def encode(self, text):
        """Cut a text into tokens as prompts are, markers into one token each."""
        tokens = self.reference.encode(text, add_special_tokens=False).ids
        assert b"".join(map(self.info.token_bytes, tokens)).decode() == text
        return tokens


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Give a way to a vocabulary with the control tokens that its tokenizer marks, or also with all of the markers."""

    @cache
    def load(name, *, marked=False):
        folder = tmp_path_factory.mktemp(name)
        info = read(name, folder)
        reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        if marked:
            markers = set().union(*(markers_of(model, reference) for model in VOCABULARIES[name]))
            special = {*info.special_token_ids, *map(reference.token_to_id, markers)}
            info = xgr.TokenizerInfo.from_file(folder, special_token_ids=sorted(special))
        return Loaded(info, reference, xgr.GrammarCompiler(info))

    return load


def literals(value):
    """Give the texts that a structural tag writes around what it is about."""
    if isinstance(value, list):
        for each in value:
            yield from literals(each)
    elif isinstance(value, dict):
        for name in ("begin", "end", "separator", "value"):
            found = value.get(name) or []
            yield from (
                [found] if isinstance(found, str) else (each for each in found if isinstance(each, str))
            )
        for name, each in value.items():
            if name not in {"json_schema", "excludes"}:
                yield from literals(each)


@cache
def written(model):
    """Give the texts that a family writes around calls and thoughts."""
    tags = [case["structural_tag"] for _, case in ALL if case["model"] == model]
    return {text for tag in tags for text in literals(json.loads(tag))}


def markers_of(model, reference):
    """Give the tokens that were added to a vocabulary and that a family writes, by their texts."""
    added = [token.content for token in reference.get_added_tokens_decoder().values()]
    return {marker for marker in added if len(marker) > 2 and any(marker in text for text in written(model))}


def walk(matcher, tokens, vocab_size):
    """Accept tokens as long as they fit, and give their number. The mask and the matcher agree on each."""
    mask = xgr.allocate_token_bitmask(1, vocab_size)
    for count, token in enumerate(tokens):
        if matcher.is_terminated():
            return count
        matcher.fill_next_token_bitmask(mask)
        fits = bool(mask[0][token // 32] >> (token % 32) & 1)
        assert matcher.accept_token(token) == fits, (count, token)
        if not fits:
            return count
    return len(tokens)


def test_each_family_has_a_vocabulary_or_none():
    having = set().union(*VOCABULARIES.values())
    assert {case["model"] for _, case in ALL} == having | WITHOUT
    assert not having & WITHOUT


@pytest.mark.parametrize("name", NAMES)
def test_which_families_have_markers_in_a_vocabulary(load, name):
    reference = load(name).reference
    found = {case["model"]: markers_of(case["model"], reference) for _, case in ALL}
    assert {model for model, markers in found.items() if markers} == VOCABULARIES.get(name, set())
    for marker in set().union(*found.values()):
        assert reference.encode(marker, add_special_tokens=False).ids == [reference.token_to_id(marker)]


@pytest.mark.parametrize("marked", [False, True], ids=["as-it-is", "marked"])
@pytest.mark.parametrize(("name", "case"), OWN)
def test_texts_as_the_tokenizer_writes_them(load, name, case, marked):
    """The tokenizer of a family does not mark all of its markers as special. The caller may, by their ids."""
    loaded = load(name, marked=marked)
    compiled = loaded.compiler.compile_structural_tag(case["structural_tag"])
    stop = loaded.info.stop_token_ids[0]

    def walked(text):
        matcher = xgr.GrammarMatcher(compiled)
        tokens = loaded.encode(text)
        return matcher, walk(matcher, tokens, loaded.info.vocab_size), tokens

    for text in case["accept"]:
        matcher, count, tokens = walked(text)
        # What ends a message of harmony's may end the text.
        if not matcher.is_terminated():
            assert count == len(tokens), (text, loaded.reference.decode(tokens[:count]))
            assert matcher.accept_token(stop), text
    for text in case.get("partial", []):
        matcher, count, tokens = walked(text)
        assert count == len(tokens), text
        assert not matcher.is_completed(), text
    for text in case.get("reject", []):
        _, count, tokens = walked(text)
        assert count < len(tokens), text
