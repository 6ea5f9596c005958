"""JSON Schema beside the peers: the same schemas, instances and tokenizer through several engines, in one table.

    python benchmarks/json_schema.py [--schemas N] [--engines NAME ...] [--seconds S] [--output FILE]

It calls `maskbench.py` of the folder beside the checkout, which feeds every instance of MaskBench token by token
through Python, one thread, and times each mask and each token. An engine that is not installed is left out, and said
so. All engines are run one after the other, on an otherwise idle machine, or the figures mean little.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import machine

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared"
SCRIPT = SHARED / "bench" / "maskbench.py"
DATA = SHARED / "maskbench" / "dev.jsonl.gz"
TOKENIZER = SHARED / "tokenizers" / "llama3_1"
RESULTS = REPOSITORY / "benchmarks" / "results"


@dataclass(frozen=True)
class Engine:
    """An engine: its name here, the name that the script knows it by, and the module that it needs."""

    name: str
    argument: str
    module: str


ENGINES = [
    Engine("tokenstile", "xgr:tokenstile", "tokenstile"),
    Engine("llguidance", "llg", "llguidance"),
    Engine("glrmask", "glr", "glrmask"),
    Engine("xgrammar", "xgr", "xgrammar"),
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schemas", type=int, default=600, help="how many schemas; 0 is all (default: 600)")
    parser.add_argument("--engines", nargs="+", choices=[engine.name for engine in ENGINES], metavar="NAME")
    parser.add_argument("--seconds", type=int, default=1800, help="the most that one engine may take")
    parser.add_argument("--output", type=Path, help="write the table to this file too")
    arguments = parser.parse_args()
    for path in (SCRIPT, DATA, TOKENIZER):
        if not path.exists():
            sys.exit(f"this benchmark needs {path}")
    wanted = [engine for engine in ENGINES if not arguments.engines or engine.name in arguments.engines]
    table = compare(wanted, arguments.schemas, arguments.seconds)
    print(table)
    if arguments.output:
        arguments.output.write_text(table + "\n", encoding="utf-8")


def compare(engines: list[Engine], schemas: int, seconds: int) -> str:
    """Run the engines that are installed, and return the table."""
    RESULTS.mkdir(exist_ok=True)
    done = []
    for engine in engines:
        if importlib.util.find_spec(engine.module) is None:
            print(f"{engine.name}: not installed", file=sys.stderr)
            continue
        path = RESULTS / f"{engine.name}.jsonl"
        started = time.monotonic()
        run(engine, path, schemas, seconds)
        print(f"{engine.name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
        explain(path)
        done.append(path)
    about = json.dumps(machine.describe(), indent=1)
    (RESULTS / "json_schema.json").write_text(about + "\n", encoding="utf-8")
    report = [sys.executable, str(SCRIPT), "report", *map(str, done)]
    return subprocess.run(report, check=True, capture_output=True, text=True).stdout.rstrip()


def run(engine: Engine, path: Path, schemas: int, seconds: int) -> None:
    command = [sys.executable, str(SCRIPT), "run", engine.argument, "--data", str(DATA)]
    command += ["--tokenizer", str(TOKENIZER), "--limit", str(schemas), "--budget", str(seconds)]
    subprocess.run([*command, "--out", str(path)], check=True)


def explain(path: Path) -> None:
    """Stop if an engine failed in the same way for every schema, for then it is the setup that failed."""
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if all("crash" in result for result in results):
        sys.exit(f"{path.stem} failed on every schema: run maskbench.py with --verbose to see why")


if __name__ == "__main__":
    main()
