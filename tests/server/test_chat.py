"""Chat completions, through OpenAI's own client."""

from __future__ import annotations

import json
import re
from enum import Enum

import jsonschema_rs
import openai
import pydantic
import pytest

ASK = {"model": "stub", "messages": [{"role": "user", "content": "Say something."}], "max_tokens": 200}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


def schema_format(schema, **more):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, **more}}


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


class Part(pydantic.BaseModel):
    count: int = pydantic.Field(ge=1, le=9)
    mood: Mood


class Whole(pydantic.BaseModel):
    title: str = pydantic.Field(max_length=10)
    parts: list[Part] = pydantic.Field(max_length=2)
    note: str | None = pydantic.Field(max_length=5)


@pytest.mark.parametrize("seed", range(5))
def test_parse_a_pydantic_model(client, seed):
    answer = client.chat.completions.parse(**ASK, response_format=Whole, seed=seed)
    (choice,) = answer.choices
    assert choice.finish_reason == "stop"
    assert isinstance(choice.message.parsed, Whole)
    assert choice.message.refusal is None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_stream_of_a_pydantic_model(client):
    with client.chat.completions.stream(**ASK, response_format=Whole, seed=3) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert "content.delta" in kinds
    whole = client.chat.completions.parse(**ASK, response_format=Whole, seed=3)
    assert final.choices[0].message.parsed == whole.choices[0].message.parsed
    assert final.choices[0].message.content == whole.choices[0].message.content


@pytest.mark.parametrize("strict", [True, False, None])
def test_schemas_are_enforced_whatever_strict_says(client, strict):
    format_ = schema_format(PERSON, **({} if strict is None else {"strict": strict}))
    answer = client.chat.completions.create(**ASK, response_format=format_, n=3, seed=1)
    for choice in answer.choices:
        jsonschema_rs.validate(PERSON, json.loads(choice.message.content))


def test_strict_decides_about_other_properties(client):
    """Without ``strict: false`` an object has the properties that are named, and no others."""
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "minProperties": 2, "maxProperties": 2}
    with pytest.raises(openai.BadRequestError, match="response_format"):
        client.chat.completions.create(**ASK, response_format=schema_format(schema, strict=True))
    answer = client.chat.completions.create(
        **ASK, response_format=schema_format(schema, strict=False), seed=2
    )
    if answer.choices[0].finish_reason == "stop":
        assert len(json.loads(answer.choices[0].message.content)) == 2
    else:
        assert answer.choices[0].message.content.lstrip().startswith("{")


def test_json_object(client):
    answer = client.chat.completions.create(**ASK, response_format={"type": "json_object"}, seed=4, n=4)
    done = [choice.message.content for choice in answer.choices if choice.finish_reason == "stop"]
    assert done
    assert all(isinstance(json.loads(text), dict) for text in done)


@pytest.mark.parametrize(
    "format_",
    [
        {
            "type": "structural_tag",
            "format": {
                "type": "tag",
                "begin": "<n>",
                "content": {"type": "regex", "pattern": "[0-9]{3}"},
                "end": "</n>",
            },
        },
        {
            "type": "structural_tag",
            "structures": [
                {"begin": "<n>", "schema": {"type": "integer", "minimum": 100, "maximum": 999}, "end": "</n>"}
            ],
            "triggers": ["<n>"],
        },
    ],
    ids=["format", "structures"],
)
def test_structural_tags(client, format_):
    answer = client.chat.completions.create(**{**ASK, "max_tokens": 20}, response_format=format_, seed=1)
    text = answer.choices[0].message.content
    if "format" in format_:
        assert re.fullmatch(r"<n>[0-9]{3}</n>", text)
    else:
        assert "<n>" not in re.sub(r"<n>\s*[1-9][0-9]{2}\s*</n>", "", text)


@pytest.mark.parametrize(
    ("kind", "value", "pattern"),
    [
        ("json", PERSON, r"\{.*\}"),
        ("json", json.dumps(PERSON), r"\{.*\}"),
        ("regex", r"[a-c]{4}-\d\d", r"[a-c]{4}-\d\d"),
        ("choice", ["yes", "no"], "yes|no"),
        ("grammar", 'root ::= "x" ("y" | "z"){3}', "x[yz]{3}"),
        ("grammar", 'start: "x" ("y" | "z") ~ 3', "x[yz]{3}"),
        ("json_object", True, r"\{.*"),
        ("structural_tag", {"type": "structural_tag", "format": {"type": "const_string", "value": "k"}}, "k"),
        ("all_of", [{"json": PERSON}, {"json": {"properties": {}}}, {"regex": ".{0,60}"}], r"\{.{0,58}\}"),
        ("any_of", [{"choice": ["yes"]}, {"regex": "[0-9]{3}"}], "yes|[0-9]{3}"),
        ("then", [{"regex": "[a-c]{2}: "}, {"json": {"enum": [1, 2]}}], "[a-c]{2}: [12]"),
    ],
)
def test_structured_outputs_as_in_vllm(client, kind, value, pattern):
    answer = client.chat.completions.create(**ASK, extra_body={"structured_outputs": {kind: value}}, seed=1)
    assert re.fullmatch(pattern, answer.choices[0].message.content, re.DOTALL)


def test_seed_gives_the_same_and_n_gives_others(client):
    texts = [
        [
            choice.message.content
            for choice in client.chat.completions.create(**{**ASK, "max_tokens": 12}, seed=5, n=3).choices
        ]
        for _ in range(2)
    ]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 3


def test_stop(client):
    pattern = {"structured_outputs": {"regex": "abc(STOP|GO)def"}}
    answer = client.chat.completions.create(**ASK, stop=["STOP", "GO"], extra_body=pattern)
    assert answer.choices[0].message.content == "abc"
    assert answer.choices[0].finish_reason == "stop"


def test_max_completion_tokens(client):
    """What has a structure is complete within them, or refused; what has none is cut off, and the answer says why."""
    asked = {**ASK, "max_completion_tokens": 3, "stop": None}
    del asked["max_tokens"]
    answer = client.chat.completions.create(
        **asked, extra_body={"structured_outputs": {"regex": "[ab]{1,50}"}}
    )
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens <= 3
    assert "length_reason" not in answer.choices[0].model_extra
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**asked, extra_body={"structured_outputs": {"regex": "[ab]{50}"}})
    assert (caught.value.code, caught.value.param) == ("budget_too_small", "max_tokens")
    needed = caught.value.body["tokens_needed"]
    item = {"type": "object", "minProperties": 1}
    array = {"type": "array", "uniqueItems": True, "minItems": 2, "items": item}
    wanted = {"type": "object", "properties": {"a": array}, "required": ["a"]}
    with pytest.raises(
        openai.BadRequestError, match="the array of the schema at /properties/a must"
    ) as caught:
        client.chat.completions.create(**asked, extra_body={"structured_outputs": {"json": wanted}})
    assert (caught.value.code, caught.value.body["pointer"]) == ("no_budget", "/properties/a")
    asked["max_completion_tokens"] = needed
    answer = client.chat.completions.create(**asked, extra_body={"structured_outputs": {"regex": "[ab]{50}"}})
    assert (answer.choices[0].finish_reason, answer.usage.completion_tokens) == ("stop", needed)
    asked["max_completion_tokens"] = 3
    answer = client.chat.completions.create(**asked)
    assert (answer.choices[0].finish_reason, answer.usage.completion_tokens) == ("length", 3)
    assert answer.choices[0].length_reason.startswith("max_tokens=3 is reached")


@pytest.mark.parametrize("stream", [False, True])
def test_logprobs(client, stream):
    asked = {**ASK, "logprobs": True, "top_logprobs": 3, "seed": 1}
    extra = {"structured_outputs": {"regex": "[0-9]{6}"}, "return_token_ids": True}
    answer = client.chat.completions.create(**asked, extra_body=extra, stream=stream)
    choices = [event.choices[0] for event in answer] if stream else [answer.choices[0]]
    noted = [entry for choice in choices if choice.logprobs for entry in choice.logprobs.content]
    assert re.fullmatch("[0-9]{6}", b"".join(bytes(entry.bytes) for entry in noted).decode())
    ids = [token for choice in choices for token in getattr(choice, "token_ids", None) or []]
    assert len(ids) == len(noted)
    for entry in noted:
        tops = [top.logprob for top in entry.top_logprobs]
        assert len(tops) <= 3
        assert tops == sorted(tops, reverse=True)
        assert all(re.fullmatch("[0-9]+", top.token) for top in entry.top_logprobs)
        assert max(tops) >= entry.logprob <= 0


def test_stream_is_the_whole_answer_in_pieces(client):
    asked = {**ASK, "response_format": schema_format(PERSON), "seed": 9, "n": 2}
    whole = client.chat.completions.create(**asked)
    texts, reasons, usage = {0: "", 1: ""}, {}, None
    for event in client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        for choice in event.choices:
            texts[choice.index] += choice.delta.content or ""
            if choice.finish_reason:
                reasons[choice.index] = choice.finish_reason
        usage = event.usage
    assert list(texts.values()) == [choice.message.content for choice in whole.choices]
    assert reasons == {0: "stop", 1: "stop"}
    assert usage == whole.usage


def test_messages_of_several_parts_and_roles(client):
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": " two"}]},
    ]
    answer = client.chat.completions.create(model="stub", messages=messages, max_tokens=1)
    assert answer.usage.prompt_tokens > 5
