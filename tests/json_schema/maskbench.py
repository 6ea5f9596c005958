"""MaskBench: thousands of real schemas, each with valid and invalid instances.

    python -m tests.json_schema.maskbench [--limit N]    # totals, causes, and what is worse or stale
    python -m tests.json_schema.maskbench --update       # write the ratchet anew, from the whole of it

Instances are written with ``json.dumps(data, ensure_ascii=False)`` and decided byte by byte, with
``strict_mode=False``, the language that JSON Schema means, in either spelling. The schemas are taken in a fixed
shuffled order, so that the first N of them are a fair sample. Worker processes do the work; one that dies or hangs is
charged to the schema that it had, and replaced.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import multiprocessing
import os
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from tests.json_schema import ratchet
from tests.json_schema.decide import Refusal, decider
from tests.json_schema.ratchet import Known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from multiprocessing.process import BaseProcess

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "maskbench" / "dev.jsonl.gz"
SAMPLE = 300
SECONDS = 60.0


def ratchet_of(spelling: str) -> Path:
    """Return the ratchet of a spelling."""
    name = "maskbench" if spelling == "any" else f"maskbench_{spelling}"
    return Path(__file__).parent / "ratchet" / f"{name}.toml"


def documents() -> list[dict]:
    """Return all schemas with their instances, in the shuffled order."""
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return sorted(found, key=lambda document: hashlib.md5(document["id"].encode()).hexdigest())  # noqa: S324


def run(document: dict) -> list[Known]:
    """Decide the instances of one schema, in the spelling that it has or any, and return what is not right."""
    known = decider(document["schema"], strict_mode=False, spelling=document.get("spelling", "any"))
    if isinstance(known, Refusal):
        return [Known(document["id"], "", ratchet.REFUSED, reason=known.reason)]
    wrong: dict[str, list[str]] = {}
    for number, test in enumerate(document["tests"]):
        accepted = known.accepts(known.written(test["data"])[-1])
        if accepted != test["valid"]:
            wrong.setdefault("false accept" if accepted else "false reject", []).append(f"instance {number}")
    # What the report owns up to needs no words of ours.
    reasons = {"false reject": known.narrowing() if wrong else ""}
    return [
        Known(document["id"], "", outcome, tuple(cases), reasons.get(outcome) or ratchet.UNEXPLAINED)
        for outcome, cases in wrong.items()
    ]


@dataclass
class Worker:
    """A process that runs one document at a time."""

    process: BaseProcess
    pipe: Connection
    document: dict | None = None
    deadline: float = 0.0

    @staticmethod
    def start() -> Worker:
        # Forking would copy the locks of the compiled module.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, ours)

    def give(self, document: dict) -> None:
        self.document, self.deadline = document, time.monotonic() + SECONDS
        self.pipe.send(document)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(pipe: Connection) -> None:
    """Run the documents that come through a pipe, until it is closed."""
    while True:
        try:
            document = pipe.recv()
        except EOFError:
            return
        pipe.send(run(document))


def run_all(
    todo: Iterable[dict], jobs: int, progress: Callable[[int], None] = lambda _: None
) -> dict[str, list[Known]]:
    """Run documents in worker processes."""
    left, results = iter(todo), {}
    workers = [Worker.start() for _ in range(jobs)]
    busy = [worker for worker in workers if _give_next(worker, left)]
    while busy:
        ready = set(wait([worker.pipe for worker in busy], timeout=1.0))
        for worker in list(busy):
            if worker.pipe not in ready and time.monotonic() < worker.deadline:
                continue
            name = worker.document["id"]
            results[name] = _result(worker, is_ready=worker.pipe in ready)
            progress(len(results))
            busy.remove(worker)
            current = worker
            if not worker.process.is_alive():
                worker.stop()
                current = Worker.start()
                workers[workers.index(worker)] = current
            if _give_next(current, left):
                busy.append(current)
    for worker in workers:
        worker.stop()
    return results


def _give_next(worker: Worker, left: Iterable[dict]) -> bool:
    document = next(left, None)
    if document is not None:
        worker.give(document)
    return document is not None


def _result(worker: Worker, *, is_ready: bool) -> list[Known]:
    try:
        if is_ready:
            return worker.pipe.recv()
    except (EOFError, ConnectionError):
        worker.process.join()
        code = worker.process.exitcode
        return [Known(worker.document["id"], "", "crash", reason=f"the process ended with {code}")]
    worker.process.kill()
    worker.process.join()
    return [Known(worker.document["id"], "", "timeout", reason=f"not done after {SECONDS:.0f} s")]


def totals(results: dict[str, list[Known]]) -> str:
    """Return how many schemas have which outcome."""
    counts = Counter(known.outcome for found in results.values() for known in found)
    counts["passing"] = sum(not found for found in results.values())
    share = 100 / max(1, len(results))
    lines = [f"{count:6} {count * share:6.2f} %  {outcome}" for outcome, count in counts.most_common()]
    return "\n".join([f"{len(results):6} schemas", *lines])


def causes(results: dict[str, list[Known]]) -> str:
    """Return the reasons of refusals, with what differs from schema to schema taken out, by frequency."""
    reasons = (k.reason for found in results.values() for k in found if k.outcome == ratchet.REFUSED)
    plain = (re.sub(r"at '[^']*': |at \"[^\"]*\": ", "", reason) for reason in reasons)
    counts = Counter(re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\d[\d.e+-]*", "…", reason)[:160] for reason in plain)
    return "\n".join(f"{count:6}  {reason}" for reason, count in counts.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write the ratchet anew")
    parser.add_argument("--limit", type=int, help="only the first so many")
    parser.add_argument("--only", default="", help="only schemas whose names contain this")
    parser.add_argument("--spelling", default="any", choices=["any", "canonical"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"MaskBench is not there: {DATA}")
    whole = arguments.limit is None and not arguments.only
    if arguments.update and not whole:
        sys.exit("--update needs the whole of it")
    chosen = [document for document in documents() if arguments.only in document["id"]][: arguments.limit]
    todo = [{**document, "spelling": arguments.spelling} for document in chosen]
    started = time.monotonic()
    results = run_all(todo, arguments.jobs, show_progress)
    table = totals(results)
    sys.stdout.write(f"{table}\n\n{causes(results)}\n{time.monotonic() - started:.1f} s\n")
    found = [known for entries in results.values() for known in entries]
    if arguments.update:
        ratchet.write(
            ratchet_of(arguments.spelling), found, f"What MaskBench finds; see maskbench.py.\n\n{table}"
        )
        return 0
    known = [entry for entry in ratchet.read(ratchet_of(arguments.spelling)) if entry.where in results]
    problems = ratchet.problems(found, known)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    return bool(problems)


def show_progress(done: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done}")


if __name__ == "__main__":
    sys.exit(main())
