"""The engine, with a Llama of random weights: whatever is done to make it quicker, the texts are the same."""

from __future__ import annotations

import asyncio
import json
import re
import time

import pytest
from tests.torch.tiny_llama import PAD, STOP, TOKENS, llama

import tokenstile as xgr
from tokenstile.engine import Engine, FinishReason, SamplingParams
from tokenstile.engine.models.transformers import TransformersModel
from tokenstile.structured_output import ReasoningMarkers, StructuredOutputsParams

INFO = xgr.TokenizerInfo([*TOKENS, *[b""] * 13], stop_token_ids=[STOP])
PERSON = StructuredOutputsParams(
    json={
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 8},
            "tags": {"type": "array", "items": {"enum": [1, "ab", False]}, "maxItems": 3},
        },
        "required": ["name", "tags"],
        "additionalProperties": False,
    },
    disable_any_whitespace=True,
)
NUMBER = StructuredOutputsParams(regex="1[0-9]{12}")
REPEATED = StructuredOutputsParams(regex='("abc":true,){12}')
LONG = SamplingParams(max_tokens=120)


@pytest.fixture(scope="module")
def weights():
    return llama(0)


def engine(weights, slots=4, **options):
    return Engine(TransformersModel(weights, info=INFO, num_slots=slots, max_length=256), **options)


def prompt(text):
    return list(text.encode())


def requests():
    """Prompts of several lengths with and without structure."""
    kinds = [PERSON, NUMBER, REPEATED, None]
    return [
        (
            prompt(f"request {at}: " + "word " * (at * 7 % 11)),
            SamplingParams(
                max_tokens=100 if kinds[at % 4] else 20, temperature=at % 3 / 2, seed=at, top_p=0.9
            ),
            kinds[at % 4],
        )
        for at in range(12)
    ]


def run(served, asked):
    with served:
        handles = [served.submit(*each[:2], structure=each[2]) for each in asked]
        return [handle.result(250) for handle in handles]


@pytest.fixture(scope="module")
def alone(weights):
    """What comes out one at a time."""
    return [run(engine(weights, slots=1), [each])[0] for each in requests()]


def check(asked, done):
    for (_, _, structure), completion in zip(asked, done, strict=True):
        if structure is None:
            continue
        assert completion.finish_reason is FinishReason.STOP
        if structure is PERSON:
            assert set(json.loads(completion.text)) == {"name", "tags"}
        else:
            assert re.fullmatch(structure.regex, completion.text)


def test_one_at_a_time(alone):
    check(requests(), alone)


def test_batches_write_what_single_requests_write(weights, alone):
    done = run(engine(weights, slots=4, max_batch_tokens=40), requests())
    assert [each.token_ids for each in done] == [each.token_ids for each in alone]


def test_speculation_writes_the_same_in_fewer_steps(weights, alone):
    served = engine(weights, slots=5, num_speculative_tokens=4)
    done = run(served, requests())
    assert [each.token_ids for each in done] == [each.token_ids for each in alone]
    assert [each.text for each in done] == [each.text for each in alone]
    repeated = [each for each, asked in zip(done, requests(), strict=True) if asked[2] is REPEATED]
    assert all(each.num_accepted_drafts > len(each.token_ids) / 3 for each in repeated)


def test_equal_to_transformers(weights):
    """Greedy, without structure: ``generate`` of transformers writes the same."""
    import torch

    ids = prompt("the same text")
    served = engine(weights)
    request = served.submit(ids, SamplingParams(max_tokens=30))
    served.run_until_idle()
    expected = weights.generate(torch.tensor([ids]), max_new_tokens=30, do_sample=False)[
        0, len(ids) :
    ].tolist()
    assert request.result().token_ids == expected


def test_streaming(weights):
    with engine(weights) as served:
        request = served.submit(prompt("x"), LONG, structure=PERSON)
        chunks = list(request)
        assert len(chunks) > 5
        assert chunks[-1].finish_reason is FinishReason.STOP
        assert all(chunk.finish_reason is None for chunk in chunks[:-1])
        assert "".join(chunk.text for chunk in chunks) == request.result().text

        async def read():
            return [chunk async for chunk in served.submit(prompt("x"), LONG, structure=PERSON)]

        assert "".join(chunk.text for chunk in asyncio.run(read())) == request.result().text


def test_stop_texts(weights, alone):
    at, whole = next((at, each) for at, each in enumerate(alone) if requests()[at][2] is REPEATED)
    ids, _, structure = requests()[at]
    assert whole.text.startswith('"abc":true,')
    asked = (ids, SamplingParams(max_tokens=90, stop=('e,"abc":t', "zz")), structure)
    plain, speculated = (run(engine(weights, num_speculative_tokens=count), [asked])[0] for count in (0, 4))
    assert plain.text == speculated.text == '"abc":tru'
    assert plain.finish_reason is speculated.finish_reason is FinishReason.STOP
    assert plain.token_ids == speculated.token_ids


def test_length(weights):
    def served():
        return engine(weights, complete_in_time=False)

    done = run(served(), [(prompt("x"), SamplingParams(max_tokens=3), PERSON)])[0]
    assert done.finish_reason is FinishReason.LENGTH
    assert len(done.token_ids) == 3
    many = StructuredOutputsParams(regex="a{1000}")
    done = run(served(), [(prompt("x" * 200), SamplingParams(max_tokens=900), many)])[0]
    assert done.finish_reason is FinishReason.LENGTH
    assert len(done.token_ids) == 56


def test_a_length_that_no_output_fits(weights):
    with pytest.raises(xgr.TokenBudgetError):
        run(engine(weights), [(prompt("x"), SamplingParams(max_tokens=3), PERSON)])


@pytest.mark.parametrize("speculative", [0, 3])
@pytest.mark.parametrize("marker", ["</think>", "12"])
def test_thoughts_are_free_and_answers_are_not(weights, speculative, marker):
    """The model is random, so a thought's end is forced on it by a grammar of its own for thoughts: a bias."""
    info = INFO
    end = marker if marker != "12" else TOKENS.index(b"12")
    markers = ReasoningMarkers(end=end, starts_thinking=True)
    model = TransformersModel(weights, info=info, num_slots=2, max_length=256)
    script = list(b"let me think about it </think>") if end == marker else [*b"so many thoughts ", end]
    forward = model.forward

    def scripted(feeds):
        """Let the model think what the script says, and then what it likes."""
        logits = forward(feeds)
        row = 0
        for feed in feeds:
            for at in range(len(feed.tokens) - feed.num_logits, len(feed.tokens)):
                written = feed.position + at + 1 - 2
                if 0 <= written < len(script):
                    logits[row, script[written]] = 1e4
                elif written >= 0:
                    # An answer that only a grammar can prevent.
                    logits[row, ord("?")] += 100
                row += 1
        # Stopping would be the likeliest of all.
        logits[:, STOP] = 2e4
        return logits

    model.forward = scripted
    served = Engine(model, num_speculative_tokens=speculative, reasoning=markers)
    done = run(served, [(prompt("hi"), LONG, StructuredOutputsParams(choice=["yes", "yes!"]))])[0]
    assert done.finish_reason is FinishReason.STOP
    assert done.text == "yes"
    assert done.reasoning == b"".join(TOKENS[token] for token in script).decode()


def test_cancellation(weights):
    served = engine(weights, slots=1)
    first = served.submit(
        prompt("a"), SamplingParams(max_tokens=200), structure=StructuredOutputsParams(regex="a{150}")
    )
    while len(first.output) <= 3:  # its grammar is made on another thread, as long as that takes
        if not served.step():
            time.sleep(0.001)
    second = served.submit(prompt("b"), LONG, structure=NUMBER)
    third = served.submit(prompt("c"), LONG, structure=NUMBER)
    first.cancel()
    third.cancel()
    served.run_until_idle()
    assert first.result(0).finish_reason is third.result(0).finish_reason is FinishReason.CANCELLED
    assert re.fullmatch("a+", first.result(0).text)
    assert re.fullmatch("1[0-9]{12}", second.result(0).text)
    assert third.result(0).token_ids == []
    with served:
        waiting = served.submit(
            prompt("d"), SamplingParams(max_tokens=200), structure=StructuredOutputsParams(regex="a{150}")
        )
    assert waiting.result(0).finish_reason is FinishReason.CANCELLED


def test_one_bad_request_harms_no_other(weights):
    with engine(weights) as served:
        bad = [
            served.submit(prompt("x"), LONG, structure=StructuredOutputsParams(regex="(")),
            served.submit(prompt("x"), LONG, structure=StructuredOutputsParams(json='{"type": 7}')),
            served.submit(prompt("x"), LONG, structure=StructuredOutputsParams(grammar='root ::= "a')),
        ]
        good = served.submit(prompt("x"), LONG, structure=NUMBER)
        for request in bad:
            with pytest.raises(xgr.GrammarError):
                request.result(60)
            assert request.finish_reason is FinishReason.ERROR
        assert re.fullmatch("1[0-9]{12}", good.result(60).text)
        for wrong in ([], [-1], [10**6], [1] * 256):
            with pytest.raises(xgr.InvalidArgumentError):
                served.submit(wrong)
        with pytest.raises(xgr.InvalidArgumentError, match="stop_token_ids"):
            served.submit([1], SamplingParams(stop_token_ids=(10**6,)))


def test_tokens_that_do_not_fit_are_not_passed_on(weights):
    """If the masks are lost on the way, the request fails, and its client sees nothing that its grammar has not."""
    served = engine(weights)
    fill = served.manager._fill

    def lose(*arguments, **options):
        rows = fill(*arguments, **options)
        rows.bitmask[...] = -1
        return rows

    served.manager._fill = lose
    request = served.submit(prompt("x"), LONG, structure=StructuredOutputsParams(regex="\u00e9{50}"))
    served.run_until_idle()
    with pytest.raises(xgr.MatcherError, match="does not fit"):
        request.result(0)
    assert "".join(chunk.text for chunk in request) == ""


def test_a_model_that_fails(weights):
    model = TransformersModel(weights, info=INFO, num_slots=2, max_length=256)
    forward, broken = model.forward, [True]

    def sometimes(feeds):
        if broken:
            broken.clear()
            raise OSError("out of memory")
        return forward(feeds)

    model.forward = sometimes
    with Engine(model) as served:
        with pytest.raises(OSError, match="memory"):
            served.submit(prompt("x"), LONG, structure=NUMBER).result(60)
        assert re.fullmatch("1[0-9]{12}", served.generate(prompt("x"), LONG, structure=NUMBER))


def test_models_that_cannot_be_served(weights):
    import transformers

    config = transformers.MistralConfig(
        vocab_size=8,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        sliding_window=4,
    )
    with pytest.raises(xgr.InvalidArgumentError, match="full attention"):
        TransformersModel(transformers.MistralForCausalLM(config), info=INFO)
    with pytest.raises(xgr.InvalidArgumentError, match="tokenizer"):
        TransformersModel(weights)


def test_the_stop_and_padding_tokens_are_known():
    assert TOKENS[STOP] == b"</s>"
    assert TOKENS[PAD] == b"<pad>"
