"""Answers of servers: what is sent, what is read, and what is refused."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import pydantic
import pytest

import tokenstile as xgr
from tokenstile import Generator, OutputError, RemoteModel, ToolCall, generate, generate_async
from tokenstile.generation.sources.remote import ServerError


class Person(pydantic.BaseModel):
    name: str
    age: int


def get_temperature(city: str) -> str:
    """Give the temperature in a city."""
    return city


class Server:
    """Answers every request with the same message, and notes what it was sent."""

    def __init__(self, message: dict, finish_reason: str = "stop", models: tuple[str, ...] = ("m",)) -> None:
        self.message, self.finish_reason, self.models = message, finish_reason, models
        self.raw: bytes | None = None
        self.status = 200
        self.bodies: list[dict] = []
        self.headers: list[dict[str, str]] = []

    def reply(self, body: dict) -> tuple[str, bytes]:
        self.bodies.append(body)
        if self.raw is not None:
            return "application/json", self.raw
        if not body["stream"]:
            choice = {"message": self.message, "finish_reason": self.finish_reason}
            return "application/json", json.dumps({"choices": [choice]}).encode()
        events = [{"choices": [{"delta": delta}]} for delta in self.deltas()]
        events.append({"choices": [{"delta": {}, "finish_reason": self.finish_reason}]})
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        return "text/event-stream", "".join([": hello\n\n", *lines, "data: [DONE]\n\n"]).encode()

    def deltas(self):
        for character in self.message.get("content") or "":
            yield {"content": character}
        for index, call in enumerate(self.message.get("tool_calls", [])):
            function = call["function"]
            yield {"tool_calls": [{"index": index, "function": {"name": function["name"], "arguments": ""}}]}
            for character in function["arguments"]:
                yield {"tool_calls": [{"index": index, "function": {"arguments": character}}]}


@pytest.fixture
def serve():
    """Start servers on ports of the machine's choice."""
    running = []

    def start(server: Server) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send(
                    200,
                    "application/json",
                    json.dumps({"data": [{"id": one} for one in server.models]}).encode(),
                )

            def do_POST(self):
                server.headers.append(dict(self.headers))
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send(server.status, *server.reply(body))

            def send(self, status, kind, data):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        running.append(http)
        return f"http://127.0.0.1:{http.server_port}/v1"

    yield start
    for http in running:
        http.shutdown()
        http.server_close()


def text(content: str, **options) -> Server:
    return Server({"content": content}, **options)


def call(name: str, arguments: str) -> Server:
    return Server({"content": None, "tool_calls": [{"function": {"name": name, "arguments": arguments}}]})


def test_a_typed_answer(serve):
    server = text('{"age": 34, "name": "\\u0041nn"}')
    assert generate("?", Person, serve(server), system="Be brief.", seed=3, top_p=0.5) == Person(
        name="Ann", age=34
    )
    (body,) = server.bodies
    assert body["model"] == "m"
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "?"}]
    assert (body["seed"], body["top_p"], body["max_tokens"], body["temperature"]) == (3, 0.5, 512, 0.0)
    asked = body["response_format"]["json_schema"]
    assert asked["schema"] == Person.model_json_schema()
    assert asked["strict"] is True


@pytest.mark.parametrize(
    "answer",
    ["Sure!", '{"name": "Ann"}', '{"name": "Ann", "age": 34, "more": 1}', '{"name": 3, "age": 4}', ""],
)
def test_answers_that_do_not_fit(serve, answer):
    address = serve(text(answer))
    with pytest.raises(OutputError, match="does not fit") as caught:
        generate("?", Person, address)
    assert caught.value.text == answer
    with pytest.raises(OutputError, match="does not fit"):
        list(Generator(Person, address).stream("?"))


def test_other_structures(serve):
    server = text("no")
    assert generate("?", Literal["yes", "no"], serve(server)) == "no"
    assert server.bodies[0]["structured_outputs"] == {"choice": ["yes", "no"]}
    with pytest.raises(OutputError):
        generate("?", Literal["yes", "maybe"], serve(server))
    grammar = xgr.Grammar.from_ebnf('root ::= "n" "o"')
    assert generate("?", grammar, serve(server)) == "no"
    assert server.bodies[-1]["structured_outputs"] == {"grammar": str(grammar)}
    assert generate("?", str, serve(server)) == "no"
    assert "structured_outputs" not in server.bodies[-1]


def test_an_answer_that_was_cut_off(serve):
    address = serve(text('{"name": "A', finish_reason="length"))
    with pytest.raises(OutputError, match="cut its answer off"):
        generate("?", Person, address)
    assert generate("?", str, address) == '{"name": "A'


def test_streams(serve):
    address = serve(text('{"name": "Ann", "age": 34}'))
    parts = list(Generator(Person, address).stream("?"))
    assert parts[-1] == Person(name="Ann", age=34)
    assert [part.name for part in parts if part.age is None][-1] == "Ann"

    async def main():
        found = [part async for part in Generator(Person, address).stream_async("?")]
        return found, await generate_async("?", Person, address)

    found, whole = asyncio.run(main())
    assert found[-1] == whole == Person(name="Ann", age=34)
    assert len(found) == len(parts)


def test_tools(serve):
    server = call("get_temperature", '{"city": "Oslo"}')
    assert generate("?", [get_temperature], serve(server)) == [ToolCall("get_temperature", {"city": "Oslo"})]
    (body,) = server.bodies
    assert body["tools"][0]["function"]["name"] == "get_temperature"
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)
    parts = list(Generator([get_temperature], serve(server)).stream("?"))
    assert [part[0].arguments.get("city") for part in parts][-3:] == ["Osl", "Oslo", "Oslo"]


@pytest.mark.parametrize(
    "server",
    [call("get_temperature", '{"town": "Oslo"}'), call("rm", "{}"), call("get_temperature", "{"), text("hi")],
)
def test_calls_that_do_not_fit(serve, server):
    with pytest.raises(OutputError, match="does not fit"):
        generate("?", [get_temperature], serve(server))


def test_the_model_and_the_key(serve, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = text("1", models=("a", "b"))
    address = serve(server)
    with pytest.raises(xgr.InvalidArgumentError, match=r"2 models \(a, b\)"):
        generate("?", int, address)
    assert generate("?", int, RemoteModel(address, "b", api_key="secret")) == 1
    assert server.bodies[-1]["model"] == "b"
    assert server.headers[-1]["Authorization"] == "Bearer secret"
    assert "secret" not in repr(RemoteModel(address, api_key="secret"))
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    generate("?", int, RemoteModel(address, "b"))
    assert server.headers[-1]["Authorization"] == "Bearer from the environment"


def test_servers_that_fail(serve):
    server = text("")
    address = serve(server)
    server.status, server.raw = 400, b'{"error": {"message": "no such thing"}}'
    with pytest.raises(ServerError, match=r"answered 400: .*no such thing"):
        generate("?", int, address)
    server.status = 200
    with pytest.raises(ServerError, match="no such thing"):
        generate("?", int, address)
    for raw in (b"<html>", b"[]", b"[" * 100_000):
        server.raw = raw
        with pytest.raises(ServerError, match="JSON"):
            generate("?", int, address)
    server.raw = b'data: {"choices": [{"delta": {"content": "1"}}]}\n\n'
    with pytest.raises(ServerError, match="broke off"):
        list(Generator(int, address).stream("?"))
    server.raw = b'{"choices": []}'
    with pytest.raises(OutputError):
        generate("?", int, address)
    with pytest.raises(ServerError, match="cannot be reached"):
        generate("?", int, RemoteModel("http://127.0.0.1:9/v1", "m"))
    with pytest.raises(xgr.InvalidArgumentError, match="http://"):
        RemoteModel("file:///etc/passwd")
