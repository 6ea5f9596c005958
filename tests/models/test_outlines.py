"""Outlines' own generators with SmolLM2, in transformers and in llama.cpp."""

from __future__ import annotations

import json
import re
import warnings
from typing import Literal

import numpy as np
import outlines
import pytest
from outlines.types.dsl import python_types_to_terms, to_regex
from tests.test_docs import ROOT

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


PAGE = ROOT / "docs" / "migrating-from-outlines.md"
ROW = re.compile(
    r"^\| `(\{.*?\})` \| `(.*?)` \| (accepted|refused)\b.*? \| (accepted|refused)\b.*? \|$", re.MULTILINE
)
DOCUMENTED = ROW.findall(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_a_table():
    assert len(DOCUMENTED) >= 10


@pytest.mark.parametrize(("schema", "text", "there", "here"), DOCUMENTED)
def test_what_a_schema_means(schema, text, there, here):
    """The page about moving from Outlines says what is so, of both."""
    pattern = to_regex(outlines.json_schema(schema))
    assert (re.fullmatch(pattern, text) is not None) == (there == "accepted")
    grammar = xgr.Grammar.from_json_schema(schema)
    assert xgr.testing._is_grammar_accept_string(grammar, text) == (here == "accepted")


TYPE = re.compile(r"^\| `(\w+)` \| ((?:`[^`]+`(?:, )?)+) \| ((?:`[^`]+`(?:, )?)+) \| .*\|$", re.MULTILINE)
DOCUMENTED_TYPES = TYPE.findall(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_the_new_types():
    names = {name for name, _, _ in DOCUMENTED_TYPES}
    assert names == {
        "hex_color",
        "slug",
        "credit_card",
        "iban",
        "bic",
        "e164",
        "latitude",
        "longitude",
    }


@pytest.mark.parametrize(("name", "takes", "does_not"), DOCUMENTED_TYPES)
def test_what_a_type_takes(name, takes, does_not):
    """The page says what is so, of Outlines, of the regular expression here, and of it in a JSON string."""
    pattern = to_regex(getattr(outlines.types, name))
    alone = xgr.Grammar.from_regex(pattern)
    quoted = xgr.Grammar.from_json_schema({"type": "string", "pattern": f"^(?:{pattern})$"})
    for texts, fits in ((takes, True), (does_not, False)):
        for text in re.findall("`([^`]+)`", texts):
            assert (re.fullmatch(pattern, text) is not None) is fits
            assert xgr.testing._is_grammar_accept_string(alone, text) is fits
            assert xgr.testing._is_grammar_accept_string(quoted, json.dumps(text)) is fits


@pytest.mark.parametrize("name", ["iban", "bic", "e164"])
def test_a_model_writes_a_type(model, name):
    pattern = to_regex(getattr(outlines.types, name))
    generator = outlines.Generator(model, processor=grammar_processor(model, regex=pattern, max_tokens=40))
    assert re.fullmatch(pattern, generator("The code is", **options(model, 40)))


TYPES = [
    name for name in outlines.types.__all__ if isinstance(getattr(outlines.types, name), outlines.types.Regex)
]


@pytest.mark.parametrize("name", TYPES)
def test_types_of_outlines_are_regexes_here(name):
    pattern = getattr(outlines.types, name).pattern
    assert xgr.Grammar.from_regex(pattern)


@pytest.mark.parametrize(
    ("term", "fits", "fails"),
    [
        (outlines.types.either("yes", "no"), "no", "nope"),
        (outlines.types.optional("a") + outlines.types.digit, "7", "a"),
        (outlines.types.between(2, 3, outlines.types.digit), "123", "1"),
        (Literal["a", "b"], "b", "c"),
        (int, "-12", "1.5"),
        (list[int], "[1, 2]", "[]"),
    ],
)
def test_terms_of_outlines_are_regexes_here(term, fits, fails):
    grammar = xgr.Grammar.from_regex(to_regex(python_types_to_terms(term)))
    assert xgr.testing._is_grammar_accept_string(grammar, fits)
    assert not xgr.testing._is_grammar_accept_string(grammar, fails)
