"""Fields of other servers: done where they can be, named in the answer where they are not."""

from __future__ import annotations

import json
import re

import pytest

from tokenstile.server import ChatTemplate, ServerConfig
from tokenstile.server.api.unknown import resembles

CHAT = "/v1/chat/completions"
ASK = {"model": "stub", "messages": [{"role": "user", "content": "x"}], "max_tokens": 40, "seed": 1}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]}


def ask(http, **more):
    answer = http.post(CHAT, json={**ASK, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def content(answer):
    return answer["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("more", "pattern"),
    [
        ({"guided_regex": "[0-9]{3}"}, "[0-9]{3}"),
        ({"guided_choice": ["yes", "no"]}, "yes|no"),
        ({"guided_grammar": 'root ::= "a" [0-9]'}, "a[0-9]"),
        ({"grammar": 'root ::= "b" [0-9]'}, "b[0-9]"),
    ],
)
def test_structures_under_other_names(http, more, pattern):
    assert re.fullmatch(pattern, content(ask(http, **more)))


@pytest.mark.parametrize(
    "more",
    [
        {"guided_json": SCHEMA},
        {"json_schema": SCHEMA},
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        {"response_format": {"type": "json_schema", "schema": SCHEMA}},
    ],
)
def test_schemas_under_other_names(http, more):
    value = json.loads(content(ask(http, **more)))
    assert value.keys() == {"n"}
    assert value["n"] <= 9


def test_unknown_fields_are_named(http):
    answer = ask(http, cache_salt="x", guided_decoding_backend="y")
    assert answer["warnings"] == [
        "cache_salt is not known, and was ignored",
        "guided_decoding_backend is not known, and was ignored",
    ]
    assert "warnings" not in ask(http)
    with http.stream("POST", CHAT, json={**ASK, "cache_salt": "x", "stream": True}) as stream:
        events = [line for line in stream.iter_lines() if line.startswith("data: {")]
    said = [json.loads(event.removeprefix("data: ")).get("warnings") for event in events]
    assert said[0] == ["cache_salt is not known, and was ignored"]
    assert not any(said[1:])


def test_strict_fields(serve):
    import httpx2

    with serve(config=ServerConfig(model_name="stub", strict_fields=True)) as address:
        answer = httpx2.post(address + CHAT, json={**ASK, "cache_salt": "x"})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "cache_salt"


def test_what_was_not_enforced_is_named(http):
    schema = {"type": "object", "propertys": {}, "properties": {"d": {"type": "string", "format": "shoe"}}}
    answer = ask(
        http, response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    )
    assert {(each["pointer"], each["keyword"]) for each in answer["not_enforced"]} == {
        ("", "propertys"),
        ("/properties/d", "format"),
    }
    assert "not_enforced" not in ask(http, guided_json=SCHEMA)


@pytest.mark.parametrize(
    ("name", "other", "is_like"),
    [
        ("respose_format", "response_format", True),
        ("response-format", "response_format", True),
        ("responseformat", "response_format", True),
        ("guided_jsn", "guided_json", True),
        ("tool", "tools", True),
        ("user", "regex", False),
        ("store", "tools", False),
        ("n", "ebnf", False),
        ("mode", "choice", False),
    ],
)
def test_names_that_resemble(name, other, is_like):
    assert resembles(name, other) is is_like


def test_penalties_and_biases_change_what_is_written(http, make_model):
    pattern = {"guided_regex": "[ab]{12}", "temperature": 0}
    plain = content(ask(http, **pattern))
    info = make_model().tokenizer_info
    (a,) = [token for token in range(info.vocab_size) if info.token_bytes(token) == b"a"]
    biased = content(ask(http, **pattern, logit_bias={str(a): 100}))
    assert biased == "a" * 12
    assert plain != biased
    penalised = content(ask(http, **pattern, logit_bias={str(a): 20}, frequency_penalty=2))
    assert penalised != biased


def test_options_of_the_template(serve):
    import httpx2

    source = "{{ reasoning_effort | default('none') }} {% for m in messages %}{{ m.content }}{% endfor %}"
    with serve(template=ChatTemplate(source)) as address, httpx2.Client(base_url=address) as http:
        short, long = (
            ask(http, reasoning_effort=effort)["usage"]["prompt_tokens"]
            for effort in ("a", "a b c d e f g h")
        )
        assert long > short
        answer = ask(http, chat_template_kwargs={"enable_thinking": False, "messages": []})
    assert answer["warnings"] == ["enable_thinking was ignored: the model's chat template does not know it"]
