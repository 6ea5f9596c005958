"""The targets of ``fuzz/targets``: coverage-guided fuzzing of the Rust crates, with libFuzzer and AddressSanitizer.

They are built by the nightly compiler, because the stable one has neither. Where there is none, this says so and does
nothing. Each target runs for its share of the time, one after the other, beginning with the inputs in ``fuzz/seeds``
and the cases of ``testdata``; what it learns is kept in ``fuzz/corpus``. A finding is left in ``fuzz/artifacts`` with
the command that shows it again, and the other targets go on.

    python fuzz/coverage_guided.py --seconds 600
    python fuzz/coverage_guided.py --target regex --seconds 60
    python fuzz/coverage_guided.py --target regex --input fuzz/artifacts/regex/crash-1234
    python fuzz/coverage_guided.py --minimise               # write fuzz/seeds anew, from what was learned

``walk`` and ``recursive`` need the vocabulary of a real model: ``--tokenizer``, a folder with a ``tokenizer.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CORPUS = HERE / "corpus"
SEEDS = HERE / "seeds"
ARTIFACTS = HERE / "artifacts"
SHARED_TOKENIZER = ROOT.parent / "shared" / "tokenizers" / "llama3_1"
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "fuzz"
INSTRUMENTED = [
    "-Zsanitizer=address",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
]
# What an input may take by the clock and in memory, however the machine is: a hang, or growth without bound. What each
# call may take of the processor is counted in fuzz/src/account.rs.
HANG_SECONDS = 300
MOST_MEBIBYTES = 4096
MOST_SEED_BYTES = 2048
"""No longer ones are kept in the tree."""
MOST_SEEDS_BYTES = 48 << 10
"""So much is kept of each target."""

Case: TypeAlias = dict[str, object]


@dataclass(frozen=True)
class Target:
    """What is fuzzed."""

    name: str
    fields: dict[str, bytes]
    """Which fields of the cases in ``testdata`` are inputs, and what stands before them."""
    is_walk: bool = False
    longest: int = 4096
    share: int = 1
    """One of so many cases is enough to begin with, where each takes long."""


TARGETS = [
    Target("regex", {"regex": b"\0\0"}),
    Target("ebnf", {"ebnf": b""}),
    Target("gbnf", {"gbnf": b"", "ebnf": b""}),
    Target("lark", {"lark": b""}),
    Target("json_schema", {"schema": b"\0"}),
    Target("structural_tag", {"structural_tag": b"\0"}, longest=8192),
    Target("tokenizer_json", {}),
    Target("tiktoken", {}),
    Target("saved", {}),
    Target(
        "walk",
        {
            "ebnf": b"\0\0\0",
            "schema": b"\1\0\0",
            "regex": b"\2\0\0",
            "structural_tag": b"\3\0\0",
            "lark": b"\4\0\0",
        },
        is_walk=True,
        share=16,
    ),
    Target("recursive", {}, is_walk=True, longest=512),
]


def nightly() -> tuple[list[str], str] | None:
    """Return how to call the nightly cargo, and the machine that it compiles for; none if there is none."""
    rustup = shutil.which("rustup")
    if rustup is None:
        return None
    found = subprocess.run(
        [rustup, "run", "nightly", "rustc", "-vV"], capture_output=True, text=True, check=False
    )
    host = next((line.split()[1] for line in found.stdout.splitlines() if line.startswith("host:")), None)
    return None if found.returncode or host is None else ([rustup, "run", "nightly", "cargo"], host)


def build(cargo: list[str], host: str) -> Path:
    """Build all targets; return the folder in which they are."""
    # With a named target the flags are for what runs, and not for what builds it.
    flags = " ".join([os.environ.get("RUSTFLAGS", ""), *INSTRUMENTED]).strip()
    command = [*cargo, "build", "--release", "--locked", "--target", host, "--target-dir", str(BUILD)]
    command += ["--manifest-path", str(HERE / "Cargo.toml")]
    subprocess.run(command, check=True, env={**os.environ, "RUSTFLAGS": flags})
    return BUILD / host / "release"


def cases() -> Iterator[Case]:
    """Give all cases of ``testdata``."""
    for path in sorted((ROOT / "testdata").rglob("*.toml")):
        yield from tomllib.loads(path.read_text(encoding="utf-8")).get("test", [])


def learned_file(target: Target) -> Path:
    """Return the file of what was learned: a line for each input, its bytes as the characters of a string of JSON."""
    return SEEDS / f"{target.name}.jsonl"


def known_inputs(target: Target) -> list[bytes]:
    """Return the inputs that the cases of ``testdata`` are."""
    return [
        before + text.encode()
        for case in cases()
        for field, before in target.fields.items()
        if isinstance(text := case.get(field), str)
    ]


def fill(target: Target, folder: Path) -> None:
    """Write the inputs that a target begins with: those written by hand, those learned, the cases of ``testdata``."""
    folder.mkdir(parents=True, exist_ok=True)
    inputs = known_inputs(target)[:: target.share]
    written = SEEDS / target.name
    inputs += [path.read_bytes() for path in sorted(written.iterdir())] if written.exists() else []
    learned = learned_file(target)
    lines = learned.read_text(encoding="ascii").splitlines() if learned.exists() else []
    inputs += [json.loads(line).encode("latin-1") for line in lines]
    for content in inputs:
        if len(content) <= target.longest:
            path = folder / hashlib.sha1(content, usedforsecurity=False).hexdigest()
            path.write_bytes(content)


def surroundings(tokenizer: Path) -> dict[str, str]:
    """Return the environment that targets run in."""
    options = f"allocator_may_return_null=0:abort_on_error=1:{os.environ.get('ASAN_OPTIONS', '')}"
    return {**os.environ, "ASAN_OPTIONS": options, "TOKENSTILE_FUZZ_TOKENIZER": str(tokenizer)}


def command(binary: Path, target: Target) -> list[str]:
    """Return how a target is called, up to its inputs."""
    artifacts = ARTIFACTS / target.name
    artifacts.mkdir(parents=True, exist_ok=True)
    dictionary = HERE / "dictionaries" / f"{target.name}.dict"
    limits = [f"-timeout={HANG_SECONDS}", f"-rss_limit_mb={MOST_MEBIBYTES}", f"-max_len={target.longest}"]
    named = [f"-dict={dictionary}"] if dictionary.exists() else []
    # Few inputs are run where each is walked, so they do not begin with the shortest.
    named += ["-len_control=0"] if target.is_walk else []
    return [str(binary / target.name), *limits, *named, f"-artifact_prefix={artifacts}/"]


def last_lines(log: Path, count: int) -> str:
    """Return the end of what a target printed, without its progress."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))[-count * 120 :]


def run(binary: Path, target: Target, seconds: float, tokenizer: Path) -> bool:
    """Let a target run; return whether it found nothing."""
    corpus = CORPUS / target.name
    fill(target, corpus)
    log = ARTIFACTS / f"{target.name}.log"
    call = [*command(binary, target), f"-max_total_time={max(1, round(seconds))}", "-print_final_stats=1"]
    started = os.times()
    with log.open("wb") as output:
        ended = subprocess.run(
            [*call, str(corpus)],
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            env=surroundings(tokenizer),
        )
    times = os.times()
    used = times.children_user + times.children_system - started.children_user - started.children_system
    text = log.read_text(encoding="utf-8", errors="replace")
    runs = next(
        (line.split()[-1] for line in text.splitlines() if "number_of_executed_units" in line), "some"
    )
    print(f"{target.name:15} {runs} inputs, {used:.0f} s of the processor", flush=True)
    if ended.returncode:
        print(f"a finding in {target.name}:\n{last_lines(log, 60)}", flush=True)
        print(
            f"to see it again: python fuzz/coverage_guided.py --target {target.name} --input FILE", flush=True
        )
    return ended.returncode == 0


def minimise(binary: Path, target: Target, tokenizer: Path) -> None:
    """Write the seeds of a target anew: as few inputs as reach what all that are known do, the smaller ones first."""
    corpus = CORPUS / target.name
    fill(target, corpus)
    SEEDS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        call = [*command(binary, target), "-merge=1", folder, str(corpus)]
        subprocess.run(call, check=True, env=surroundings(tokenizer), stderr=subprocess.DEVNULL)
        known = set(known_inputs(target)[:: target.share])
        found = sorted(
            (path.read_bytes() for path in Path(folder).iterdir()), key=lambda text: (len(text), text)
        )
    new = [content for content in found if content not in known and len(content) <= MOST_SEED_BYTES]
    lines = [json.dumps(content.decode("latin-1")) for content in new]
    # Of too many, some of each length.
    every = -(-sum(map(len, lines)) // MOST_SEEDS_BYTES) or 1
    learned_file(target).write_text("\n".join([*lines[::every], ""]), encoding="ascii")
    print(
        f"{target.name:15} {len(found)} inputs, {len(new)} of them not in testdata, {len(lines[::every])} kept"
    )


def chosen(names: list[str], tokenizer: Path) -> list[Target]:
    """Return the targets with these names, or all; those that walk only where there is a vocabulary for it."""
    targets = [target for target in TARGETS if not names or target.name in names]
    is_there = any((tokenizer / name).exists() for name in ("tokenizer.json", "tokenizer.json.gz"))
    if not is_there:
        left_out = ", ".join(target.name for target in targets if target.is_walk)
        if left_out:
            print(
                f"left out: {left_out}. {tokenizer} has no tokenizer.json; --tokenizer names a folder with one"
            )
    return [target for target in targets if is_there or not target.is_walk]


def main() -> int:
    """Run the targets; return 1 if something was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="for all targets together")
    parser.add_argument("--target", action="append", default=[], choices=[target.name for target in TARGETS])
    parser.add_argument("--input", type=Path, default=None, help="run a target with this input only")
    parser.add_argument("--minimise", action="store_true", help="write the seeds anew")
    parser.add_argument("--tokenizer", type=Path, default=SHARED_TOKENIZER)
    arguments = parser.parse_args()
    found = nightly()
    if found is None:
        print("no coverage-guided fuzzing: it needs the nightly compiler (rustup toolchain install nightly)")
        return 0
    targets = chosen(arguments.target, arguments.tokenizer)
    binary = build(*found)
    if arguments.input is not None:
        call = [*command(binary, targets[0]), str(arguments.input)]
        return subprocess.run(call, check=False, env=surroundings(arguments.tokenizer)).returncode
    if arguments.minimise:
        for target in targets:
            minimise(binary, target, arguments.tokenizer)
        return 0
    ends = time.monotonic() + arguments.seconds
    is_clean = True
    for left, target in zip(range(len(targets), 0, -1), targets, strict=True):
        share = (ends - time.monotonic()) / left
        is_clean &= run(binary, target, share, arguments.tokenizer)
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
