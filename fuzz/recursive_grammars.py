"""Masks of random recursive grammars over a real vocabulary: how long the slowest takes, and how much memory.

Small grammars of a few rules that refer to each other, with classes, optional, repeated and nested parts, are where
the ways to read a token multiply. Each is compiled and walked in a process of its own, with limits on time and memory,
so that one that exceeds them is counted and the next goes on. Of each walk some masks are compared with what
``accept_token`` takes.

    python fuzz/recursive_grammars.py --grammars 1000 --tokenizer ../shared/tokenizers/llama3_1
    python fuzz/recursive_grammars.py --seed 1234 --grammars 1 --show      # that grammar again
    python fuzz/recursive_grammars.py --known                              # grammars that once were too much

Times are of the processor, since the machine may be busy. It exits with 1 if a mask was wrong or a process was ended.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import tokenstile
from tokenstile.testing import bitmask_to_bool_mask

SHARED_TOKENIZER = Path(__file__).resolve().parents[2] / "shared" / "tokenizers" / "llama3_1"
CLASSES = [
    "[a-z]",
    "[a-z0-9 ]",
    "[a-z ]",
    "[0-9]",
    "[A-Za-z]",
    "[^\\n]",
    "[ab]",
    "[ \\n]",
    '[^\\"]',
    "[a-zA-Z_]",
]
LITERALS = ['"x"', '"a"', '"ab"', '" "', '","', '"("', '")"', '"\\n"', '"the"', '"="']
SUFFIXES = ["", "", "", "?", "?", "*", "*", "+", "+", "{2,9}", "{1,3}", "{2,}"]
KNOWN = {
    "nested stars": 'root ::= a*\na ::= [a-z0-9 ]+ b?\nb ::= [a-z ]* a? c\nc ::= [a-z0-9 ]* a? b? "x"?',
    "twice itself": 'root ::= a*\na ::= [a-z]+ a? [a-z]* a? "x"?',
    "counters in counters": "root ::= " + "(" * 6 + '"a"' + "){2,9}" * 6,
    "counted rules": 'root ::= a{2,9}\na ::= b{2,9}\nb ::= c{2,9}\nc ::= "a"{1,3} root?',
}


@dataclass
class Result:
    """What became of one grammar."""

    seed: int
    outcome: str = "walked"
    """Or refused for a limit, empty (it matches nothing), ended for its time or memory, or wrong."""
    reason: str = ""
    steps: int = 0
    compile_seconds: float = 0.0
    first_mask: float = 0.0
    worst_mask: float = 0.0
    worst_accept: float = 0.0
    tried: float = 0.0
    """All tokens tried one by one at the start."""
    memory: int = 0
    """How many bytes the process grew at its peak."""


class Writer:
    """Writes a random grammar."""

    def __init__(self, source: random.Random) -> None:
        """Draw the names of the rules."""
        self.random = source
        self.names = ["root", *"abcde"[: source.randint(1, 5)]]

    def grammar(self) -> str:
        """Return the text of a grammar of which each rule can be reached in principle."""
        return "\n".join(f"{name} ::= {self.alternatives(0)}" for name in self.names)

    def alternatives(self, depth: int) -> str:
        """Return one or two sequences."""
        count = self.random.choice([1, 1, 1, 2])
        return " | ".join(self.sequence(depth) for _ in range(count))

    def sequence(self, depth: int) -> str:
        """Return a few items."""
        return " ".join(self.item(depth) for _ in range(self.random.randint(1, 4)))

    def item(self, depth: int) -> str:
        """Return a class, a reference, a literal or a group, perhaps repeated."""
        kind = self.random.random()
        if kind < 0.4:
            atom = self.random.choice(CLASSES)
        elif kind < 0.8:
            atom = self.random.choice(self.names[1:])
        elif kind < 0.9 or depth == 2:
            atom = self.random.choice(LITERALS)
        else:
            atom = f"({self.alternatives(depth + 1)})"
        return atom + self.random.choice(SUFFIXES)


def load(folder: Path) -> tokenstile.TokenizerInfo:
    """Read a tokenizer whose ``tokenizer.json`` may be compressed."""
    packed = folder / "tokenizer.json.gz"
    if not packed.exists():
        return tokenstile.TokenizerInfo.from_file(folder)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        (copy / "tokenizer.json").write_bytes(gzip.decompress(packed.read_bytes()))
        config = folder / "tokenizer_config.json"
        if config.exists():
            (copy / config.name).write_bytes(config.read_bytes())
        return tokenstile.TokenizerInfo.from_file(copy)


def peak_bytes() -> int:
    """Return the most memory that this process has had at once since it was forked."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


class Walk:
    """A walk over the tokens that a grammar's masks allow."""

    def __init__(
        self, info: tokenstile.TokenizerInfo, compiled: tokenstile.CompiledGrammar, result: Result
    ) -> None:
        """Begin at the start."""
        self.random = random.Random(result.seed)
        self.info = info
        self.stops = set(info.stop_token_ids)
        self.matcher = tokenstile.GrammarMatcher(compiled)
        self.row = np.zeros(tokenstile.get_bitmask_shape(1, info.vocab_size), dtype=np.int32)
        self.result = result

    def mask(self) -> np.ndarray:
        """Return the tokens that fit, and take note of the time."""
        started = time.thread_time()
        self.matcher.fill_next_token_bitmask(self.row)
        seconds = time.thread_time() - started
        self.result.first_mask = self.result.first_mask or seconds
        self.result.worst_mask = max(self.result.worst_mask, seconds)
        return np.flatnonzero(bitmask_to_bool_mask(self.row, self.info.vocab_size)[0])

    def step(self) -> bool:
        """Accept a token; return whether there was one."""
        fits = [token for token in self.mask().tolist() if token not in self.stops]
        if not fits:
            return False
        started = time.thread_time()
        if not self.matcher.accept_token(self.random.choice(fits)):
            self.result.outcome, self.result.reason = "wrong", "an allowed token is refused"
            return False
        self.result.worst_accept = max(self.result.worst_accept, time.thread_time() - started)
        self.result.steps += 1
        return True

    def try_all(self) -> float:
        """Compare the mask with what is accepted; return how long it took to try all tokens."""
        allowed = set(self.mask().tolist())
        matcher = self.matcher.fork()
        started = time.thread_time()
        taken = []
        for token in range(self.info.vocab_size):
            if matcher.accept_token(token):
                taken.append(token)
                matcher.rollback()
        seconds = time.thread_time() - started
        if set(taken) != allowed:
            differ = sorted(set(taken) ^ allowed)[:5]
            where = f"after {self.result.steps} tokens"
            self.result.outcome, self.result.reason = "wrong", f"mask and tokens differ in {differ} {where}"
        return seconds


def walk(info: tokenstile.TokenizerInfo, text: str, result: Result, steps: int, checks: int) -> None:
    """Compile and walk one grammar."""
    started = time.thread_time()
    try:
        compiled = tokenstile.GrammarCompiler(info).compile_grammar(text)
    except tokenstile.TokenstileError as error:
        refused = isinstance(error, tokenstile.LimitExceededError)
        result.outcome = "refused" if refused else "empty"
        result.reason = f"{type(error).__name__}: {error}".splitlines()[0]
        return
    result.compile_seconds = time.thread_time() - started
    at = Walk(info, compiled, result)
    if checks:
        at.mask()
        result.tried = at.try_all()
    check_at = {at.random.randrange(steps) for _ in range(max(0, checks - 1))}
    for step in range(steps):
        if step in check_at:
            at.try_all()
        if result.outcome != "walked" or not at.step():
            break


def in_child(
    info: tokenstile.TokenizerInfo, text: str, result: Result, arguments: argparse.Namespace
) -> Result:
    """Walk a grammar in a process of its own, which is ended when it exceeds its limits."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            address_space = (
                int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
            )
            most = address_space + (arguments.memory << 20)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            used = int(time.process_time()) + arguments.seconds
            resource.setrlimit(resource.RLIMIT_CPU, (used, used))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            before = peak_bytes()
            walk(info, text, result, arguments.steps, arguments.checks)
            result.memory = peak_bytes() - before
            os.write(writes, json.dumps(asdict(result)).encode())
        finally:
            os._exit(0)
    os.close(writes)
    told = os.read(reads, 1 << 16)
    os.close(reads)
    _, status = os.waitpid(child, 0)
    if told:
        return Result(**json.loads(told))
    ran_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU)
    result.outcome = "time" if ran_out else "memory"
    return result


def grammars(arguments: argparse.Namespace) -> list[tuple[int, str, str]]:
    """Return the seed, name and text of each grammar to walk."""
    if arguments.known:
        return [(at, name, text) for at, (name, text) in enumerate(KNOWN.items())]
    seeds = range(arguments.seed, arguments.seed + arguments.grammars)
    return [(seed, f"seed {seed}", Writer(random.Random(seed)).grammar()) for seed in seeds]


def report(results: list[Result]) -> None:
    """Print what became of all grammars."""
    count = {
        outcome: sum(result.outcome == outcome for result in results)
        for outcome in ["walked", "empty", "refused", "time", "memory", "wrong"]
    }
    print(f"{len(results)} grammars: " + ", ".join(f"{count} {outcome}" for outcome, count in count.items()))
    walked = [result for result in results if result.outcome == "walked"]
    if not walked:
        return
    for name in ["first_mask", "worst_mask", "worst_accept", "compile_seconds"]:
        values = sorted(getattr(result, name) * 1e3 for result in walked)
        at = [values[int(share * (len(values) - 1))] for share in (0.5, 0.9, 0.99, 0.999, 1)]
        print(
            f"{name:16} ms: " + ", ".join(f"{value:.2f}" for value in at) + "   (p50, p90, p99, p99.9, most)"
        )
    print(f"memory           MB: {max(result.memory for result in walked) / 2**20:.0f} at most")
    tried = [result for result in walked if result.tried > 0]
    if tried:
        slowest = max(tried, key=lambda result: result.first_mask / result.tried)
        print(
            f"first mask beside all tokens tried one by one: {slowest.first_mask / slowest.tried:.2f} at most "
            f"({slowest.first_mask * 1e3:.1f} : {slowest.tried * 1e3:.1f} ms, seed {slowest.seed})"
        )


def main() -> int:
    """Walk grammars; return 1 if any was ended or had a wrong mask."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--grammars", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--known", action="store_true", help="the known grammars in place of random ones")
    parser.add_argument("--steps", type=int, default=200, help="tokens of a walk")
    parser.add_argument("--checks", type=int, default=2, help="masks of a walk compared with all tokens")
    parser.add_argument("--seconds", type=int, default=60, help="what a grammar may take")
    parser.add_argument("--memory", type=int, default=1024, help="by how many MiB its process may grow")
    parser.add_argument("--slow", type=float, default=0.1, help="masks that take so many seconds are told")
    parser.add_argument("--show", action="store_true", help="print each grammar")
    parser.add_argument("--tokenizer", type=Path, default=SHARED_TOKENIZER)
    arguments = parser.parse_args()
    info = load(arguments.tokenizer)
    # What any grammar needs of the vocabulary is made once, before the processes part.
    warm = tokenstile.GrammarMatcher(tokenstile.GrammarCompiler(info).compile_grammar("root ::= [a-z]*"))
    warm.fill_next_token_bitmask(np.zeros(tokenstile.get_bitmask_shape(1, info.vocab_size), dtype=np.int32))
    results = []
    for seed, name, text in grammars(arguments):
        if arguments.show:
            print(f"--- {name}\n{text}", flush=True)
        result = in_child(info, text, Result(seed), arguments)
        results.append(result)
        is_bad = (
            result.outcome in ("refused", "time", "memory", "wrong") or result.worst_mask > arguments.slow
        )
        if arguments.show or arguments.known or is_bad:
            print(f"{name}: {result}", flush=True)
    report(results)
    return int(any(result.outcome in ("time", "memory", "wrong") for result in results))


if __name__ == "__main__":
    sys.exit(main())
