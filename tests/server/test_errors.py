"""What is wrong with a request is said in OpenAI's shape, with its place, and harms no other request."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from types import SimpleNamespace

import httpx2
import openai
import pytest

from tests.server.conftest import connect
from tokenstile.server import ServerConfig
from tokenstile.server.service import Generation
from tokenstile.server.structure import backend_name

ASK = {"model": "stub", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5}
CHAT = "/v1/chat/completions"
LONG = {"structured_outputs": {"regex": "[a-z]{2000}"}}


def schema(value, **more):
    return {"type": "json_schema", "json_schema": {"name": "a", "schema": value, **more}}


@pytest.mark.parametrize(
    ("more", "param", "code", "pointer"),
    [
        (
            {"response_format": schema({"properties": {"a/b": {"minimum": "x"}}})},
            "response_format.json_schema.schema",
            "invalid_schema",
            "/properties/a~1b/minimum",
        ),
        (
            {"response_format": schema({"items": {"$ref": "#/nowhere"}})},
            "response_format.json_schema.schema",
            "invalid_schema",
            "/items/$ref",
        ),
        (
            {"structured_outputs": {"json": {"properties": {"a": {"pattern": "("}}}}},
            "structured_outputs.json",
            "invalid_schema",
            "/properties/a/pattern",
        ),
        (
            {
                "tools": [
                    {"type": "function", "function": {"name": "f"}},
                    {"type": "function", "function": {"name": "g", "parameters": {"required": 1}}},
                ]
            },
            "tools[1].function.parameters",
            "invalid_schema",
            "/required",
        ),
        ({"structured_outputs": {"regex": "a("}}, "structured_outputs.regex", "invalid_grammar", None),
        (
            {"structured_outputs": {"grammar": "root ::= x"}},
            "structured_outputs.grammar",
            "invalid_grammar",
            None,
        ),
        ({"structured_outputs": {"json": {}, "regex": "a"}}, "structured_outputs", "invalid_value", None),
        ({"structured_outputs": {"rgx": "a"}}, "structured_outputs.rgx", "unknown_parameter", None),
        ({"response_format": {"type": "json_schema"}}, "response_format", "invalid_value", None),
        ({"response_format": {"type": "xml"}}, "response_format.type", "invalid_value", None),
        (
            {"response_format": schema({}, strict="yes")},
            "response_format.json_schema.strict",
            "invalid_value",
            None,
        ),
        (
            {"response_format": {"type": "json_object"}, "structured_outputs": {"regex": "a"}},
            "structured_outputs",
            "invalid_value",
            None,
        ),
        ({"temperature": -1}, "temperature", "invalid_value", None),
        ({"n": 0}, "n", "invalid_value", None),
        ({"n": 1000}, "n", "limit_exceeded", None),
        ({"stop": ["a"] * 100}, "stop", "limit_exceeded", None),
        ({"stop_token_ids": [1] * 100}, "stop_token_ids", "limit_exceeded", None),
        ({"frequency_penalty": 2.5}, "frequency_penalty", "invalid_value", None),
        ({"repetition_penalty": 0}, "repetition_penalty", "invalid_value", None),
        ({"min_p": 1.5}, "min_p", "invalid_value", None),
        ({"logit_bias": {"one": 5}}, "logit_bias", "invalid_value", None),
        ({"logit_bias": {"1": 500}}, "logit_bias", "invalid_value", None),
        ({"logit_bias": {"999999999": 5}}, "messages", "invalid_value", None),
        ({"respose_format": {"type": "json_object"}}, "respose_format", "unknown_parameter", None),
        ({"guided_jsn": {}}, "guided_jsn", "unknown_parameter", None),
        ({"Tools": []}, "Tools", "unknown_parameter", None),
        ({"regex": "a"}, "regex", "unknown_parameter", None),
        ({"guided_whitespace_pattern": "a"}, "guided_whitespace_pattern", "unknown_parameter", None),
        ({"guided_regex": "a", "guided_choice": ["a"]}, "guided_regex", "invalid_value", None),
        ({"guided_regex": "a("}, "guided_regex", "invalid_grammar", None),
        ({"guided_json": {"type": "strng"}}, "guided_json", "invalid_schema", "/type"),
        ({"response_format": {"type": "text", "schema": {}}}, "response_format", "invalid_value", None),
        ({"tool_choice": "required"}, None, "invalid_value", None),
        (
            {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "sometimes"},
            "tool_choice",
            "invalid_value",
            None,
        ),
        ({"messages": []}, "messages", "invalid_value", None),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role", "invalid_value", None),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_places(http, more, param, code, pointer, stream):  # noqa: PLR0917 - a table
    answer = http.post(CHAT, json={**ASK, **more, "stream": stream})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["param"], error["code"], error.get("pointer")) == (param, code, pointer)
    assert error["type"] == "invalid_request_error"
    assert error["message"]


def test_lines_and_columns(http):
    answer = http.post(CHAT, json={**ASK, "structured_outputs": {"grammar": 'root ::= "a"\nx ::= ('}})
    error = answer.json()["error"]
    assert error["line"] == 2
    assert error["column"] > 1


def test_openai_raises_its_own_errors(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**ASK, response_format=schema({"type": "text"}))
    assert caught.value.param == "response_format.json_schema.schema"
    assert caught.value.body["pointer"] == "/type"
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(**{**ASK, "model": "gpt"})
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"1", b'{"messages": NaN}', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000],
    ids=["empty", "half", "list", "number", "nan", "bytes", "deep", "deep objects"],
)
def test_bodies_that_are_not_json_objects(http, body):
    answer = http.post(CHAT, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_json"


def test_deep_schemas(http):
    deep = '{"items":' * 400 + "{}" + "}" * 400
    body = json.dumps({**ASK, "response_format": "SCHEMA"}).replace('"SCHEMA"', json.dumps(schema("S")))
    answer = http.post(CHAT, content=body.replace('"S"', deep), headers={"Content-Type": "application/json"})
    assert answer.status_code in {200, 400}
    assert http.get("/health").status_code == 200


def test_paths_and_methods(http):
    for answer, status in (
        (http.get("/v1/nothing"), 404),
        (http.get(CHAT), 405),
        (http.get("/static/../app.py"), 404),
    ):
        assert answer.status_code == status
        assert "message" in answer.json()["error"]


def test_large_bodies(serve):
    config = ServerConfig(model_name="stub", max_body_bytes=1000)
    with serve(config=config) as address, httpx2.Client(base_url=address) as http:
        said = http.post(CHAT, json={**ASK, "user": "x" * 2000})
        assert (said.status_code, said.json()["error"]["code"]) == (413, "limit_exceeded")
        unsaid = http.post(
            CHAT, content=iter([b'{"a": "', b"x" * 2000]), headers={"Content-Type": "application/json"}
        )
        assert unsaid.status_code == 413
        assert http.post(CHAT, json=ASK).status_code == 200


def test_api_key(serve):
    config = ServerConfig(model_name="stub", api_key="secret")
    with serve(config=config) as address:
        with connect(address, api_key="wrong") as client, pytest.raises(openai.AuthenticationError):
            client.models.list()
        with connect(address, api_key="secret") as client:
            assert client.models.list().data[0].id == "stub"
        with httpx2.Client(base_url=address) as http:
            assert http.get("/health").status_code == 200
            assert http.get("/").status_code == 200
            assert http.get("/metrics").status_code == 401
            assert http.post("/playground/inspect", json={}).status_code == 401


def test_other_web_pages(http):
    """A page elsewhere can neither pass as ours, nor send what browsers send without asking."""
    assert http.get("/v1/models", headers={"Host": "evil.example"}).status_code == 421
    assert http.post(CHAT, content=json.dumps(ASK), headers={"Content-Type": "text/plain"}).status_code == 415
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in http.options(CHAT, headers=asked).headers
    page = http.get("/").headers
    assert page["x-frame-options"] == "DENY"
    assert "default-src 'none'" in page["content-security-policy"]


def test_allowed_origins(serve):
    config = ServerConfig(model_name="stub", cors_origins=("https://ours.example",))
    with serve(config=config) as address, httpx2.Client(base_url=address) as http:
        asked = {"Origin": "https://ours.example", "Access-Control-Request-Method": "POST"}
        assert (
            http.options(CHAT, headers=asked).headers["access-control-allow-origin"] == "https://ours.example"
        )


def test_time_limit(serve):
    config = ServerConfig(model_name="stub", timeout=0.3)
    with serve(config=config, delay=0.05) as address, connect(address) as client:
        with pytest.raises(openai.InternalServerError, match="longer than"):
            client.chat.completions.create(**{**ASK, "max_tokens": 500}, extra_body=LONG)
        with pytest.raises(openai.APIError, match="longer than"):
            list(client.chat.completions.create(**{**ASK, "max_tokens": 500}, extra_body=LONG, stream=True))
        # One token is quick enough, but for a machine that is busy just then.
        for _ in range(200):
            with contextlib.suppress(openai.InternalServerError):
                answer = client.completions.create(model="stub", prompt="x", max_tokens=1)
                assert answer.usage.completion_tokens == 1
                break
        else:
            pytest.fail("nothing is in time any more")


def test_time_counts_from_when_the_model_begins():
    service = SimpleNamespace(config=ServerConfig(timeout=10, queue_timeout=100))
    outputs = [SimpleNamespace(begun_at=None), SimpleNamespace(begun_at=None)]
    generation = Generation(service, None, outputs, asked_at=1000.0, num_prompts=1, num_outputs=2)
    assert generation._deadline() == 1100
    assert generation._too_late().code == "overloaded"
    outputs[0].begun_at = 1050.0
    assert generation._deadline() == 1100
    outputs[1].begun_at = 1099.0
    assert generation._deadline() == 1109
    assert generation._too_late().code == "timeout"


def test_time_in_the_queue_is_bounded(serve):
    config = ServerConfig(model_name="stub", queue_timeout=0.3)
    with serve(config=config, num_slots=1, delay=0.05) as address, connect(address) as client:
        first = client.chat.completions.create(**{**ASK, "max_tokens": 500}, extra_body=LONG, stream=True)
        next(iter(first))
        with pytest.raises(openai.InternalServerError, match="waited longer") as caught:
            client.chat.completions.create(**ASK)
        assert caught.value.status_code == 503
        assert caught.value.body["code"] == "overloaded"
        first.close()


def test_concurrency_limit(serve):
    config = ServerConfig(model_name="stub", max_concurrent=2, max_choices=2)
    with serve(config=config, delay=0.02) as address, connect(address) as client:
        asked = {**ASK, "max_tokens": 500, "extra_body": LONG}
        first = client.chat.completions.create(**asked, n=2, stream=True)
        next(iter(first))
        with pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(**ASK)
        assert caught.value.response.headers["retry-after"] == "1"
        first.close()
        # The server notices at one of its next steps that the client is gone.
        for _ in range(200):
            with contextlib.suppress(openai.RateLimitError):
                client.chat.completions.create(**ASK)
                break
            threading.Event().wait(0.05)
        else:
            pytest.fail("the outputs of a client that went away are still under way")


def test_a_prompt_that_is_too_long(http):
    answer = http.post("/v1/completions", json={"prompt": [1] * 2000})
    assert answer.status_code == 400
    assert "room" in answer.json()["error"]["message"]
    assert http.post("/v1/completions", json={"prompt": [10**9]}).status_code == 400
    assert http.post("/v1/completions", json={"prompt": ""}).status_code == 400


def test_metrics_and_models(http, client):
    client.completions.create(model="stub", prompt="x", max_tokens=1)
    text = http.get("/metrics").text
    assert 'tokenstile_server_requests_total{path="/v1/completions",status="200"}' in text
    assert "tokenstile_structured_output_requests_total" in text
    assert "tokenstile_server_outputs_under_way 0.0" in text
    labels = set(re.findall(r'backend="([^"]*)"', text))
    # Other servers of this process may have other settings, and "none" is what is not constrained.
    known = re.compile("none|tokenstile|tokenstile_(strict|open)(_[2-9])?")
    assert {label for label in labels if not known.fullmatch(label)} == set()
    assert labels
    assert client.models.retrieve("stub").id == "stub"
    assert http.get("/health").json()["status"] == "ok"


def test_advice_is_for_clients(http):
    """A schema elsewhere can be put into the one that is sent; the library's registry is out of reach."""
    schema = {"name": "x", "schema": {"items": {"$ref": "http://x.org/elsewhere.json"}}}
    body = {
        "messages": [{"role": "user", "content": "?"}],
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    error = http.post("/v1/chat/completions", json=body).json()["error"]
    assert "$defs" in error["help"]
    assert "registry" not in error["help"] + error["message"]


def test_servers_with_other_settings_have_backends_of_their_own():
    first, again, other = (backend_name(count, 2.0, is_open=True) for count in (1001, 1001, 1002))
    assert first == again != other
