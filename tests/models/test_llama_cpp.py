"""SmolLM2 in llama.cpp, held to grammars."""

from __future__ import annotations

import json

import llama_cpp
import numpy as np
import pytest
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

import tokenstile as xgr
from tokenstile.integrations.llama_cpp import GrammarLogitsProcessor, tokenizer_info


@pytest.fixture
def people(llama_compiler, person):
    return llama_compiler.compile_json_schema(person, any_whitespace=False)


def assert_person(text):
    value = json.loads(text)
    assert set(value) == {"name", "age", "city"}
    assert value["city"] in ("Paris", "Rome", "Oslo")


def test_the_vocabulary(llama, llama_compiler):
    info = llama_compiler.tokenizer_info
    assert info.vocab_size == llama.n_vocab() == 49152
    text = "naïve 日本 😀\n\tdef f(x): return {'a': 1.5}"
    tokens = llama.tokenize(text.encode(), add_bos=False)
    assert b"".join(map(info.token_bytes, tokens)) == text.encode()
    # All that end a generation, and not only the one that is called so.
    ends = {
        llama.tokenize(name, add_bos=False, special=True)[0] for name in (b"<|endoftext|>", b"<|im_end|>")
    }
    assert ends <= set(info.stop_token_ids)
    assert llama.token_eos() in info.stop_token_ids
    (start,) = llama.tokenize(b"<|im_start|>", add_bos=False, special=True)
    assert info.token_bytes(start) == b"<|im_start|>"
    assert {start, *ends} <= set(info.special_token_ids)
    assert tokenizer_info(llama, special=True).special_token_ids == []


def test_completions(llama, people):
    processor = GrammarLogitsProcessor(people, llama)
    for options in (
        {"temperature": 0.0},
        {"temperature": 1.5, "top_p": 0.9},
        {"temperature": 0.0, "repeat_penalty": 1.3},
    ):
        answer = llama("Ada is", max_tokens=200, logits_processor=processor, **options)["choices"][0]
        assert_person(answer["text"])
        assert answer["finish_reason"] == "stop"
        processor.check()


def test_chats(llama, people):
    processor = GrammarLogitsProcessor(people, llama)
    answer = llama.create_chat_completion(
        [{"role": "user", "content": "Who is Bo from Oslo?"}],
        max_tokens=60,
        temperature=0,
        logits_processor=processor,
    )
    assert_person(answer["choices"][0]["message"]["content"])
    # In a list, as other processors are passed.
    pieces = llama(
        "Bo is",
        max_tokens=60,
        temperature=0,
        stream=True,
        logits_processor=llama_cpp.LogitsProcessorList([processor]),
    )
    assert_person("".join(piece["choices"][0]["text"] for piece in pieces))


def test_a_bias_does_not_switch_the_grammar_off(llama, llama_compiler):
    processor = GrammarLogitsProcessor(llama_compiler.compile_regex("cat|dog"), llama)
    texts = []
    for wanted in ("cat", "dog"):
        bias = dict.fromkeys(llama.tokenize(wanted.encode(), add_bos=False), 50.0)
        bias |= dict.fromkeys(llama.tokenize(b" elephant", add_bos=False), 80.0)
        texts.append(
            llama("I like", max_tokens=20, temperature=0, logits_processor=processor, logit_bias=bias)[
                "choices"
            ][0]["text"]
        )
    assert texts == ["cat", "dog"]


def test_drafts_fail_closed(gguf, people):
    drafting = llama_cpp.Llama(
        str(gguf),
        n_ctx=512,
        n_threads=1,
        n_threads_batch=1,
        verbose=False,
        draft_model=LlamaPromptLookupDecoding(4),
    )
    with pytest.raises(xgr.InvalidArgumentError, match="draft model"):
        GrammarLogitsProcessor(people, drafting)
    processor = GrammarLogitsProcessor(people)
    answer = drafting("a b c a b c a b c", max_tokens=60, temperature=0, logits_processor=processor)
    # Whatever was written is the beginning of an answer: it was ended where it could not be checked.
    follower = xgr.GrammarMatcher(people)
    assert follower.accept_string(answer["choices"][0]["text"])
    if answer["choices"][0]["finish_reason"] == "stop" and not follower.is_completed():
        with pytest.raises(xgr.MatcherError, match="draft"):
            processor.check()


def test_what_does_not_fit_can_only_end(llama, llama_compiler):
    """Called as llama.cpp calls it, with scores that are a field of an array of records."""
    compiled = llama_compiler.compile_regex("cat|dog")
    ends = llama_compiler.tokenizer_info.stop_token_ids
    processor = GrammarLogitsProcessor(compiled, llama)
    (process,) = processor

    def allowed(tokens):
        records = np.zeros(llama.n_vocab(), dtype=[("id", np.intc), ("logit", np.single), ("p", np.single)])
        scores = records["logit"]
        assert not scores.flags.contiguous
        result = process(np.array(tokens, dtype=np.intc), scores)
        assert not records["id"].any()
        assert not records["p"].any()
        assert np.shares_memory(result, records)
        return np.flatnonzero(scores == 0).tolist()

    (cat,) = llama.tokenize(b"cat", add_bos=False)
    assert cat in allowed([1, 2, 3])
    assert allowed([1, 2, 3, cat]) == ends
    processor.check()
    # Two tokens at once are drafts, or a text that somebody else went on with.
    assert allowed([1, 2, 3, cat, 5, 6]) == ends
    with pytest.raises(xgr.MatcherError, match="at once"):
        processor.check()
    processor.reset()
    assert cat in allowed([1, 2, 3, cat, 5, 6])
    assert allowed([1, 2, 3, cat, 5, 6, 77]) == ends
    assert isinstance(processor.error, xgr.MatcherError)
    # Scores of another model.
    assert process(np.array([1]), np.zeros(4, dtype=np.single)).tolist() == [0, -np.inf, 0, -np.inf]


def test_another_vocabulary(llama):
    other = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "</s>"])).compile_regex("a")
    with pytest.raises(xgr.InvalidArgumentError, match="tokens"):
        GrammarLogitsProcessor(other, llama)
