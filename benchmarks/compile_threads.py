"""Several large grammars at once: how compiling and first masks scale with threads.

    python benchmarks/compile_threads.py [--threads N ...] [--schemas N] [--runs N] [--without-refused]

The largest schemas of MaskBench are compiled, and each gets its first mask, by so many threads of one process that take
them from one list. Each run is a process of its own, so that nothing is known from the one before. Beside the time it
says what each thread did with it, as the system accounts for it: running, waiting for a processor, and blocked, by
locks and by the GIL. On a machine that is busy with other work only the first and the last mean anything: ``alone`` is
what the run would take if no thread had to wait for a processor. ``longest`` is the one schema that takes the most,
which bounds what any number of threads can do: with ``--without-refused`` schemas that are refused, and take longest,
are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import tokenstile as xgr

SHARED = Path(__file__).resolve().parents[2] / "shared"
DATA = SHARED / "maskbench" / "dev.jsonl.gz"
TOKENIZER = SHARED / "tokenizers" / "llama3_1" / "tokenizer.json.gz"


def largest_schemas(count: int) -> list[str]:
    """Return the texts of the largest schemas, the largest first."""
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        texts = [json.dumps(json.loads(line)["schema"]) for line in lines]
    return sorted(texts, key=len, reverse=True)[:count]


def read_tokenizer() -> xgr.TokenizerInfo:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_bytes(gzip.decompress(TOKENIZER.read_bytes()))
        return xgr.TokenizerInfo.from_file(file, stop_token_ids=[128_009])


class Worker(threading.Thread):
    """Compiles schemas from a list that it shares with others."""

    def __init__(self, compiler: xgr.GrammarCompiler, todo: Any, lock: threading.Lock) -> None:
        super().__init__()
        self.compiler, self.todo, self.lock = compiler, todo, lock
        self.running = self.queued = self.wall = self.longest = 0.0
        self.refused = 0

    def run(self) -> None:
        size = xgr.get_bitmask_shape(1, self.compiler.tokenizer_info.vocab_size)
        mask = np.zeros(size, dtype=np.int32)
        ran, waited = _schedule()
        started = time.perf_counter()
        while True:
            with self.lock:
                text = next(self.todo, None)
            if text is None:
                break
            began = time.thread_time()
            try:
                matcher = xgr.GrammarMatcher(self.compiler.compile_json_schema(text))
            except xgr.TokenstileError:
                self.refused += 1
            else:
                matcher.fill_next_token_bitmask(mask)
                del matcher
            self.longest = max(self.longest, time.thread_time() - began)
        self.wall = time.perf_counter() - started
        ran_now, waited_now = _schedule()
        self.running, self.queued = ran_now - ran, waited_now - waited


def _schedule() -> tuple[float, float]:
    """Return the seconds that this thread has run, and waited for a processor."""
    ran, waited, _ = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
    return int(ran) * 1e-9, int(waited) * 1e-9


def accepted(texts: list[str]) -> list[str]:
    """Return the schemas that compile, for a vocabulary that shares nothing with the one that is measured."""
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "</s>"]), cache_enabled=False)
    kept = []
    for text in texts:
        try:
            compiler.compile_json_schema(text)
        except xgr.TokenstileError:
            continue
        kept.append(text)
    return kept


def run_once(threads: int, schemas: int, *, without_refused: bool) -> dict[str, float]:
    """Compile everything once, in this process."""
    texts, info = largest_schemas(schemas), read_tokenizer()
    if without_refused:
        texts = accepted(texts)
    compiler = xgr.GrammarCompiler(info, cache_enabled=False, max_threads=threads)
    todo, lock = iter(texts), threading.Lock()
    workers = [Worker(compiler, todo, lock) for _ in range(threads)]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {
        "wall": time.perf_counter() - started,
        "running": sum(worker.running for worker in workers),
        "blocked": sum(worker.wall - worker.running - worker.queued for worker in workers),
        "alone": max(worker.wall - worker.queued for worker in workers),
        "longest": max(worker.longest for worker in workers),
        "refused": sum(worker.refused for worker in workers),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--schemas", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--without-refused", action="store_true")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        found_once = run_once(options.threads[0], options.schemas, without_refused=options.without_refused)
        print(json.dumps(found_once))
        return
    names = ("wall", "running", "blocked", "alone", "longest", "refused")
    found: dict[int, list[dict[str, float]]] = {count: [] for count in options.threads}
    for _ in range(options.runs):
        for count in options.threads:
            command = [sys.executable, "-W", "ignore", __file__, "--once", "--threads", str(count)]
            command += ["--schemas", str(options.schemas)]
            if options.without_refused:
                command.append("--without-refused")
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[count].append(json.loads(done.stdout))
    print(f"{'threads':>8}" + "".join(f"{name:>10}" for name in names) + f"{'speed':>10}")
    base = statistics.median(run["alone"] for run in found[options.threads[0]])
    for count, runs in found.items():
        middle = {name: statistics.median(run[name] for run in runs) for name in names}
        print(
            f"{count:>8}"
            + "".join(f"{middle[name]:>10.3f}" for name in names)
            + f"{base / middle['alone']:>9.2f}x"
        )


if __name__ == "__main__":
    main()
