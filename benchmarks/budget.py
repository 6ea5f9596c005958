"""What a budget of tokens costs: masks and tokens without one, far from its end, and near it.

    python benchmarks/budget.py [--schemas N]
    python benchmarks/budget.py --sweep [--every K] [--from N] [--seconds S]

The instances of MaskBench, from the folder beside the checkout, are fed token by token with Llama 3.1's tokenizer.
Tables are filled by a run before. Times are of the processor, so that a busy machine disturbs them less. Near the end
of a budget the texts are random, and every one of them is checked to be complete; nothing was filled before there.
The second table has schemas and grammars by their shape, with budgets from the least on.

``--sweep`` goes through all schemas of MaskBench, in both strict modes, with budgets of the least number of tokens
and 0, 1, 5, 20 and 150 more: along an instance as far as that fits, and at random. Nothing was filled before. It tells
the percentiles of all masks, how many took longer than 20 ms, and where the slowest were.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tokenizers

import tokenstile as xgr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHARED = Path(__file__).resolve().parents[2] / "shared"
DATA = SHARED / "maskbench" / "dev.jsonl.gz"
TOKENIZER = SHARED / "tokenizers" / "llama3_1"
FAR = 4096
NEAR = 20
MARGINS = (0, 1, 2, 5, 10, 20, 40)
SWEPT = (0, 1, 5, 20, 150)
SLOW = 20_000.0
LONGEST = 400

WORDS = {"type": "string"}
SHAPES: dict[str, dict[str, object] | str] = {
    "strings": {"type": "object", "properties": {"a": WORDS, "b": WORDS}, "required": ["a", "b"]},
    "records": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "text": WORDS},
            "required": ["id", "text"],
        },
        "minItems": 2,
    },
    "bounded strings": {
        "type": "object",
        "properties": {
            "a": {"type": "string", "maxLength": 40},
            "b": {"type": "string", "minLength": 5, "maxLength": 200},
        },
        "required": ["a", "b"],
    },
    "formats": {
        "type": "object",
        "properties": {
            "mail": {"type": "string", "format": "email"},
            "word": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
        },
        "required": ["mail", "word"],
    },
    "choices": {
        "type": "object",
        "properties": {
            "state": {"enum": ["active", "inactive", "pending"]},
            "day": {"type": "string", "format": "date"},
        },
        "required": ["state", "day"],
    },
    "any object": {"type": "object"},
    "three keys of any name": {"type": "object", "minProperties": 3, "additionalProperties": WORDS},
    "names that must come among any others": {
        "type": "object",
        "properties": dict.fromkeys(
            ("manufacturer", "model", "update identifier", "instructions", "files"), WORDS
        ),
        "required": ["manufacturer", "model", "update identifier", "instructions", "files"],
        "additionalProperties": True,
    },
    "long texts and short ones": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 1024},
            "note": {"type": "string", "maxLength": 32767},
        },
        "required": ["title"],
        "additionalProperties": {"type": "string", "maxLength": 255},
    },
    "items that differ": {
        "type": "object",
        "properties": {"tags": {"type": "array", "uniqueItems": True}, "name": WORDS},
        "required": ["name"],
    },
    "a thought, then an answer": """
root ::= "<think>" thought "</think>" "{" "\\"answer\\":\\"" [^"\\\\]* "\\"}"
thought[max_tokens=30] ::= [^<]*
""",
    "prose": 'root ::= [a-zA-Z .,]* "END"',
}

Workload = list[tuple[xgr.CompiledGrammar, list[list[int]]]]


class Times:
    """Microseconds of masks and of tokens."""

    def __init__(self) -> None:
        self.mask: list[float] = []
        self.accept: list[float] = []

    def follow(self, matcher: xgr.GrammarMatcher, row: np.ndarray, choose: Callable[[int], int]) -> None:
        """Take tokens until the matcher has terminated, or there are no more."""
        for step in range(LONGEST):
            began = time.process_time_ns()
            matcher.fill_next_token_bitmask(row)
            filled = time.process_time_ns()
            token = choose(step)
            if token < 0:
                return
            chosen = time.process_time_ns()
            if not matcher.accept_token(token):
                sys.exit(f"token {token} does not fit")
            self.accept.append((time.process_time_ns() - chosen) / 1e3)
            self.mask.append((filled - began) / 1e3)
            if matcher.is_terminated():
                return


def read_workload(count: int, info: xgr.TokenizerInfo, file: Path) -> Workload:
    """Compile schemas, each with the tokens of its instances that are valid."""
    encoder = tokenizers.Tokenizer.from_file(str(file))
    compiler = xgr.GrammarCompiler(info)
    workload: Workload = []
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            if len(workload) == count:
                break
            entry = json.loads(line)
            texts = [json.dumps(test["data"], ensure_ascii=False) for test in entry["tests"] if test["valid"]]
            try:
                compiled = compiler.compile_json_schema(entry["schema"], strict_mode=False, any_order=True)
                xgr.GrammarMatcher(compiled, max_tokens=FAR)
            except xgr.TokenstileError:
                continue
            instances = [encoder.encode(text, add_special_tokens=False).ids[:LONGEST] for text in texts]
            workload.append((compiled, instances))
    return workload


def given(workload: Workload, row: np.ndarray, max_tokens: int | None) -> Times:
    """Follow the instances, twice: the first time fills the tables."""
    for _ in range(2):
        times = Times()
        for compiled, instances in workload:
            for tokens in instances:
                ahead = iter([*tokens, -1])
                times.follow(xgr.GrammarMatcher(compiled, max_tokens=max_tokens), row, lambda _: next(ahead))  # noqa: B023
    return times


def near(grammars: list[xgr.CompiledGrammar], margins: tuple[int, ...], row: np.ndarray, size: int) -> Times:
    """Follow random texts whose budgets are little more than the least."""
    times, chance = Times(), random.Random(1)

    def any_token(_: int) -> int:
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")[:size]
        return int(chance.choice(np.flatnonzero(bits)))

    for compiled in grammars:
        needed = xgr.GrammarMatcher(compiled, max_tokens=FAR).tokens_needed or 0
        for margin in margins:
            matcher = xgr.GrammarMatcher(compiled, max_tokens=needed + margin)
            times.follow(matcher, row, any_token)
            if not matcher.is_terminated():
                sys.exit("a text was cut off")
    return times


class Sweep:
    """Masks near the end of budgets, over many schemas."""

    def __init__(self, info: xgr.TokenizerInfo, file: Path) -> None:
        self._size = info.vocab_size
        self._row = np.zeros(xgr.get_bitmask_shape(1, self._size), dtype=np.int32)
        self._encoder = tokenizers.Tokenizer.from_file(str(file))
        self._compiler = xgr.GrammarCompiler(info, cache_enabled=False)
        self._chance = random.Random(1)
        self.times: dict[str, list[float]] = {"random": [], "replayed": []}
        self.slowest: list[tuple[float, str]] = []
        self.first: list[float] = []
        """Milliseconds of the first matcher with a budget, which finds what all rules cost."""
        self.refused: dict[str, int] = {}

    def run(self, place: int, entry: dict[str, object], strict: bool) -> None:
        """Measure one schema."""
        try:
            compiled = self._compiler.compile_json_schema(entry["schema"], strict_mode=strict)
            began = time.thread_time_ns()
            needed = xgr.GrammarMatcher(compiled, max_tokens=1 << 20).tokens_needed or 0
        except xgr.TokenstileError as error:
            kind = type(error).__name__
            self.refused[kind] = self.refused.get(kind, 0) + 1
            return
        self.first.append((time.thread_time_ns() - began) / 1e6)
        texts = [json.dumps(test["data"], ensure_ascii=False) for test in entry["tests"] if test["valid"]]  # type: ignore[attr-defined]
        ways = [("random", [])]
        if texts:
            ways.append(("replayed", self._encoder.encode(texts[0], add_special_tokens=False).ids))
        for kind, tokens in ways:
            for more in SWEPT:
                matcher = xgr.GrammarMatcher(compiled, max_tokens=needed + more)
                self._walk(matcher, tokens, kind, f"schema {place}, strict {strict}, {kind}, {more} more")

    def _walk(self, matcher: xgr.GrammarMatcher, tokens: list[int], kind: str, name: str) -> None:
        """Follow tokens as far as they fit, then any, to the end."""
        ahead = iter(tokens)
        for step in range(matcher.tokens_left or 0):
            began = time.thread_time_ns()
            matcher.fill_next_token_bitmask(self._row)
            taken = (time.thread_time_ns() - began) / 1e3
            self.times[kind].append(taken)
            if taken > SLOW / 4:
                left, needed = matcher.tokens_left, matcher.tokens_needed
                self.slowest.append((taken, f"{name}, step {step}: {left} tokens left, {needed} needed"))
            wished = next(ahead, None)
            if wished is None or not matcher.accept_token(wished):
                ahead = iter(())
                bits = np.unpackbits(self._row.view(np.uint8), bitorder="little")[: self._size]
                matcher.accept_token(int(self._chance.choice(np.flatnonzero(bits))))
            if matcher.is_terminated():
                return
        sys.exit(f"a text was cut off: {name}")

    def report(self) -> Iterator[str]:
        """Tell what was measured."""
        yield "| mask, 0 to 150 tokens left over | masks | p50 | p90 | p99 | p99.9 | max | above 20 ms |"
        yield "|---|---:|---:|---:|---:|---:|---:|---:|"
        everything = [one for times in self.times.values() for one in times]
        for kind, times in (*self.times.items(), ("all", everything)):
            if times:
                points = " | ".join(
                    f"{value:,.1f}" for value in np.percentile(times, [50, 90, 99, 99.9, 100])
                )
                yield f"| {kind} | {len(times):,} | {points} | {sum(one > SLOW for one in times)} |"
        if self.first:
            points = ", ".join(f"{value:.2f}" for value in np.percentile(self.first, [50, 99, 100]))
            yield f"the first matcher with a budget, ms, p50, p99, max: {points}; refused: {self.refused}"
        for taken, name in sorted(self.slowest, reverse=True)[:20]:
            yield f"{taken / 1e3:8.2f} ms  {name}"


def sweep(info: xgr.TokenizerInfo, file: Path, options: argparse.Namespace) -> Iterator[str]:
    """Go through the schemas of MaskBench."""
    all_of_it, began, place = Sweep(info, file), time.monotonic(), 0
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for place, line in enumerate(lines):
            if time.monotonic() - began > options.seconds:
                break
            if place >= options.start and (place - options.start) % options.every == 0:
                entry = json.loads(line)
                for strict in (True, False):
                    all_of_it.run(place, entry, strict)
    yield f"schemas {options.start} to {place}, every {options.every}, microseconds of processor time"
    yield from all_of_it.report()


def table_row(name: str, times: list[float]) -> str:
    """Return the percentiles of times as a row of a table."""
    return (
        f"| {name} | "
        + " | ".join(f"{value:,.1f}" for value in np.percentile(times, [50, 90, 99, 100]))
        + " |"
    )


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schemas", type=int, default=60, help="how many schemas (default: 60)")
    parser.add_argument("--sweep", action="store_true", help="go through all schemas near the end of budgets")
    parser.add_argument("--every", type=int, default=1, help="sweep every so many schemas")
    parser.add_argument("--from", dest="start", type=int, default=0, help="sweep from this schema on")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="sweep for so long")
    options = parser.parse_args()
    count = options.schemas
    for path in (DATA, TOKENIZER):
        if not path.exists():
            sys.exit(f"this benchmark needs {path}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_bytes(gzip.decompress((TOKENIZER / "tokenizer.json.gz").read_bytes()))
        info = xgr.TokenizerInfo.from_file(file)
        if options.sweep:
            print("\n".join(sweep(info, file, options)))
            return
        workload = read_workload(count, info, file)
    row = np.zeros(xgr.get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
    for line in (*report(workload, row, info.vocab_size), *report_shapes(info, row)):
        print(line)


def report_shapes(info: xgr.TokenizerInfo, row: np.ndarray) -> Iterator[str]:
    """Measure masks near the end of budgets, shape by shape."""
    compiler = xgr.GrammarCompiler(info)
    yield f"\n| mask, up to {MARGINS[-1]} tokens more than the least budget | p50 | p90 | p99 | max |"
    yield "|---|---:|---:|---:|---:|"
    for name, shape in SHAPES.items():
        is_text = isinstance(shape, str)
        compiled = compiler.compile_grammar(shape) if is_text else compiler.compile_json_schema(shape)
        yield table_row(name, near([compiled], MARGINS, row, info.vocab_size).mask)


def report(workload: Workload, row: np.ndarray, size: int) -> Iterator[str]:
    """Measure all that the first table has."""
    far, free = given(workload, row, FAR), given(workload, row, None)
    grammars = [compiled for compiled, _ in workload]
    yield f"{len(workload)} schemas, {len(free.mask)} tokens of their instances, microseconds of processor time"
    yield "\n| | p50 | p90 | p99 | max |\n|---|---:|---:|---:|---:|"
    yield table_row("mask, no budget", free.mask)
    yield table_row(f"mask, `max_tokens={FAR}`", far.mask)
    yield table_row("`accept_token`, no budget", free.accept)
    yield table_row(f"`accept_token`, `max_tokens={FAR}`", far.accept)
    yield table_row(
        f"mask, {NEAR} tokens more than the least budget", near(grammars, (NEAR,), row, size).mask
    )


if __name__ == "__main__":
    main()
