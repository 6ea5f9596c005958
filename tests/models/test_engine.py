"""The engine with SmolLM2, in transformers and in llama.cpp."""

from __future__ import annotations

import json

import pytest

from tokenstile.engine import Engine, FinishReason, SamplingParams
from tokenstile.structured_output import ReasoningMarkers, StructuredOutputsParams

NAMES = ["Ada", "Bo", "Cleo", "Dan", "Eve"]


@pytest.fixture(scope="module", params=["transformers", "llama_cpp"])
def make(request):
    """Give a way to models with some slots."""
    if request.param == "transformers":
        from tokenstile.engine.models.transformers import TransformersModel

        parts = request.getfixturevalue("hf")
        return lambda slots: TransformersModel(*parts, num_slots=slots, max_length=512)
    from tokenstile.engine.models.llama_cpp import LlamaCppModel

    llama = request.getfixturevalue("llama")
    return lambda slots: LlamaCppModel(llama, num_slots=slots, max_length=512, num_threads=1)


def chat(question):
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def test_people(make, person):
    structure = StructuredOutputsParams(json=person, disable_any_whitespace=True)
    params = [SamplingParams(max_tokens=80, temperature=at / 4, top_p=0.95, seed=at) for at in range(5)]
    texts = {}
    for slots, speculative in ((1, 0), (3, 0), (3, 3)):
        with Engine(make(slots), num_speculative_tokens=speculative) as engine:
            requests = [
                engine.submit(chat(f"Tell me about {name} in JSON."), each, structure=structure)
                for name, each in zip(NAMES, params, strict=True)
            ]
            done = [request.result() for request in requests]
        assert all(each.finish_reason is FinishReason.STOP for each in done)
        for each in done:
            assert set(json.loads(each.text)) == {"name", "age", "city"}
        texts[slots, speculative] = [each.text for each in done]
    # Greedy: the same alone and in a batch, with and without guesses, but for the last bits of the numbers.
    assert len({found[0] for found in texts.values()}) == 1


def test_streaming_and_free_text(make):
    with Engine(make(2)) as engine:
        request = engine.submit(chat("What is the capital of France?"), SamplingParams(max_tokens=30))
        pieces = [chunk.text for chunk in request]
        assert "Paris" in "".join(pieces)
        assert len(pieces) > 3
        answer = engine.generate(
            chat("Is Paris in France?"),
            structure=StructuredOutputsParams(choice=["Yes", "No", "I do not know"]),
        )
        assert answer in ("Yes", "No", "I do not know")


def test_thoughts(make):
    """SmolLM2 does not reason by itself, but goes on with a thought that the prompt begins, up to a stop."""
    markers = ReasoningMarkers(start="<think>", end=".")
    prompt = chat("Name a colour.") + "<think>A colour is"
    with Engine(make(2), reasoning=markers, num_speculative_tokens=2) as engine:
        done = engine.submit(
            prompt, SamplingParams(max_tokens=120), structure=StructuredOutputsParams(choice=["red", "green"])
        ).result()
    assert done.finish_reason is FinishReason.STOP
    assert done.text in ("red", "green")
    assert done.reasoning.endswith(".")
    assert len(done.reasoning) > 5
