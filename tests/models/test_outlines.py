"""Outlines' own generators with SmolLM2, in transformers and in llama.cpp."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import outlines
import pytest

import tokenstile as xgr
from tokenstile.integrations.outlines import GrammarProcessor, grammar_processor, tokenizer_info


@pytest.fixture(scope="module", params=["transformers", "llama_cpp"])
def model(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if request.param == "transformers":
            return outlines.from_transformers(*request.getfixturevalue("hf"))
        return outlines.from_llamacpp(request.getfixturevalue("llama"))


def options(model, count):
    """Say how many tokens at most, as the model's library calls it."""
    if isinstance(model, outlines.models.LlamaCpp):
        return {"max_tokens": count, "temperature": 0.0}
    return {"max_new_tokens": count, "do_sample": False}


def test_generators(model, person):
    generator = outlines.Generator(model, processor=grammar_processor(model, json_schema=person))
    texts = [generator("Ada is", **options(model, 120)) for _ in range(2)]
    assert texts[0] == texts[1]
    assert set(json.loads(texts[0])) == {"name", "age", "city"}


def test_other_grammars(model):
    for kind, grammar, pattern in (
        ("regex", "[a-c]{3}-[0-9]{2}", "[a-c]{3}-[0-9]{2}"),
        ("ebnf", 'root ::= "yes" | "no" " way"?', "yes|no|no way"),
        ("lark", 'start: "x" "y"~2', "xyy"),
    ):
        generator = outlines.Generator(model, processor=grammar_processor(model, **{kind: grammar}))
        assert re.fullmatch(pattern, generator("Well,", **options(model, 20)))


def test_batches(hf):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = outlines.from_transformers(*hf)
    compiler = xgr.GrammarCompiler(tokenizer_info(model))
    processor = GrammarProcessor([compiler.compile_regex("cat|dog"), compiler.compile_regex("[0-9]{3}")])
    found = outlines.Generator(model, processor=processor).batch(
        ["I like", "Some number between one and thousand:"], max_new_tokens=12, do_sample=False
    )
    assert found[0] in ("cat", "dog")
    assert re.fullmatch("[0-9]{3}", found[1])


def test_arrays_of_numpy_fail_closed():
    """llama.cpp prints exceptions and goes on, so there is none."""
    info = xgr.TokenizerInfo(["a", "b", "</s>"])
    processor = GrammarProcessor(xgr.GrammarCompiler(info).compile_regex("a"), "numpy")
    scores = processor(np.array([0]), np.zeros(3, dtype=np.float32))
    assert scores.tolist() == [0, -np.inf, -np.inf]
    scores = processor(np.array([0]), np.zeros(2, dtype=np.float32))
    assert scores.tolist() == [-np.inf, -np.inf]
    assert isinstance(processor.error, xgr.InvalidArgumentError)


def test_wrong_arguments(model):
    for wrong in ({}, {"regex": "a", "lark": 'start: "a"'}):
        with pytest.raises(xgr.InvalidArgumentError, match="exactly one"):
            grammar_processor(model, **wrong)
    with pytest.raises(xgr.InvalidArgumentError, match="not supported"):
        tokenizer_info(object())
    with pytest.raises(xgr.InvalidArgumentError, match="jax"):
        GrammarProcessor(xgr.GrammarCompiler(tokenizer_info(model)).compile_regex("a"), "jax")
