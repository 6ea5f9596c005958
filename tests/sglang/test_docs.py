"""The page about SGLang: its example runs, answered by SGLang's objects instead of a server."""

from __future__ import annotations

import contextlib
import io
from types import SimpleNamespace

import pytest
import requests
import torch
from transformers import AutoModelForCausalLM

from tests.test_docs import ROOT, examples


@pytest.fixture
def generate(server, model, tokenizer):
    """Answer the body of a request to ``/generate``: SGLang reads its parameters, and SmolLM2 writes."""
    made = server(constrained_json_disable_any_whitespace=True)
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)

    def answer(body):
        grammar = made.request(**body["sampling_params"]).grammar
        tokens = tokenizer(body["text"], return_tensors="pt").input_ids[0].tolist()
        written = []
        mask = grammar.allocate_vocab_mask(vocab_size=49_152, batch_size=1, device="cpu")
        for _ in range(body["sampling_params"]["max_new_tokens"]):
            with torch.no_grad():
                logits = network(torch.tensor([tokens + written])).logits[:, -1]
            grammar.fill_vocab_mask(mask, 0)
            grammar.apply_vocab_mask(logits, mask)
            written.append(int(logits.argmax()))
            grammar.accept_token(written[-1])
            if grammar.is_terminated():
                break
        return {"text": tokenizer.decode(written, skip_special_tokens=True)}

    return answer


def test_the_example(generate, monkeypatch):
    asked = []

    def post(url, *, json, timeout):
        asked.append((url, timeout))
        return SimpleNamespace(json=lambda: generate(json))

    monkeypatch.setattr(requests, "post", post)
    ((code, _, _),) = examples(ROOT / "docs/integrations/sglang.md")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "sglang.md", "exec"), {})  # noqa: S102 - our own document
    assert asked == [("http://localhost:30000/generate", 60)]
    number = float(printed.getvalue())
    assert 10 <= number <= 90
    assert number % 5 == 0
