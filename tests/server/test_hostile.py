"""Whatever one client sends, the others are served: bodies, prompts, grammars, connections and the end of the process.

Times decide nothing here but that something stands still: `STALLED` is far more than anything takes.
"""

# ruff: noqa: UP031 - the braces are JSON's

from __future__ import annotations

import contextlib
import json
import select
import signal
import socket
import threading
import time

import httpx2
import pytest

from tests.server.conftest import running
from tests.server.process import SlowModel, served
from tokenstile.engine import Engine
from tokenstile.server import ChatTemplate, ServerConfig, create_app

CHAT, COMPLETE, INSPECT = "/v1/chat/completions", "/v1/completions", "/playground/inspect"
JSON = {"Content-Type": "application/json"}
STALLED = 8.0
PATIENCE = 120.0


class BlockedModel(SlowModel):
    """Cuts a text into tokens when it may."""

    def __init__(self):
        super().__init__("yes")
        self.may_go_on = threading.Event()

    def encode(self, text):
        if text.startswith("slow"):
            self.prompts.append(text)
            assert self.may_go_on.wait(PATIENCE)
            return [1]
        return super().encode(text)


def app_of(model, **settings):
    return create_app(Engine(model), ChatTemplate(), ServerConfig(model_name="stub", **settings))


@pytest.fixture(scope="module")
def model():
    return SlowModel("yes")


@pytest.fixture(scope="module")
def web(model):
    with running(app_of(model)) as address, httpx2.Client(base_url=address, timeout=PATIENCE) as web:
        yield web


@contextlib.contextmanager
def watched(web):
    """Ask for the health of a server again and again; gives the waits."""
    waits, stop = [], threading.Event()

    def watch():
        while not stop.wait(0.01):
            started = time.monotonic()
            assert web.get("/health").status_code == 200
            waits.append(time.monotonic() - started)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield waits
    finally:
        stop.set()
        thread.join()


MANY_NUMBERS = b'{"messages":[' + b"0," * 1_300_000 + b"0]}"
MANY_FIELDS = b"{" + b",".join(b'"a%d":0' % at for at in range(90_000)) + b"}"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (MANY_NUMBERS, "limit_exceeded"),
        (b'{"messages":[' + b"[]," * 1_300_000 + b"0]}", "limit_exceeded"),
        (b'{"messages":[' + b'"",' * 1_300_000 + b"0]}", "limit_exceeded"),
        (b'{"messages":[' + b"0," * 100_000 + b"0]}", "invalid_value"),
        (b'{"messages":[' + b'{"role":"user"},' * 5_000 + b"0]}", "invalid_value"),
        (MANY_FIELDS, "invalid_value"),
        (b'{"messages":[{"role":"user","content":"x"}],"tools":[' + MANY_FIELDS + b"]}", "invalid_value"),
        (b'{"messages":[{"role":"user","content":"x"}],"logit_bias":' + MANY_FIELDS + b"}", "invalid_value"),
    ],
    ids=["numbers", "lists", "texts", "messages", "good messages", "fields", "tools", "map"],
)
def test_a_malformed_body_stops_nobody(web, body, code):
    with watched(web) as waits:
        answer = web.post(CHAT, content=body, headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
    assert len(answer.content) < 2000
    assert max(waits, default=0) < STALLED


def test_lists_of_prompts_end_at_the_first_that_is_wrong(web):
    for entries in ("0.5", '"a",1', "[1.5]", "-1", str(1 << 40)):
        answer = web.post(COMPLETE, content=f'{{"prompt":[{entries},0.5]}}', headers=JSON)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_value")


LONE = '"\\ud800 x"'
TOOL = '{"type":"function","function":{"name":"f","description":%s,"parameters":%s}}'
SCHEMA = '{"type":"json_schema","json_schema":{"name":"a","schema":%s}}'
ASK = '"messages":[{"role":"user","content":"x"}]'


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, '{"messages":[{"role":"user","content":%s}]}' % LONE),
        (CHAT, '{"messages":[{"role":"user","content":[{"type":"text","text":%s}]}]}' % LONE),
        (CHAT, "{%s,%s:1}" % (ASK, LONE)),
        (CHAT, "{%s,%s:1}" % (ASK, '"\\udc00"')),
        (CHAT, '{%s,"tools":[%s]}' % (ASK, TOOL % (LONE, "{}"))),
        (CHAT, '{%s,"tools":[%s]}' % (ASK, TOOL % ('""', "{%s:1}" % LONE))),
        (CHAT, '{%s,"response_format":%s}' % (ASK, SCHEMA % ('{"const":%s}' % LONE))),
        (CHAT, '{%s,"model":%s}' % (ASK, LONE)),
        (CHAT, '{%s,"tools":[%s],"tool_choice":%s}' % (ASK, TOOL % ('""', "{}"), LONE)),
        (COMPLETE, '{"prompt":%s}' % LONE),
        (COMPLETE, '{"prompt":[%s]}' % LONE),
        (COMPLETE, '{"prompt":"x","stop":%s}' % LONE),
        (COMPLETE, '{"prompt":"x","structured_outputs":{%s:1}}' % LONE),
        (COMPLETE, '{"prompt":"x","structured_outputs":{"regex":%s}}' % LONE),
        (INSPECT, '{"kind":"regex","grammar":%s}' % LONE),
        (INSPECT, '{"kind":"regex","grammar":"a","text":%s}' % LONE),
    ],
)
def test_half_a_surrogate_pair_is_said_with_its_place(web, path, body):
    answer = web.post(path, content=body, headers=JSON)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "invalid_json"
    assert error["line"] == 1
    assert abs(error["column"] - body.index("\\ud")) < 12


def test_half_a_surrogate_pair_in_texts_of_json(web):
    """What is a text for the body and JSON for us."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": "\\ud800"}'}}
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "x", "tool_call_id": "1"},
    ]
    assert web.post(CHAT, json={"messages": messages, "max_tokens": 2}).status_code == 200
    for text in ('{"const": "\\ud800"}', '{"maximum": 1e999}', '{"maxLength": ' + "9" * 5000 + "}"):
        answer = web.post(
            COMPLETE, json={"prompt": "x", "max_tokens": 2, "structured_outputs": {"json": text}}
        )
        assert answer.status_code in {200, 400}, answer.text


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (
            CHAT,
            '{%s,"response_format":%s}' % (ASK, SCHEMA % '{"properties":{"a":{"maximum":1e999}}}'),
            "response_format.json_schema.schema.properties.a.maximum",
        ),
        (
            CHAT,
            '{%s,"tools":[%s]}' % (ASK, TOOL % ('""', '{"minimum":-1E+400}')),
            "tools[0].function.parameters.minimum",
        ),
        (
            COMPLETE,
            '{"prompt":"x","structured_outputs":{"json":{"enum":[0,1e309]}}}',
            "structured_outputs.json.enum[1]",
        ),
        (COMPLETE, '{"prompt":"x","temperature":1e999}', "temperature"),
        (COMPLETE, '{"prompt":"x","n":%s}' % ("9" * 4300), "n"),
        (COMPLETE, '{"prompt":"x","seed":%s}' % ("9" * 400), "seed"),
        (COMPLETE, '{"prompt":"x","max_tokens":%s}' % ("9" * 100), "max_tokens"),
        (COMPLETE, '{"prompt":[%s]}' % ("9" * 100), "prompt[0]"),
        (INSPECT, '{"kind":"regex","grammar":"a","cursor":%s}' % ("9" * 100), "cursor"),
    ],
)
def test_numbers_that_are_too_large(web, path, body, param):
    answer = web.post(path, content=body, headers=JSON)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param
    longer = web.post(COMPLETE, content='{"prompt":"x","n":%s}' % ("9" * 5000), headers=JSON)
    assert (longer.status_code, longer.json()["error"]["line"]) == (400, 1)


def test_large_schemas_still_fit(web):
    """The bounds are for what nobody sends."""
    properties = {f"field_{at}": {"type": "string", "description": "x" * 300} for at in range(2000)}
    schema = {"type": "object", "properties": properties, "required": []}
    body = {"prompt": "x", "max_tokens": 4, "structured_outputs": {"json": schema}}
    assert web.post(COMPLETE, json=body).status_code == 200
    # Near the bound for numbers, and beyond that of doubles for what is whole.
    schema = {"enum": [1e300, 123456789 * 10**300]}
    body = {"prompt": "x", "max_tokens": 400, "structured_outputs": {"json": schema}}
    answer = web.post(COMPLETE, json=body)
    assert float(answer.json()["choices"][0]["text"]) in {1e300, 123456789e300}


def test_a_prompt_is_measured_before_it_is_cut_into_tokens(web, model):
    text = "word " * 780_000
    model.prompts.clear()
    with watched(web) as waits:
        for path, body, param in (
            (COMPLETE, {"prompt": text}, "prompt"),
            (COMPLETE, {"prompt": ["x", text]}, "prompt"),
            (CHAT, {"messages": [{"role": "user", "content": text}]}, "messages"),
            (INSPECT, {"kind": "regex", "grammar": "a", "text": text}, "text"),
        ):
            answer = web.post(path, json=body)
            assert answer.status_code == 400
            error = answer.json()["error"]
            assert (error["code"], error["param"]) == ("limit_exceeded", param)
            assert "bytes" in error["message"]
    assert max(map(len, model.prompts), default=0) < 1000
    assert max(waits, default=0) < STALLED


def test_clients_that_go_away_leave_their_turns():
    """Two of eight prompts are being cut into tokens when all eight clients go; the others never are."""
    model = BlockedModel()
    with running(app_of(model)) as address, httpx2.Client(base_url=address, timeout=PATIENCE) as web:
        clients = [open_request(address, COMPLETE, {"prompt": f"slow {at}"}) for at in range(8)]
        wait_until(lambda: len(model.prompts) == 2)
        for client in clients:
            client.close()
        wait_until(lambda: "outputs_under_way 0.0" in web.get("/metrics").text)
        model.may_go_on.set()
        answer = web.post(COMPLETE, json={"prompt": "quick", "max_tokens": 9})
        assert answer.json()["choices"][0]["text"] == "yes"
        assert [text for text in model.prompts if text.startswith("slow")] == model.prompts[:2]


def slow_regex(at):
    """A regex that takes about a second to compile, and is unlike the others."""
    return f"(?=.*1.{{15}})(?=.*2.{{15}})(?=.*3.{{15}}).*{at}"


def test_grammars_that_are_known_do_not_wait_for_others():
    known = {"prompt": "x", "max_tokens": 9, "structured_outputs": {"choice": ["yes", "no"]}}
    with (
        running(app_of(SlowModel("yes"))) as address,
        httpx2.Client(base_url=address, timeout=PATIENCE) as web,
    ):
        assert web.post(COMPLETE, json=known).status_code == 200
        greedy = [
            open_request(address, COMPLETE, {"prompt": "x", "structured_outputs": {"regex": slow_regex(at)}})
            for at in range(30)
        ]
        wait_until(lambda: compiling(web) >= 25)
        for choice in ("known", "new"):
            asked = {**known, "structured_outputs": {"choice": ["yes", choice]}} if choice == "new" else known
            assert web.post(COMPLETE, json=asked).json()["choices"][0]["text"] == "yes"
        assert compiling(web) >= 10, "the others were compiled first"
        for client in greedy:
            client.close()
        wait_until(lambda: compiling(web) == 0)


def compiling(web):
    lines = web.get("/metrics").text.splitlines()
    name = "tokenstile_structured_output_compiling_requests"
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def test_one_compilation_has_two_seconds():
    assert ServerConfig().max_compile_time == 2.0
    with running(app_of(SlowModel("yes"), max_compile_time=0.2)) as address:
        body = {"prompt": "x", "structured_outputs": {"regex": slow_regex("!")}}
        answer = httpx2.post(address + COMPLETE, json=body, timeout=PATIENCE)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "limit_exceeded")
        inspected = {"kind": "regex", "grammar": slow_regex("?")}
        answer = httpx2.post(address + INSPECT, json=inspected, timeout=PATIENCE)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "limit_exceeded")


def test_the_page_has_a_deadline():
    with running(app_of(SlowModel("yes"), inspect_timeout=1e-6)) as address:
        body = {"kind": "regex", "grammar": "a*", "text": "aaaa"}
        answer = httpx2.post(address + INSPECT, json=body, timeout=PATIENCE)
        assert answer.status_code in {400, 504}
        assert answer.json()["error"]["code"] in {"limit_exceeded", "timeout"}


def open_request(address, path, body):
    """Send a request, and leave its answer to come."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    client = connect(address)
    client.sendall(head.encode() + b"\r\n\r\n" + data)
    return client


def connect(address):
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def wait_until(holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def test_half_open_connections_keep_nobody_out(tmp_path):
    """More of them than the process may have files: each new client pushes out one of them, and nothing is logged."""
    with served(tmp_path, files=1024) as server, contextlib.ExitStack() as stack:
        for _ in range(1100):
            client = stack.enter_context(connect(server.address))
            with contextlib.suppress(ConnectionError):
                client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n")
        for _ in range(20):
            assert httpx2.get(server.address + "/health", timeout=STALLED).status_code == 200
        assert len(server.said()) < 20_000


def test_headers_come_in_time(tmp_path):
    settings = {"header_timeout": 0.3, "idle_timeout": 0.3}
    with served(tmp_path, settings=settings) as server:
        said_nothing, began, kept = (connect(server.address) for _ in range(3))
        began.sendall(b"GET /health HTTP/1.1\r\nHost: local")
        kept.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert kept.recv(1000).startswith(b"HTTP/1.1 200")
        kept.sendall(b"GET /health HTTP/1.1\r\n")
        for client in (said_nothing, began, kept):
            while client.recv(1000):
                pass
            client.close()


@pytest.mark.skipif(not hasattr(select, "poll"), reason="a cut connection is seen by poll")
def test_answers_are_taken_in_time():
    """A client that asks for much and reads nothing is cut off."""
    data = json.dumps({"kind": "regex", "grammar": "a*", "tokens": [97] * 4000}).encode()
    head = f"POST {INSPECT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    ask = head.encode() + b"Content-Length: %d\r\n\r\n" % len(data) + data
    with running(app_of(SlowModel("yes"), write_timeout=0.3)) as address, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = address.removeprefix("http://").split(":")
        client.connect((host, int(port)))
        client.setblocking(False)
        cut = select.poll()
        cut.register(client, 0)

        rest = bytearray()

        def ask_on():
            rest.extend(b"" if rest else ask)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                del rest[: client.send(rest)]
            return bool(cut.poll(0))

        wait_until(ask_on)


def test_bodies_share_their_room():
    with running(app_of(SlowModel("yes"), max_held_bytes=200_000)) as address:
        large = json.dumps({"prompt": [1], "user": "x" * 250_000}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += b"Content-Length: %d\r\n\r\n" % len(large)
        slow = [connect(address) for _ in range(2)]
        for client in slow:
            client.sendall(head + large[:200_000])
        # One of them finds no room.
        refused = select.select(slow, [], [], PATIENCE)[0]
        assert wait_for_answer(refused[0]).startswith(b"HTTP/1.1 503")
        slow.remove(refused[0])
        refused[0].close()
        small = httpx2.post(address + COMPLETE, json={"prompt": [1], "max_tokens": 1}, timeout=PATIENCE)
        assert small.status_code == 200
        slow[0].sendall(large[200_000:])
        # Its `user` is too long, which is said once there is room and time to look at it.
        assert wait_for_answer(slow[0]).startswith(b"HTTP/1.1 400")
        slow[0].close()


def wait_for_answer(client):
    return client.recv(4000)


def test_what_is_not_http_is_said_once(tmp_path):
    with served(tmp_path) as server:
        for _ in range(50):
            client = connect(server.address)
            client.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 400")
            client.close()
        assert server.said().count("Invalid HTTP request") == 1


def test_a_body_in_a_million_chunks(web):
    head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connect(str(web.base_url).rstrip("/")) as client, watched(web) as waits:
        client.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        # The server has enough before all of it is sent.
        with contextlib.suppress(ConnectionError):
            client.sendall(b"1\r\n \r\n" * 1_000_000)
            assert client.recv(1000).startswith(b"HTTP/1.1 400")
    assert max(waits, default=0) < STALLED
    body = json.dumps({"prompt": "x", "max_tokens": 1}).encode()
    answer = web.post(COMPLETE, content=(body[at : at + 1] for at in range(len(body))), headers=JSON)
    assert answer.status_code == 200


@pytest.mark.parametrize(("grace", "ends_by_itself"), [(20.0, True), (0.5, False)])
def test_streams_end_when_the_server_is_told_to_stop(tmp_path, grace, ends_by_itself):
    count = 25 if ends_by_itself else 3000
    regex = {"regex": f"[a-z]{{{count}}}"}
    body = {"prompt": "x", "max_tokens": count + 5, "stream": True, "structured_outputs": regex}
    with served(tmp_path, settings={"shutdown_grace": grace}, delay=0.05) as server:
        with httpx2.stream("POST", server.address + COMPLETE, json=body, timeout=PATIENCE) as answer:
            events = (line.removeprefix("data: ") for line in answer.iter_lines() if line)
            read = [next(events)]
            slow, waiting = connect(server.address), open_request(server.address, COMPLETE, body)
            slow.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n")
            slow.sendall(b"Content-Type: application/json\r\n\r\n{")
            wait_until(lambda: "outputs_under_way 2.0" in httpx2.get(server.address + "/metrics").text)
            server.process.send_signal(signal.SIGTERM)
            read += events
        assert read[-1] == "[DONE]"
        last = json.loads(read[-2])
        if ends_by_itself:
            assert last["choices"][0]["finish_reason"] == "stop"
        else:
            assert last["error"]["message"] == "the server is shutting down"
        server.process.wait(PATIENCE)
        slow.close()
        assert b"[DONE]" in b"".join(iter(lambda: waiting.recv(1000), b""))
        waiting.close()
        assert "Traceback" not in server.said()
        assert "timeout graceful" not in server.said()
