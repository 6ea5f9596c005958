"""Other APIs than chat completions, as raw bodies; `tests/clients` asks with their own clients."""

from __future__ import annotations

import json

import pytest

from tokenstile.server import ServerConfig

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]}
TOOL = {"name": "weather", "description": "The weather.", "parameters": SCHEMA}
RESPONSES, MESSAGES, OLLAMA, GENERATE = "/v1/responses", "/v1/messages", "/api/chat", "/api/generate"
USER = [{"role": "user", "content": "x"}]


def post(http, path, **body):
    answer = http.post(path, json={"model": "stub", **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def events(http, path, **body):
    with http.stream("POST", path, json={"model": "stub", "stream": True, **body}) as stream:
        assert stream.status_code == 200
        lines = list(stream.iter_lines())
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def lines(http, path, **body):
    with http.stream("POST", path, json={"model": "stub", **body}) as stream:
        assert stream.headers["content-type"] == "application/x-ndjson"
        return [json.loads(line) for line in stream.iter_lines() if line]


# OpenAI's responses.

RESPONSES_SCHEMA = {
    "text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}},
    "temperature": 0,
}
RESPONSES_TOOL = {"tools": [{"type": "function", **TOOL}], "tool_choice": "required", "temperature": 0}


def test_responses_with_a_schema(http):
    answer = post(
        http, RESPONSES, input="x", max_output_tokens=60, instructions="Be brief.", **RESPONSES_SCHEMA
    )
    assert (answer["object"], answer["status"]) == ("response", "completed")
    (item,) = answer["output"]
    assert json.loads(item["content"][0]["text"]).keys() == {"n"}
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


def test_responses_with_a_tool(http):
    answer = post(
        http, RESPONSES, input=USER, max_output_tokens=200, parallel_tool_calls=False, **RESPONSES_TOOL
    )
    (item,) = answer["output"]
    assert (item["type"], item["name"]) == ("function_call", "weather")
    assert json.loads(item["arguments"]).keys() == {"n"}
    chosen = post(
        http,
        RESPONSES,
        input="x",
        max_output_tokens=200,
        **{**RESPONSES_TOOL, "tool_choice": {"type": "function", "name": "weather"}},
    )
    assert chosen["output"][0]["name"] == "weather"


@pytest.mark.parametrize("more", [RESPONSES_SCHEMA, RESPONSES_TOOL, {"temperature": 0}])
def test_streams_of_responses_are_the_whole_in_pieces(http, more):
    asked = {"input": "x", "max_output_tokens": 60, "parallel_tool_calls": False, **more}
    whole = post(http, RESPONSES, **asked)
    found = events(http, RESPONSES, **asked)
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert [event["type"] for event in found[:2]] == ["response.created", "response.in_progress"]
    last = found[-1]["response"]
    assert found[-1]["type"] == f"response.{whole['status']}"
    assert _plain(last["output"]) == _plain(whole["output"])
    text = "".join(event["delta"] for event in found if event["type"].endswith((".delta",)))
    item = whole["output"][0]
    assert text.strip() == (item["arguments"] if "arguments" in item else item["content"][0]["text"].strip())
    added = [event["item"]["id"] for event in found if event["type"] == "response.output_item.added"]
    assert added == [item["id"] for item in last["output"]]


def _plain(items):
    return [{name: value for name, value in item.items() if name not in {"id", "call_id"}} for item in items]


def test_a_conversation_of_items(http):
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "How warm is it?"}]},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "hm"}],
        },
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "12 degrees"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "12."}]},
        {"role": "user", "content": "Thanks."},
    ]
    answer = post(http, RESPONSES, input=items, max_output_tokens=2)
    assert answer["status"] in {"incomplete", "completed"}
    assert answer["usage"]["input_tokens"] > 30


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": [{"role": "king", "content": "x"}]}, "input[0].role"),
        ({"input": "x", "tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"input": "x", "text": {"format": {"type": "json_schema", "name": "a"}}}, "text.format.schema"),
        (
            {
                "input": "x",
                "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "strng"}}},
            },
            "text.format.schema",
        ),
        ({"input": []}, "input"),
        ({"input": "x", "text_fromat": {}, "response_fromat": {}}, "response_fromat"),
    ],
)
def test_wrong_responses(http, body, param):
    answer = http.post(RESPONSES, json={"model": "stub", **body})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param


# Anthropic's messages.

ANTHROPIC_TOOL = {
    "tools": [{"name": "weather", "input_schema": SCHEMA}],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "temperature": 0.0,
}


def test_messages(http):
    answer = post(http, MESSAGES, messages=USER, max_tokens=3, system="Be brief.")
    assert (answer["type"], answer["role"]) == ("message", "assistant")
    assert answer["stop_reason"] in {"max_tokens", "end_turn"}
    assert answer["usage"]["input_tokens"] > 5


def test_messages_with_a_tool(http):
    answer = post(http, MESSAGES, messages=USER, max_tokens=200, **ANTHROPIC_TOOL)
    assert answer["stop_reason"] == "tool_use"
    (block,) = answer["content"]
    assert (block["type"], block["name"]) == ("tool_use", "weather")
    assert block["input"].keys() == {"n"}


@pytest.mark.parametrize("name", ["output_format", "output_config"])
def test_messages_with_a_schema(http, name):
    format_ = {"type": "json_schema", "schema": SCHEMA}
    more = {name: format_ if name == "output_format" else {"format": format_}}
    answer = post(http, MESSAGES, messages=USER, max_tokens=60, temperature=0.0, **more)
    assert json.loads(answer["content"][0]["text"]).keys() == {"n"}


@pytest.mark.parametrize("more", [ANTHROPIC_TOOL, {"temperature": 0.0}])
def test_streams_of_messages_are_the_whole_in_pieces(http, more):
    asked = {"messages": USER, "max_tokens": 60, **more}
    whole = post(http, MESSAGES, **asked)
    found = events(http, MESSAGES, **asked)
    assert found[0]["type"] == "message_start"
    assert [event["type"] for event in found[-2:]] == ["message_delta", "message_stop"]
    assert found[-2]["delta"]["stop_reason"] == whole["stop_reason"]
    deltas = [event["delta"] for event in found if event["type"] == "content_block_delta"]
    block = whole["content"][0]
    if block["type"] == "tool_use":
        assert json.loads("".join(delta["partial_json"] for delta in deltas)) == block["input"]
    else:
        assert "".join(delta["text"] for delta in deltas) == block["text"]
    starts, stops = (
        [event["index"] for event in found if event["type"] == f"content_block_{kind}"]
        for kind in ("start", "stop")
    )
    assert starts == stops == list(range(len(whole["content"])))


def test_a_conversation_of_blocks(http):
    messages = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "How warm?", "cache_control": {"type": "ephemeral"}}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"n": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12"}]},
    ]
    counted = post(http, "/v1/messages/count_tokens", messages=messages)
    answer = post(http, MESSAGES, messages=messages, max_tokens=2)
    assert answer["usage"]["input_tokens"] == counted["input_tokens"]


def test_wrong_messages_and_keys(serve, http):
    answer = http.post(MESSAGES, json={"model": "stub", "messages": USER})
    assert answer.status_code == 400
    assert answer.json()["type"] == "error"
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert answer.json()["error"]["param"] == "max_tokens"
    wrong = {
        "messages": USER,
        "max_tokens": 5,
        "output_format": {"type": "json_schema", "schema": {"type": "x"}},
    }
    answer = http.post(MESSAGES, json={"model": "stub", **wrong})
    assert answer.json()["error"]["param"] == "output_config.format.schema"
    import httpx2

    with serve(config=ServerConfig(model_name="stub", api_key="secret")) as address:
        body = {"model": "stub", "messages": USER, "max_tokens": 1}
        codes = [
            httpx2.post(address + MESSAGES, json=body, headers=headers).status_code
            for headers in ({}, {"x-api-key": "wrong"}, {"x-api-key": "secret"})
        ]
    assert codes == [401, 401, 200]


# Ollama.


@pytest.mark.parametrize("format_", ["json", SCHEMA])
def test_ollama_formats(http, format_):
    answer = post(
        http,
        OLLAMA,
        messages=USER,
        stream=False,
        format=format_,
        options={"temperature": 0, "num_predict": 80},
    )
    value = json.loads(answer["message"]["content"])
    assert isinstance(value, dict)
    assert format_ == "json" or value.keys() == {"n"}
    assert (answer["done"], answer["done_reason"]) == (True, "stop")
    assert answer["eval_count"] > 0


def test_ollama_streams(http):
    asked = {"messages": USER, "options": {"temperature": 0, "num_predict": 20, "seed": 3}}
    whole = post(http, OLLAMA, stream=False, **asked)
    found = lines(http, OLLAMA, **asked)
    assert "".join(line["message"]["content"] for line in found) == whole["message"]["content"]
    assert [line["done"] for line in found] == [False] * (len(found) - 1) + [True]
    asked = {"prompt": "x", "options": {"temperature": 0, "num_predict": 20}}
    whole = post(http, GENERATE, stream=False, **asked)
    assert "".join(line["response"] for line in lines(http, GENERATE, **asked)) == whole["response"]


@pytest.mark.parametrize("stream", [False, True])
def test_ollama_tools(http, stream):
    asked = {
        "messages": USER,
        "tools": [{"type": "function", "function": TOOL}],
        "options": {"num_predict": 300},
    }
    # Ollama has no way to say that a tool must be called.
    conversation = [
        *USER,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "weather", "arguments": {"n": 1}}}],
        },
        {"role": "tool", "content": "12", "tool_name": "weather"},
    ]
    asked["messages"] = conversation
    found = lines(http, OLLAMA, **asked) if stream else [post(http, OLLAMA, stream=False, **asked)]
    assert found[-1]["done"]


def test_ollama_around_it(http):
    assert http.get("/api/version").json()["version"]
    assert http.get("/api/tags").json()["models"][0]["name"] == "stub"
    assert "completion" in http.post("/api/show", json={"model": "stub"}).json()["capabilities"]
    answer = post(
        http, OLLAMA, messages=USER, stream=False, options={"num_predict": 1, "mirostat": 1, "num_ctx": 9}
    )
    assert answer["warnings"] == ["options.mirostat is not known, and was ignored"]
    assert post(http, OLLAMA, model="stub:latest", messages=USER, stream=False, options={"num_predict": 1})
    wrong = http.post(OLLAMA, json={"model": "other", "messages": USER})
    assert wrong.status_code == 404
    assert "other" in wrong.json()["error"]
    wrong = http.post(OLLAMA, json={"model": "stub", "messages": USER, "format": {"type": "strng"}})
    assert wrong.status_code == 400
    assert wrong.json()["details"]["param"] == "format.schema"


def test_ollama_bodies_of_no_kind(http):
    """Some of its clients name no content type. A browser always says where a request comes from."""
    body = json.dumps({"model": "stub", "messages": USER, "stream": False, "options": {"num_predict": 1}})
    assert http.post(OLLAMA, content=body).status_code == 200
    for header in ({"Origin": "http://elsewhere"}, {"Sec-Fetch-Site": "cross-site"}):
        assert http.post(OLLAMA, content=body, headers=header).status_code == 415
    assert http.post(MESSAGES, content=body).status_code == 415


# Tokens.


def test_tokens_there_and_back(http):
    found = post(http, "/tokenize", prompt="Hello, world!", return_token_strs=True)
    assert found["count"] == len(found["tokens"])
    assert "".join(found["token_strs"]) == "Hello, world!"
    assert post(http, "/detokenize", tokens=found["tokens"])["prompt"] == "Hello, world!"
    chat = post(http, "/tokenize", messages=USER)
    answer = post(http, "/v1/chat/completions", messages=USER, max_tokens=1)
    assert chat["count"] == answer["usage"]["prompt_tokens"]
    for body in ({}, {"prompt": "x", "messages": USER}):
        assert http.post("/tokenize", json=body).status_code == 400
    wrong = http.post("/detokenize", json={"tokens": [1, 10**8]})
    assert wrong.json()["error"]["param"] == "tokens[1]"
