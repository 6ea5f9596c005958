"""Many clients at once, each with one stream after another; every answer is checked.

``python -m tests.server.load --url http://127.0.0.1:8000 --clients 64 --seconds 60`` runs it against a server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from dataclasses import dataclass, field

import openai

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "kind": {"enum": ["cat", "dog", "owl"]}},
    "required": ["name", "kind"],
    "additionalProperties": False,
}
KINDS = (
    {"response_format": {"type": "json_schema", "json_schema": {"name": "pet", "schema": SCHEMA, "strict": True}}},
    {"extra_body": {"structured_outputs": {"regex": "[a-z]{3,8}-[0-9]{2}"}}},
    {"extra_body": {"structured_outputs": {"choice": ["yes", "no", "perhaps"]}}},
    {"tools": [{"type": "function", "function": {"name": "pet", "parameters": SCHEMA}}], "tool_choice": "required",
     "parallel_tool_calls": False},
)  # fmt: skip


@dataclass
class Report:
    """What came of it."""

    answers: int = 0
    tokens: int = 0
    cut_off: int = 0
    errors: list[str] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    wholes: list[float] = field(default_factory=list)

    def line(self, seconds):
        return (
            f"{self.answers} answers ({self.cut_off} cut off at max_tokens), {len(self.errors)} errors, "
            f"{self.tokens} tokens in {seconds:.1f} s = {self.tokens / seconds:.0f} tokens/s; "
            f"first piece {_middle(self.firsts)}, whole answer {_middle(self.wholes)}"
        )


def _middle(values):
    if not values:
        return "none"
    ordered = sorted(values)
    return f"{statistics.median(ordered):.2f} s (95th {ordered[int(len(ordered) * 0.95)]:.2f} s)"


async def one_client(client, model, number, deadline, report):
    turn = 0
    while time.monotonic() < deadline:
        kind = (number + turn) % len(KINDS)
        turn += 1
        try:
            await one_answer(client, model, kind, number * 1000 + turn, report)
        except Exception as error:  # noqa: BLE001 - counted, and shown in the report
            report.errors.append(f"{type(error).__name__}: {error}")


async def one_answer(client, model, kind, seed, report):
    started = time.monotonic()
    stream = await client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": f"Tell me about pet number {seed}."}],
        max_tokens=80,
        seed=seed,
        stream=True,
        stream_options={"include_usage": True},
        **KINDS[kind],
    )
    text, reason, first = "", None, None
    async for event in stream:
        first = first or time.monotonic() - started
        for choice in event.choices:
            text += choice.delta.content or ""
            text += "".join(call.function.arguments or "" for call in choice.delta.tool_calls or [])
            reason = choice.finish_reason or reason
        if event.usage:
            report.tokens += event.usage.completion_tokens
    check(kind, text, reason)
    report.answers += 1
    report.cut_off += reason == "length"
    report.firsts.append(first)
    report.wholes.append(time.monotonic() - started)


def check(kind, text, reason):
    assert reason in {"stop", "length", "tool_calls"}, reason
    if reason == "length":
        return
    if kind in {0, 3}:
        assert set(json.loads(text)) == {"name", "kind"}, text
    elif kind == 1:
        assert text[-3] == "-", text
    else:
        assert text in {"yes", "no", "perhaps"}, text


async def load(url, clients, seconds):
    """Run clients for some seconds, and give what came of it."""
    report = Report()
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=300) as client:
        model = (await client.models.list()).data[0].id
        deadline = time.monotonic() + seconds
        await asyncio.gather(*(one_client(client, model, at, deadline, report) for at in range(clients)))
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    args = parser.parse_args()
    started = time.monotonic()
    report = asyncio.run(load(args.url, args.clients, args.seconds))
    print(report.line(time.monotonic() - started))  # noqa: T201 - a program
    for error in sorted(set(report.errors)):
        print(error)  # noqa: T201 - a program


if __name__ == "__main__":
    main()
