"""SmolLM2 in transformers, held to grammars."""

from __future__ import annotations

import json

import pytest
import torch

from tokenstile.integrations.transformers import GrammarLogitsProcessor


def chat(tokenizer, *questions):
    """Give the prompts of a chat, padded on the left."""
    texts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
        )
        for question in questions
    ]
    tokenizer.padding_side = "left"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return tokenizer(texts, return_tensors="pt", padding=True)


def answers(tokenizer, output, inputs):
    return tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


@pytest.mark.parametrize(
    "mode",
    [
        {"do_sample": False},
        {"do_sample": True, "num_return_sequences": 2},
        {"do_sample": False, "num_beams": 3},
    ],
    ids=str,
)
def test_people(hf, hf_compiler, person, mode):
    model, tokenizer = hf
    inputs = chat(
        tokenizer, "Who is Ada? Answer in JSON.", "Tell me about a person called Bo from Oslo, in JSON."
    )
    compiled = hf_compiler.compile_json_schema(person, any_whitespace=False)
    torch.manual_seed(0)
    output = model.generate(
        **inputs, max_new_tokens=60, logits_processor=[GrammarLogitsProcessor(compiled)], **mode
    )
    found = answers(tokenizer, output, inputs)
    assert len(found) == 2 * mode.get("num_return_sequences", 1)
    for text in found:
        value = json.loads(text)
        assert set(value) == {"name", "age", "city"}
        assert value["city"] in ("Paris", "Rome", "Oslo")


def test_prompt_lookup_gives_the_same_text(hf, hf_compiler, person):
    model, tokenizer = hf
    inputs = chat(tokenizer, 'Repeat: {"name": "Ada Lovelace", "age": 36, "city": "Paris"}')
    compiled = hf_compiler.compile_json_schema(person)
    texts = []
    for options in ({}, {"prompt_lookup_num_tokens": 5}):
        processor = GrammarLogitsProcessor(compiled)
        output = model.generate(
            **inputs, max_new_tokens=60, do_sample=False, logits_processor=[processor], **options
        )
        texts += answers(tokenizer, output, inputs)
    assert texts[0] == texts[1]
    assert set(json.loads(texts[0])) == {"name", "age", "city"}
