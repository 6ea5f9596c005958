"""`max_tokens` in the engine: structured outputs are complete within it, and thoughts are ended for that."""

from __future__ import annotations

import json

import pytest
from tests.structured_output import backends  # noqa: F401 - registers some
from tests.stub_model import StubModel

import tokenstile as xgr
from tokenstile.engine import Engine, FinishReason, SamplingParams
from tokenstile.engine.tracing import trace
from tokenstile.integrations.writers import EngineWriter
from tokenstile.structured_output import ReasoningMarkers, StructuredOutputsParams

PERSON = StructuredOutputsParams(
    json={
        "type": "object",
        "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["name"],
    }
)
CHATTER = '{"name":"' + "the " * 100 + '","tags":["' + 'x","' * 100
LEAST = 6


def written(model, structure=PERSON, **options):
    engine = Engine(model, **options)
    request = engine.submit("x", SamplingParams(max_tokens=LEAST), structure=structure)
    engine.run_until_idle()
    return request


@pytest.mark.parametrize("guesses", [0, 3])
@pytest.mark.parametrize("max_tokens", [6, 7, 9, 14, 40])
def test_an_output_is_complete_in_time(guesses, max_tokens):
    engine = Engine(StubModel(CHATTER), num_speculative_tokens=guesses)
    request = engine.submit("xyxyxy", SamplingParams(max_tokens=max_tokens), structure=PERSON)
    engine.run_until_idle()
    done = request.result(0)
    assert done.finish_reason is FinishReason.STOP
    assert len(done.token_ids) <= max_tokens
    assert "name" in json.loads(done.text)


def test_the_room_of_the_model_is_a_budget_too():
    engine = Engine(StubModel(CHATTER, max_length=30))
    request = engine.submit("x" * 20, structure=PERSON)
    engine.run_until_idle()
    assert request.result(0).finish_reason is FinishReason.STOP
    assert len(request.output) <= 10
    crowded = engine.submit("x" * 28, structure=PERSON)
    engine.run_until_idle()
    with pytest.raises(xgr.TokenBudgetError, match="a budget of 2 tokens is too small") as caught:
        crowded.result(0)
    assert caught.value.tokens_needed == LEAST
    # Others do not mind.
    assert engine.generate("x", structure=StructuredOutputsParams(choice=["yes"])) == "yes"


def test_what_is_enough_is_enough():
    engine = Engine(StubModel(CHATTER))
    short = engine.submit("x", SamplingParams(max_tokens=LEAST - 1), structure=PERSON)
    engine.run_until_idle()
    with pytest.raises(xgr.TokenBudgetError) as caught:
        short.result(0)
    assert short.finish_reason is FinishReason.ERROR
    assert caught.value.tokens_needed == LEAST
    assert written(StubModel(CHATTER)).result(0).finish_reason is FinishReason.STOP


def test_an_engine_may_be_told_to_cut_off():
    done = written(StubModel(CHATTER), complete_in_time=False).result(0)
    assert done.finish_reason is FinishReason.LENGTH
    assert len(done.token_ids) == LEAST
    assert done.length_reason.startswith(f"max_tokens={LEAST} is reached; a grammar of the backend")


def test_text_without_a_structure_is_cut_off_and_says_why():
    done = written(StubModel("the " * 50), None).result(0)
    assert (done.finish_reason, len(done.token_ids)) == (FinishReason.LENGTH, LEAST)
    assert (
        done.length_reason == f"max_tokens={LEAST} is reached; the output has no structure that would end it"
    )
    engine = Engine(StubModel("the " * 50, max_length=12))
    request = engine.submit("x", SamplingParams(max_tokens=100))
    engine.run_until_idle()
    assert request.result(0).length_reason.startswith("the model's context is full")
    chunks = list(request)
    assert chunks[-1].length_reason == request.result(0).length_reason
    assert all(not chunk.length_reason for chunk in chunks[:-1])


FREE = StructuredOutputsParams(
    structural_tag={
        "type": "structural_tag",
        "format": {"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"},
    }
)


@pytest.mark.parametrize("guesses", [0, 3])
def test_free_text_that_the_budget_ends_is_cut_off_and_says_why(guesses):
    model = StubModel("<a>" + "the " * 50)
    engine = Engine(model, num_speculative_tokens=guesses)
    for limit in (12, 13, 20):
        request = engine.submit("x", SamplingParams(max_tokens=limit), structure=FREE)
        engine.run_until_idle()
        done = request.result(0)
        assert done.finish_reason is FinishReason.LENGTH
        # It is whole by the letter of its grammar all the same.
        assert done.text.startswith("<a>")
        assert done.text.endswith("</a>")
        assert len(done.token_ids) <= limit
        assert done.length_reason.startswith(f"max_tokens={limit} is reached; free text was cut off")
    # What ends by itself ends by itself.
    engine = Engine(StubModel("<a>the</a>"), num_speculative_tokens=guesses)
    request = engine.submit("x", SamplingParams(max_tokens=40), structure=FREE)
    engine.run_until_idle()
    assert request.result(0).finish_reason is FinishReason.STOP


@pytest.mark.parametrize("guesses", [0, 3])
@pytest.mark.parametrize("end", ["</t>", 256 + 5])
def test_a_thought_is_ended_in_time(end, guesses):
    """The marker is four tokens, or one that a model would not write by itself."""
    for max_tokens in range(LEAST + 4, LEAST + 20):
        model = StubModel("thinking and thinking and " * 10)
        engine = Engine(
            model, num_speculative_tokens=guesses, reasoning=ReasoningMarkers(end=end, starts_thinking=True)
        )
        request = engine.submit("and thinking and ", SamplingParams(max_tokens=max_tokens), structure=PERSON)
        engine.run_until_idle()
        done = request.result(0)
        assert done.finish_reason is FinishReason.STOP
        assert len(done.token_ids) <= max_tokens
        assert "name" in json.loads(done.text)
        assert done.reasoning


def test_no_room_for_a_thought():
    markers = ReasoningMarkers(end="</t>", starts_thinking=True)
    engine = Engine(StubModel("thinking"), reasoning=markers)
    request = engine.submit("x", SamplingParams(max_tokens=LEAST + 3), structure=PERSON)
    engine.run_until_idle()
    with pytest.raises(xgr.TokenBudgetError, match="to end the thought") as caught:
        request.result(0)
    assert caught.value.tokens_needed == LEAST + 4


def test_a_thought_that_nothing_ends_is_no_answer():
    model = StubModel("thinking " * 20)
    # Another backend's grammar has no budget, so that nothing ends its thought.
    engine = Engine(model, reasoning=ReasoningMarkers(end="</t>", starts_thinking=True))
    request = engine.submit("x", SamplingParams(max_tokens=9), structure=PERSON, backend="opaque")
    engine.run_until_idle()
    done = request.result(0)
    assert (done.finish_reason, done.text) == (FinishReason.LENGTH, "")
    assert "still thinking" in done.length_reason


def test_a_trace_is_complete_in_time():
    tokens = list(trace(StubModel(CHATTER), "x", SamplingParams(max_tokens=9), PERSON))
    assert len(tokens) <= 9
    assert tokens[-1].finish_reason is FinishReason.STOP
    assert "name" in json.loads("".join(token.text for token in tokens))
    cut = list(trace(StubModel(CHATTER), "x", SamplingParams(max_tokens=9), PERSON, complete_in_time=False))
    assert cut[-1].finish_reason is FinishReason.LENGTH


def test_a_job_goes_on_where_a_prompt_leaves_too_little_room():
    writer = EngineWriter(StubModel(CHATTER, max_length=30))
    results = dict(writer.write({"short": "x", "long": "x" * 28}, PERSON, SamplingParams(max_tokens=50)))
    assert results["long"].finish_reason == "error"
    assert "too small" in results["long"].error
    assert results["short"].finish_reason == "stop"
    assert "name" in json.loads(results["short"].text)
