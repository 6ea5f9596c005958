"""Whole runs: vLLM's engine in its own processes, the model, and tokenstile under the backend name ``xgrammar``."""

from __future__ import annotations

import json
import re

import jsonschema_rs
import pytest
from vllm import SamplingParams
from vllm.exceptions import VLLMClientError
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.structured_output import backend_xgrammar

from tests.vllm.conftest import start
from tokenstile.integrations.vllm import checks

PROMPT = "Answer in one word. The capital of France is"
JSON_PROMPT = "Give me a JSON object with the name and age of a person: "
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 10, "maximum": 90, "multipleOf": 5},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
# Every one of these is refused by vLLM's list of what xgrammar cannot do.
REFUSED_BEFORE = {
    "multipleOf": {"type": "integer", "multipleOf": 7, "minimum": 100, "maximum": 200},
    "uniqueItems": {
        "type": "array",
        "items": {"enum": [1, 2, 3]},
        "uniqueItems": True,
        "minItems": 3,
        "maxItems": 3,
    },
    "contains": {
        "type": "array",
        "items": {"type": "boolean"},
        "contains": {"const": True},
        "minContains": 2,
        "maxItems": 4,
    },
    "allOf": {"allOf": [{"type": "string"}, {"enum": ["yes", "no", 3]}]},
    "pattern with length": {"type": "string", "pattern": "^[a-f]*$", "minLength": 3, "maxLength": 5},
    "format with length": {"type": "string", "format": "date", "maxLength": 10},
    "patternProperties with properties": {
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 0, "maximum": 99}},
        "patternProperties": {"^x_": {"type": "boolean"}},
        "additionalProperties": False,
        "required": ["id", "x_a"],
        "maxProperties": 2,
    },
    "propertyNames with properties": {
        "type": "object",
        "properties": {"ab": {"const": 1}},
        "propertyNames": {"maxLength": 2},
        "required": ["ab"],
        "maxProperties": 1,
    },
}
MALFORMED = {
    "json": [{"type": "objec"}, '{"type": ', {"$ref": "#/nowhere"}, {"pattern": "((", "type": "string"}],
    "regex": ["(((", "a{5,2}", "[z-a]"],
    "grammar": ["root ::= missing", "root ::= (", "start: (", "start: missing"],
    "structural_tag": ["[]", "{", '{"format": {"type": "nothing"}}', '{"structures": 3, "triggers": []}'],
}


@pytest.fixture(scope="module")
def llm(model):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKENSTILE_MAX_WHITESPACE", "2")  # A model as small as this one likes empty lines.
        yield start(model, structured_outputs_config={"backend": "xgrammar"})


@pytest.fixture(scope="module")
def no_fractions(llm):
    """Integers may be spelled 10.0, and a model as small as this one then goes on with zeros."""
    return {llm.get_tokenizer().convert_tokens_to_ids("."): -100.0}


def params(max_tokens=80, logit_bias=None, **constraint):
    return SamplingParams(
        temperature=0.7,
        seed=1,
        max_tokens=max_tokens,
        logit_bias=logit_bias,
        structured_outputs=StructuredOutputsParams(**constraint),
    )


def answer(llm, prompt=PROMPT, **constraint):
    """Return the text of a request that came to its end."""
    (output,) = llm.generate([prompt], params(**constraint), use_tqdm=False)
    assert output.outputs[0].finish_reason == "stop", output
    return output.outputs[0].text


def test_json(llm, no_fractions):
    text = answer(llm, JSON_PROMPT, json=PERSON, logit_bias=no_fractions)
    jsonschema_rs.validate(PERSON, json.loads(text))


def test_json_object(llm):
    (output,) = llm.generate([PROMPT], params(json_object=True, max_tokens=24), use_tqdm=False)
    assert output.outputs[0].text.lstrip().startswith("{")


def test_regex(llm):
    assert re.fullmatch(r"[A-Z][a-z]{3,8}-\d{2}", answer(llm, regex=r"[A-Z][a-z]{3,8}-\d{2}"))


def test_choice(llm):
    choices = ["Paris", 'a "quoted" one', "two\nlines", "naïve ☃"]
    assert answer(llm, choice=choices) in choices
    assert answer(llm, choice=choices[2:]) in choices[2:]


def test_ebnf(llm):
    assert re.fullmatch("a[bc]{2,4}", answer(llm, grammar='root ::= "a" ("b" | "c"){2,4}'))


def test_lark(llm):
    grammar = 'start: NAME " is " ADJECTIVE\nNAME: /[A-Z][a-z]{2,6}/\nADJECTIVE: "nice" | "large"'
    assert re.fullmatch("[A-Z][a-z]{2,6} is (nice|large)", answer(llm, grammar=grammar))


@pytest.mark.parametrize("form", ["today", "older"])
def test_structural_tag(llm, form, no_fractions):
    older = {
        "structures": [{"begin": "<call>", "schema": PERSON, "end": "</call>"}],
        "triggers": ["<call"],
    }
    content = {"type": "json_schema", "json_schema": PERSON}
    tag = {"type": "tag", "begin": "<call>", "content": content, "end": "</call>"}
    constraint = json.dumps({"type": "structural_tag", "format": tag} if form == "today" else older)
    prompt = JSON_PROMPT if form == "today" else "<call>" * 8
    (output,) = llm.generate(
        [prompt], params(structural_tag=constraint, logit_bias=no_fractions), use_tqdm=False
    )
    text = output.outputs[0].text
    calls = re.findall(r"<call>(.*?)</call>", text, re.DOTALL)
    assert calls or form == "older"
    for call in calls:
        jsonschema_rs.validate(PERSON, json.loads(call))
    assert not re.search(r"<call(?!>)", text)


@pytest.mark.parametrize("keyword", REFUSED_BEFORE)
def test_schemas_that_were_refused(llm, keyword, no_fractions):
    schema = REFUSED_BEFORE[keyword]
    text = answer(llm, json=schema, logit_bias=no_fractions)
    jsonschema_rs.validate(schema, json.loads(text), validate_formats=True)


def test_concurrent_requests(llm, no_fractions):
    """32 at once, of all kinds, half of them with a grammar of their own."""
    patterns = [rf"{number:02}-[a-z]{{2,5}}" for number in range(16)]
    requests = [params(regex=pattern) for pattern in patterns]
    requests += [params(json=REFUSED_BEFORE["uniqueItems"], logit_bias=no_fractions)] * 4
    requests += [params(choice=["red", "green"])] * 4
    requests += [params(grammar='start: "x" ("y" | "z")~1..3')] * 4
    requests += [SamplingParams(temperature=0.7, max_tokens=8)] * 4
    outputs = llm.generate([PROMPT] * len(requests), requests, use_tqdm=False)
    texts = [output.outputs[0].text for output in outputs]
    assert len(texts) == 32
    for pattern, text in zip(patterns, texts, strict=False):
        assert re.fullmatch(pattern, text)
    for text in texts[16:20]:
        jsonschema_rs.validate(REFUSED_BEFORE["uniqueItems"], json.loads(text))
    assert set(texts[20:24]) <= {"red", "green"}
    assert all(re.fullmatch("x[yz]{1,3}", text) for text in texts[24:28])


def test_stop_tokens_of_a_request(llm):
    """A stop token of the request ends the text, and only where the grammar may end, much as the model wants it."""
    stop = llm.get_tokenizer().convert_tokens_to_ids("<repo_name>")
    request = SamplingParams(
        max_tokens=8,
        logit_bias={stop: 100.0},
        stop_token_ids=[stop],
        structured_outputs=StructuredOutputsParams(regex="[ab]{3}"),
    )
    (output,) = llm.generate([PROMPT], request, use_tqdm=False)
    assert re.fullmatch("[ab]{3}", output.outputs[0].text)
    assert output.outputs[0].stop_reason == stop


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in MALFORMED.items() for text in texts]
)
def test_malformed_is_the_clients_error(llm, kind, text):
    with pytest.raises(VLLMClientError, match="cannot be followed"):
        llm.generate([PROMPT], params(**{kind: text}), use_tqdm=False)


def test_errors_say_where(llm):
    schema = {"properties": {"a": {"items": {"type": "strin"}}}}
    with pytest.raises(VLLMClientError, match="/properties/a/items/type"):
        llm.generate([PROMPT], params(json=schema), use_tqdm=False)


def test_malformed_does_not_end_the_engine(llm, monkeypatch):
    """What gets past the front end, as vLLM's front end in Rust lets it, ends its own request and nothing else."""
    monkeypatch.setattr(checks, "check", lambda *_, **__: None)
    monkeypatch.setattr(backend_xgrammar, "validate_xgrammar_grammar", lambda *_: None)
    for kind, texts in MALFORMED.items():
        for text in texts:
            requests = [params(**{kind: text}), params(choice=["still", "here"])]
            bad, good = llm.generate([PROMPT] * 2, requests, use_tqdm=False)
            assert bad.outputs[0].finish_reason == "error"
            assert good.outputs[0].text in {"still", "here"}
