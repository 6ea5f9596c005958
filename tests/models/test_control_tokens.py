"""A control token is no text: what SmolLM2 writes decodes to the same text with control tokens and without."""

from __future__ import annotations

import numpy as np
import pytest
import transformers
from tests import everyday

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import load_model
from tokenstile.structured_output import StructuredOutputsParams

NAMES = ["order", "contact", "text_then_answer", "weather_report", "ticket_classification", "translation"]
REQUESTS = [request for request in everyday.load() if request.name in NAMES]
MAX_TOKENS = 120
SEEDS = range(1, 4)


@pytest.fixture(scope="module")
def loaded():
    return load_model(num_slots=1, max_length=1024)


@pytest.fixture(scope="module")
def tokenizer(hf_folder):
    return transformers.AutoTokenizer.from_pretrained(hf_folder)


class FondOfControlTokens:
    """A model that would rather write any control token than text, those aside that end a text."""

    def __init__(self, model):
        self._model = model
        info = model.tokenizer_info
        self._fond_of = sorted(set(info.special_token_ids) - set(info.stop_token_ids))
        assert self._fond_of

    def __getattr__(self, name):
        return getattr(self._model, name)

    def forward(self, feeds):
        logits = self._model.forward(feeds)
        logits[:, self._fond_of] = logits.max(axis=1, keepdims=True) + 5
        return logits


def write(loaded, model, request, structure, seeds=SEEDS):
    """Give the outputs to a request, at temperature 1."""
    with Engine(model) as engine:
        under_way = [
            engine.submit(
                loaded.prompt(request.prompt),
                SamplingParams(temperature=1.0, seed=seed, max_tokens=MAX_TOKENS),
                structure=structure,
            )
            for seed in seeds
        ]
        return [submitted.result() for submitted in under_way]


def decoded(tokenizer, model, output):
    """Give the text of an output with control tokens and without; the token that ends it is none of the text."""
    tokens = list(output.token_ids)
    if tokens and tokens[-1] in model.tokenizer_info.stop_token_ids:
        tokens.pop()
    return [
        tokenizer.decode(tokens, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
        for skip in (False, True)
    ]


def structure_of(request):
    if request.schema is not None:
        return StructuredOutputsParams(json=request.schema)
    return StructuredOutputsParams(structural_tag=request.structural_tag)


@pytest.mark.parametrize("fond", [False, True], ids=["as-it-is", "fond-of-control-tokens"])
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.name)
def test_texts_are_the_same_without_control_tokens(loaded, tokenizer, request_, fond):
    model = FondOfControlTokens(loaded.model) if fond else loaded.model
    for output in write(loaded, model, request_, structure_of(request_)):
        everything, text = decoded(tokenizer, model, output)
        assert everything == text == output.text
        assert everyday.judge(request_, request_.value_text(text)).valid, text


def test_without_a_grammar_they_are_not(loaded, tokenizer):
    """The tokenizer marks what the model is fond of, and there is nothing else that would keep it from it."""
    model = FondOfControlTokens(loaded.model)
    (output,) = write(loaded, model, REQUESTS[0], None, seeds=[1])
    everything, text = decoded(tokenizer, model, output)
    assert len(text) < len(everything)
    assert np.isin(output.token_ids, model.tokenizer_info.special_token_ids).any()
