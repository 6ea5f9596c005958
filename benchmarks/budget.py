"""What a budget of tokens costs: masks and tokens without one, far from its end, and near it.

    python benchmarks/budget.py [--schemas N]

The instances of MaskBench, from the folder beside the checkout, are fed token by token with Llama 3.1's tokenizer.
Tables are filled by a run before. Times are of the processor, so that a busy machine disturbs them less. Near the end
of a budget the texts are random, and every one of them is checked to be complete.
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
LONGEST = 400

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


def near(workload: Workload, row: np.ndarray, size: int) -> Times:
    """Follow random texts whose budget is little more than the least."""
    times, chance = Times(), random.Random(1)

    def any_token(_: int) -> int:
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")[:size]
        return int(chance.choice(np.flatnonzero(bits)))

    for compiled, _ in workload:
        needed = xgr.GrammarMatcher(compiled, max_tokens=FAR).tokens_needed or 0
        matcher = xgr.GrammarMatcher(compiled, max_tokens=needed + NEAR)
        times.follow(matcher, row, any_token)
        if not matcher.is_terminated():
            sys.exit("a text was cut off")
    return times


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
    count = parser.parse_args().schemas
    for path in (DATA, TOKENIZER):
        if not path.exists():
            sys.exit(f"this benchmark needs {path}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_bytes(gzip.decompress((TOKENIZER / "tokenizer.json.gz").read_bytes()))
        info = xgr.TokenizerInfo.from_file(file)
        workload = read_workload(count, info, file)
    row = np.zeros(xgr.get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
    for line in report(workload, row, info.vocab_size):
        print(line)


def report(workload: Workload, row: np.ndarray, size: int) -> Iterator[str]:
    """Measure all that the table has."""
    far, free = given(workload, row, FAR), given(workload, row, None)
    yield f"{len(workload)} schemas, {len(free.mask)} tokens of their instances, microseconds of processor time"
    yield "\n| | p50 | p90 | p99 | max |\n|---|---:|---:|---:|---:|"
    yield table_row("mask, no budget", free.mask)
    yield table_row(f"mask, `max_tokens={FAR}`", far.mask)
    yield table_row("`accept_token`, no budget", free.accept)
    yield table_row(f"`accept_token`, `max_tokens={FAR}`", far.accept)
    yield table_row(f"mask, {NEAR} tokens more than the least budget", near(workload, row, size).mask)


if __name__ == "__main__":
    main()
