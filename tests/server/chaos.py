"""Sixty-four clients that do everything at once: good, bad, huge, slow, half-open and cancelled requests of all paths.

``python -m tests.server.chaos --seconds 600`` runs it. Every good request must be answered, and rightly; nothing may be
answered 500; the server must not stand still, nor grow. How long ``/health`` waits is reported, and decides nothing
below what standing still is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.server.process import served
from tests.server.watch import watching

CHAT, COMPLETE, INSPECT = "/v1/chat/completions", "/v1/completions", "/playground/inspect"
SETTINGS = {"header_timeout": 3.0, "body_timeout": 5.0, "max_connections": 96, "max_compile_time": 1.0}
STALLED = 5.0
MAX_GROWTH = 256 << 20
PATIENCE = 120.0
NAMES = [f"field_{at}" for at in range(12)]


@dataclass
class Report:
    """What came of it."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def wait(self, part):
        """Give the wait of `/health` that so many parts of all stay below."""
        ordered = sorted(self.waits) or [0.0]
        return ordered[min(int(len(ordered) * part), len(ordered) - 1)]

    @property
    def growth(self):
        """Bytes that the second half of the run added at most: caches fill in the first."""
        half = len(self.memory) // 2
        return max(self.memory[half:], default=0) - max(self.memory[:half], default=0)

    def failures(self):
        """Say what is wrong; nothing if nothing is."""
        failed = sorted(set(self.errors))
        if not self.counts["good"]:
            failed.append("no good request was answered")
        if self.wait(1.0) > STALLED:
            failed.append(f"/health waited {self.wait(1.0):.1f} s")
        if self.growth > MAX_GROWTH:
            failed.append(f"the server grew by {self.growth >> 20} MB")
        return failed

    def line(self):
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        waits = ", ".join(f"{name} {self.wait(part) * 1e3:.1f}" for name, part in WAITS)
        most = max(self.memory, default=0) >> 20
        return (
            f"{kinds}; /health waits in ms: {waits}; {most} MB at most, second half +{self.growth >> 20} MB"
        )


WAITS = (("p50", 0.5), ("p99", 0.99), ("max", 1.0))


class Client:
    """One of the clients, which does one thing after the other."""

    def __init__(self, url, number, report):
        self.url, self.report = url, report
        self.host, port = url.removeprefix("http://").split(":")
        self.port = int(port)
        self.random = random.Random(number)  # noqa: S311 - to come again

    async def run(self, deadline, pause):
        async with httpx2.AsyncClient(base_url=self.url, timeout=PATIENCE) as web:
            while time.monotonic() < deadline:
                do = self.random.choices(list(DEEDS), weights=list(DEEDS.values()))[0]
                try:
                    await do(self, web)
                    self.report.counts[do.__name__] += 1
                except Exception as error:  # noqa: BLE001 - counted, and shown in the report
                    self.report.errors.append(f"{do.__name__}: {type(error).__name__}: {str(error)[:300]}")
                await asyncio.sleep(self.random.uniform(0, 2 * pause))

    # What is right, and must be answered.

    async def good(self, web):
        make = self.random.choice((self.a_schema, self.a_regex, self.a_choice, self.a_look, self.a_get))
        await make(web)

    async def a_schema(self, web):
        names = self.random.sample(NAMES, 3)
        properties = {name: {"enum": ["a", "b", self.random.randrange(20)]} for name in names}
        schema = {"type": "object", "properties": properties, "required": names}
        format_ = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        body = {"messages": [{"role": "user", "content": "x"}], "response_format": format_, "max_tokens": 200}
        for text in await self.texts(web, CHAT, body):
            value = json.loads(text)
            assert list(value) == names, text
            assert all(value[name] in properties[name]["enum"] for name in names), text

    async def a_regex(self, web):
        count = self.random.randrange(1, 20)
        body = {"prompt": "x", "structured_outputs": {"regex": f"[a-z]{{{count}}}-[0-9]"}, "max_tokens": 100}
        for text in await self.texts(web, COMPLETE, body):
            assert re.fullmatch(f"[a-z]{{{count}}}-[0-9]", text), text

    async def a_choice(self, web):
        words = [f"word {self.random.randrange(50)}" for _ in range(3)]
        for text in await self.texts(
            web, COMPLETE, {"prompt": [1, 2], "structured_outputs": {"choice": words}, "max_tokens": 40}
        ):
            assert text in words, text

    async def texts(self, web, path, body):
        """Ask, whole or as a stream, and give the texts of the choices."""
        if self.random.random() < 0.5:
            count = self.random.choice((1, 1, 2))
            answer = await web.post(path, json={**body, "n": count})
            assert answer.status_code == 200, answer.text
            choices = answer.json()["choices"]
            assert len(choices) == count
            return [
                choice["text"] if "text" in choice else choice["message"]["content"] for choice in choices
            ]
        text = ""
        async with web.stream("POST", path, json={**body, "stream": True}) as answer:
            assert answer.status_code == 200
            events = [line.removeprefix("data: ") async for line in answer.aiter_lines() if line]
        assert events[-1] == "[DONE]", events[-1]
        for event in map(json.loads, events[:-1]):
            assert "error" not in event, event
            (choice,) = event["choices"]
            text += choice["text"] if "text" in choice else choice["delta"].get("content", "")
        return [text]

    async def a_look(self, web):
        digits = str(self.random.randrange(10**6))
        answer = await web.post(INSPECT, json={"kind": "regex", "grammar": "[0-9]+", "text": digits})
        assert answer.status_code == 200, answer.text
        assert answer.json()["accepted"] == len(digits)

    async def a_get(self, web):
        path = self.random.choice(("/", "/metrics", "/v1/models", "/v1/models/stub", "/static/app.js"))
        answer = await web.get(path)
        assert answer.status_code == 200, answer.text

    # What is wrong, and must be refused.

    async def bad(self, web):
        path = self.random.choice((CHAT, COMPLETE, INSPECT))
        body = self.random.choice(BAD_BODIES)
        answer = await web.post(path, content=body, headers={"Content-Type": "application/json"})
        assert 400 <= answer.status_code < 500, (answer.status_code, body[:100])
        assert answer.json()["error"]["message"]

    async def huge(self, web):
        path = self.random.choice((CHAT, COMPLETE, INSPECT))
        body = self.random.choice(HUGE_BODIES)
        answer = await web.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in {400, 413, 503}, answer.text[:300]

    async def hard(self, web):
        """A grammar that takes longer than it may, or nearly."""
        count = self.random.randrange(12, 17)
        regex = f"(?=.*1.{{{count}}})(?=.*2.{{{count}}})(?=.*3.{{15}}).*{self.random.randrange(10)}"
        ask = {"prompt": "x", "max_tokens": 40, "structured_outputs": {"regex": regex}}
        answer = await web.post(COMPLETE, json=ask)
        assert answer.status_code in {200, 400, 429, 503}, answer.text

    # Connections that are no good.

    async def slow(self, _):
        """A body that comes a byte at a time, and then no more."""
        reader, writer = await self.open(CHAT, b'{"messages":[{"role":"user","content":"' + b"x" * 5000)
        for _ in range(self.random.randrange(5)):
            writer.write(b"x")
            await asyncio.sleep(0.2)
        await self.leave(reader, writer)

    async def half_open(self, _):
        """Headers that never end."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        for _ in range(self.random.randrange(4)):
            writer.write(b"POST /v1/completions HTTP/1.1\r\n" if self.random.random() < 0.5 else b"\x16\x03")
            await asyncio.sleep(0.3)
        await self.leave(reader, writer)

    async def cancelled(self, _):
        """A request that is good, of a client that goes away at any moment."""
        asks = (
            {
                "prompt": "x" * self.random.randrange(5000),
                "max_tokens": 500,
                "stream": self.random.random() < 0.5,
            },
            {"prompt": "x", "structured_outputs": {"regex": "[a-z]{300}"}, "max_tokens": 400, "n": 2},
            {
                "prompt": "x",
                "structured_outputs": {"regex": f"(?=.*1.{{16}})(?=.*2.{{16}}).*{self.random.random()}"},
            },
        )
        data = json.dumps(self.random.choice(asks)).encode()
        reader, writer = await self.open(COMPLETE, data, whole=True)
        await asyncio.sleep(self.random.uniform(0, 0.5))
        await self.leave(reader, writer, at_once=True)

    async def open(self, path, data, *, whole=False):
        reader, writer = await asyncio.open_connection(self.host, self.port)
        length = len(data) if whole else 2 * len(data)
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {length}\r\n\r\n".encode() + data)
        return reader, writer

    async def leave(self, reader, writer, *, at_once=False):
        """Go away, or wait until the server has enough."""
        if not at_once and self.random.random() < 0.5:
            try:
                async with asyncio.timeout(self.random.uniform(0, 6)):
                    while await reader.read(1000):
                        pass
            except (TimeoutError, ConnectionError):
                pass
        writer.transport.abort()


BAD_BODIES = [
    b"", b"{", b"[]", b'{"messages": NaN}', b"\xff", b"[" * 5000, b'{"prompt":"\\ud800"}',
    b'{"n":' + b"9" * 5000 + b"}",
    b'{"messages":[{"role":"user","content":"\\udc00"}]}', b'{"prompt":"x","temperature":1e999}',
    b'{"prompt":"x","n":' + b"9" * 4300 + b"}", b'{"prompt":"x","structured_outputs":{"json":{"minimum":1e999}}}',
    b'{"prompt":"x","structured_outputs":{"regex":"("}}', b'{"messages":[0,1,2]}', b'{"kind":"json","grammar":"{"}',
    b'{"prompt":"x","structured_outputs":{"json":{"type":"text"}}}', b'{"kind":"regex","grammar":"a","cursor":-1}',
]  # fmt: skip
HUGE_BODIES = [
    b'{"messages":[' + b"0," * 1_300_000 + b"0]}",
    b'{"messages":[' + b"0," * 90_000 + b"0]}",
    b'{"messages":[' + b'{"role":"user","content":"x"},' * 4_000 + b"0]}",
    b'{"prompt":"' + b"word " * 780_000 + b'"}',
    b'{"messages":[{"role":"user","content":"' + b"word " * 780_000 + b'"}]}',
    b'{"kind":"regex","grammar":"a","text":"' + b"a" * 3_900_000 + b'"}',
    b"{" + b",".join(b'"a%d":0' % at for at in range(90_000)) + b"}",
    b"[" * 4_000_000,
    b'{"user":"' + b"x" * 5_000_000 + b'"}',
]
DEEDS = {
    Client.good: 60, Client.bad: 10, Client.huge: 2, Client.hard: 2, Client.slow: 6, Client.half_open: 12,
    Client.cancelled: 8,
}  # fmt: skip


async def storm(url, clients, seconds, pause, report):
    deadline = time.monotonic() + seconds
    await asyncio.gather(*(Client(url, at, report).run(deadline, pause) for at in range(clients)))


def chaos(folder, clients=64, seconds=600.0, pause=0.5):
    """Run clients for some seconds against a server, and give what came of it."""
    report = Report()
    with served(folder, settings=SETTINGS, answer="word 7", num_slots=16, max_length=1024) as server:
        with watching(server) as told:
            asyncio.run(storm(server.address, clients, seconds, pause, report))
        report.waits, report.memory = told["waits"], told["memory"]
        report.errors += told["errors"]
        report.errors += re.findall(r"^\w*Error: .*", server.said(), re.MULTILINE)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument(
        "--pause", type=float, default=0.5, help="seconds between what one client does, on average"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = chaos(Path(folder), args.clients, args.seconds, args.pause)
    failures = report.failures()
    print(report.line(), *failures, sep="\n")  # noqa: T201 - a program
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
