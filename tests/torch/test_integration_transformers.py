"""The processors for transformers, with ``generate`` and the continuous batching of transformers themselves.

The model is a Llama with random weights and a vocabulary of single bytes and some longer tokens: whatever it would like
to say, it must write what its grammar has.
"""

from __future__ import annotations

import json
import re

import pytest
import torch
import transformers
from tests.torch.tiny_llama import LOGITS, PAD, STOP, TOKENS, llama

import tokenstile as xgr
from tokenstile.integrations.transformers import (
    GrammarBatchingProcessor,
    GrammarLogitsProcessor,
    tokenizer_info,
)

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "ok": {"type": "boolean"}},
    "required": ["name", "ok"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model():
    return llama(0)


@pytest.fixture(scope="module")
def compiler():
    return xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS, stop_token_ids=[STOP]))


@pytest.fixture(scope="module")
def schema(compiler):
    return compiler.compile_json_schema(SCHEMA, any_whitespace=False)


def prompts(*texts):
    """Give texts as ids, padded on the left, with their attention mask."""
    width = max(map(len, texts))
    ids = torch.tensor([[PAD] * (width - len(text)) + list(text.encode()) for text in texts])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


def texts_of(output, inputs):
    """Give what was generated up to the stop token, which must be there, and only padding behind it."""
    texts = []
    for row in output[:, inputs["input_ids"].shape[1] :].tolist():
        assert STOP in row
        end = row.index(STOP)
        assert set(row[end + 1 :]) <= {PAD, STOP}
        texts.append(b"".join(TOKENS[token] for token in row[:end]).decode())
    return texts


def assert_follows(text):
    value = json.loads(text)
    assert list(value) == ["name", "ok"]
    assert len(value["name"]) <= 5
    assert isinstance(value["ok"], bool)


@pytest.mark.parametrize(
    "mode",
    [
        {},
        {"do_sample": True, "temperature": 2.0, "top_p": 0.9},
        {"do_sample": True, "num_return_sequences": 3},
        {"num_beams": 4},
        {"num_beams": 4, "num_return_sequences": 4},
        {"num_beams": 3, "do_sample": True},
    ],
    ids=str,
)
def test_all_outputs_of_all_modes(model, schema, mode):
    inputs = prompts("Hello, my name is", "x", "a longer prompt than the others")
    processor = GrammarLogitsProcessor(schema)
    torch.manual_seed(1)
    output = model.generate(**inputs, max_new_tokens=60, logits_processor=[processor], **mode)
    texts = texts_of(output, inputs)
    assert len(texts) == 3 * mode.get("num_return_sequences", 1)
    for text in texts:
        assert_follows(text)


def test_beams_are_those_of_a_processor_without_memory(model, schema):
    """What is remembered is a shortcut: a processor that reads each row anew finds the same beams."""

    class Forgetful(transformers.LogitsProcessor):
        def __call__(self, input_ids, scores):
            bitmask = xgr.allocate_token_bitmask(len(input_ids), LOGITS)
            for row, ids in enumerate(input_ids[:, inputs["input_ids"].shape[1] :].tolist()):
                matcher = xgr.GrammarMatcher(schema)
                if all(matcher.accept_token(token) for token in ids) and not matcher.is_terminated():
                    matcher.fill_next_token_bitmask(bitmask[row : row + 1, : (len(TOKENS) + 31) // 32])
                    bitmask[row, (len(TOKENS) + 31) // 32 :] = 0
                else:
                    bitmask[row] = 0
                    bitmask[row, STOP // 32] = 1 << STOP % 32
            xgr.apply_token_bitmask_inplace(scores, bitmask)
            return scores

    inputs = prompts("one", "three")
    options = {"num_beams": 5, "num_return_sequences": 5, "max_new_tokens": 40}
    expected = model.generate(**inputs, logits_processor=[Forgetful()], **options)
    found = model.generate(**inputs, logits_processor=[GrammarLogitsProcessor(schema)], **options)
    assert found.tolist() == expected.tolist()


def test_each_prompt_has_its_own_grammar(model, compiler):
    patterns = ["[ab]{4}", "1[0-9]{2}", "(true|false)"]
    processor = GrammarLogitsProcessor(compiler.compile_regex(pattern) for pattern in patterns)
    inputs = prompts("a", "bb", "ccc")
    for options in ({}, {"num_beams": 3, "num_return_sequences": 2}):
        output = model.generate(**inputs, max_new_tokens=12, logits_processor=[processor], **options)
        found = texts_of(output, inputs)
        times = len(found) // 3
        for text, pattern in zip(found, [each for each in patterns for _ in range(times)], strict=True):
            assert re.fullmatch(pattern, text)


def test_assisted_decoding_gives_the_same_text(model, schema):
    inputs = prompts('{"name": "abc", "ok": true} and {"name":')
    options = {"max_new_tokens": 60, "do_sample": False}
    plain = model.generate(**inputs, logits_processor=[GrammarLogitsProcessor(schema)], **options)
    assert_follows(texts_of(plain, inputs)[0])
    for assistant in (
        {"assistant_model": llama(0)},  # Its drafts are right.
        {"assistant_model": llama(7, layers=1)},  # Its drafts are wrong.
        {"prompt_lookup_num_tokens": 4},
    ):
        processor = GrammarLogitsProcessor(schema)
        found = model.generate(**inputs, logits_processor=[processor], **options, **assistant)
        assert found.tolist() == plain.tolist(), assistant


def test_assisted_sampling_follows(model, schema):
    inputs = prompts("x")
    for seed in range(5):
        torch.manual_seed(seed)
        processor = GrammarLogitsProcessor(schema)
        output = model.generate(
            **inputs,
            max_new_tokens=60,
            do_sample=True,
            assistant_model=llama(7, layers=1),
            logits_processor=[processor],
        )
        assert_follows(texts_of(output, inputs)[0])


def test_a_processor_serves_again(model, schema):
    processor = GrammarLogitsProcessor(schema)
    outputs = []
    for inputs in (prompts("a"), prompts("a"), prompts("a", "b"), prompts("a")):
        output = model.generate(**inputs, max_new_tokens=60, logits_processor=[processor])
        outputs.append(texts_of(output, inputs)[0])
    assert outputs[0] == outputs[1] == outputs[3]
    # The output as a part of the prompt of the next turn.
    inputs = prompts("a" + outputs[0] + " and")
    with pytest.raises(xgr.MatcherError, match="reset"):
        model.generate(**inputs, max_new_tokens=60, logits_processor=[processor])
    processor.reset()
    output = model.generate(**inputs, max_new_tokens=60, logits_processor=[processor])
    assert_follows(texts_of(output, inputs)[0])


def test_prompts_that_begin_with_those_of_the_generation_before(model, schema):
    """They are not taken for more of it in silence, whatever part of its output they have."""
    first = prompts("a")
    whole = model.generate(**first, max_new_tokens=60, logits_processor=[GrammarLogitsProcessor(schema)])[0]
    for size in (first["input_ids"].shape[1] + 1, len(whole) // 2, len(whole) - 3):
        processor = GrammarLogitsProcessor(schema)
        model.generate(**first, max_new_tokens=60, logits_processor=[processor])
        again = {"input_ids": whole[None, :size].clone(), "attention_mask": torch.ones((1, size), dtype=int)}
        with pytest.raises(xgr.MatcherError, match="reset"):
            model.generate(**again, max_new_tokens=60, logits_processor=[processor])
        processor.reset()
        output = model.generate(**again, max_new_tokens=60, logits_processor=[processor])
        assert_follows(texts_of(output, again)[0])


@pytest.mark.parametrize(
    "options", [{"prompt_lookup_num_tokens": 4}, {"assistant": True}, {"num_beams": 3}, {}]
)
def test_a_processor_serves_another_batch(model, schema, options):
    """One processor for generations of all kinds, one after the other, without a word in between."""
    options = {"assistant_model": llama(7, layers=1)} if "assistant" in options else options
    processor = GrammarLogitsProcessor(schema)
    for text in ("a", "another", "a"):
        inputs = prompts(text)
        output = model.generate(**inputs, max_new_tokens=60, logits_processor=[processor], **options)
        assert_follows(texts_of(output, inputs)[0])
        inputs = prompts("a", text)
        output = model.generate(**inputs, max_new_tokens=60, logits_processor=[processor])
        for found in texts_of(output, inputs):
            assert_follows(found)


def test_what_does_not_fit_can_only_end(compiler):
    processor = GrammarLogitsProcessor(compiler.compile_grammar('root ::= "ab" | "abc"'))
    prompt = [[65, 66]]

    def allowed(*tokens):
        given = torch.zeros((1, LOGITS))
        # A part of a longer sequence, as it comes with drafts.
        scores = processor(torch.tensor([[*prompt[0], *tokens, PAD]])[:, :-1], given)
        assert not given.any(), "the scores are somebody else's"
        return [token for token, score in enumerate(scores[0].tolist()) if score == 0]

    a, b, c, ab, abc = ord("a"), ord("b"), ord("c"), TOKENS.index(b"ab"), TOKENS.index(b"abc")
    assert allowed() == [a, ab, abc]
    assert allowed(a) == [b]
    assert allowed(a, b) == [c, STOP]
    assert processor.strayed == [False]
    assert allowed(a, c) == [STOP]
    assert processor.strayed == [True]
    assert allowed(a, c, PAD) == [STOP]
    assert allowed(a, c, PAD, -1) == [STOP]
    assert allowed(a, c, PAD, -1, 2**40) == [STOP]
    assert allowed(a) == [b]
    assert allowed(ab) == [c, STOP]
    assert allowed(ab, STOP) == [STOP]
    assert allowed(ab, STOP, PAD) == [STOP]
    assert processor.strayed == [False]
    assert allowed(ab) == [c, STOP]
    # Whatever this is, it is not what was written under the masks above.
    with pytest.raises(xgr.MatcherError, match="reset"):
        allowed(ab, c, STOP)
    assert allowed(ab, c) == [STOP]


def test_wrong_arguments(schema):
    other = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "</s>"])).compile_regex("a")
    for wrong in ([], ["a"], [schema, None], [schema, other]):
        with pytest.raises(xgr.InvalidArgumentError):
            GrammarLogitsProcessor(wrong)
    with pytest.raises(xgr.InvalidArgumentError, match="2 grammars for 3"):
        GrammarLogitsProcessor([schema, schema])(
            torch.zeros((3, 1), dtype=torch.long), torch.zeros((3, LOGITS))
        )
    with pytest.raises(xgr.InvalidArgumentError, match="gives 7 scores"):
        GrammarLogitsProcessor(schema)(torch.zeros((1, 1), dtype=torch.long), torch.zeros((1, 7)))


def batching(model, **options):
    return model.init_continuous_batching(
        generation_config=transformers.GenerationConfig(
            max_new_tokens=60, eos_token_id=STOP, pad_token_id=PAD, do_sample=False, **options
        ),
        continuous_batching_config=transformers.ContinuousBatchingConfig(
            use_cuda_graph=False, use_async_batching=False, num_blocks=32, block_size=16, max_batch_tokens=24
        ),
    )


def run_batch(manager, requests):
    names = [manager.add_request(list(text.encode()), **options) for text, options in requests]
    manager.start()
    results = {}
    while len(results) < len(names):
        result = manager.get_result(timeout=60)
        assert result is not None
        if result.is_finished():
            results[result.request_id] = result
    manager.stop(block=True)
    return [results[name] for name in names]


@pytest.mark.filterwarnings("ignore")
def test_continuous_batching(compiler, schema):
    model = llama(0)
    number = compiler.compile_regex("1[0-9]{30}")
    other = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "</s>"])).compile_regex("a")
    manager = batching(model)
    GrammarBatchingProcessor(compiler.tokenizer_info, default=schema).attach(manager)
    requests = [
        (f"prompt {at} " * (at % 5 + 1), {"grammar": number} if at % 3 == 0 else {}) for at in range(12)
    ]
    results = run_batch(manager, [*requests, ("x", {"grammar": other})])
    single = llama(0)
    for (text, options), result in zip(requests, results, strict=False):
        assert result.error is None
        assert result.generated_tokens[-1] == STOP
        written = b"".join(TOKENS[token] for token in result.generated_tokens[:-1]).decode()
        if options:
            assert re.fullmatch("1[0-9]{30}", written)
        else:
            assert_follows(written)
        inputs = prompts(text)
        processor = GrammarLogitsProcessor(options.get("grammar", schema))
        alone = single.generate(**inputs, max_new_tokens=60, logits_processor=[processor])
        assert texts_of(alone, inputs) == [written]
    assert results[-1].generated_tokens == [STOP]


@pytest.mark.filterwarnings("ignore")
def test_continuous_batching_refuses_what_cannot_work(schema, compiler):
    manager = batching(llama(0))
    manager.continuous_batching_config.use_async_batching = True
    with pytest.raises(xgr.InvalidArgumentError, match="use_async_batching"):
        GrammarBatchingProcessor(compiler.tokenizer_info).attach(manager)
    # The last tokens of some requests, as continuous batching shows them to ordinary processors.
    with pytest.raises(xgr.InvalidArgumentError, match="GrammarBatchingProcessor"):
        GrammarLogitsProcessor(schema)(torch.tensor([1, 2]), torch.zeros((2, LOGITS)))


def test_the_vocabulary_of_a_model(model):
    class Tokenizer:
        """As much of a tokenizer as is asked for here."""

        eos_token_id = PAD

        def get_vocab(self):
            return {f"<{token}>": token for token in range(len(TOKENS))}

        class tokenizer:  # noqa: N801 - an attribute
            pass

        vocab_files_names = {"vocab_file": "some.tiktoken"}  # noqa: RUF012

    info = tokenizer_info(model, Tokenizer())
    assert info.vocab_size == LOGITS
    assert info.stop_token_ids == [STOP, PAD]
