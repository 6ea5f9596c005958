"""How much of real JSON a grammar forces: the bytes and tokens that need no model.

    make bench-forced
    python benchmarks/forced.py [--every N] [--engines NAME ...] [--output FILE]

The valid instances of MaskBench, as ``json.dumps`` writes them with its default separators, go through the matchers of
their schemas, strict. At each byte the engine is asked for the text that must come, by ``find_jump_forward_string``:
the bytes in such texts are forced, and so is a token of which all bytes are. Everything is counted in two layouts: with
no white space but in the separators (``any_whitespace=False``), and with the white space that is the default. Only
instances that all engines accept are counted. Engines that are not installed are left out.

The matchers have a vocabulary of the 256 bytes, for what is forced depends on the grammar alone, and grammars compile
sooner for it. The tokens are those that Llama-3.1's tokenizer writes. Each engine runs in a process of its own, which
is ended where it takes too long for a schema.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import itertools
import json
import queue
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHARED = Path(__file__).resolve().parents[2] / "shared"
DATA = SHARED / "maskbench" / "dev.jsonl.gz"
TOKENIZER = SHARED / "tokenizers" / "llama3_1" / "tokenizer.json.gz"
ENGINES = ("tokenstile", "xgrammar")
LAYOUTS = {"any_whitespace=False": False, "default white space": True}
SECONDS_FOR_A_SCHEMA = 20
STOP = 256

Totals = dict[str, dict[str, dict[str, list[int]]]]
"""By layout, collection and engine: how many instances, bytes, forced bytes, tokens and forced tokens."""


def schemas(every: int) -> list[dict[str, Any]]:
    """Read the schemas with their instances: each of them, or one in so many."""
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for at, line in enumerate(lines) if at % every == 0]


# What one process does.


class Instances:
    """The texts of instances, and where their tokens begin."""

    def __init__(self) -> None:
        import tokenizers  # noqa: PLC0415 - other parts of this program do without

        with gzip.open(TOKENIZER, "rt", encoding="utf-8") as file:
            self._tokenizer = tokenizers.Tokenizer.from_str(file.read())

    def of(self, entry: dict[str, Any]) -> Iterator[tuple[bytes, list[int]]]:
        """Give the bytes of each valid instance, and the lengths of its tokens."""
        for test in entry["tests"]:
            if test["valid"]:
                text = json.dumps(test["data"], ensure_ascii=False)
                yield text.encode("utf-8", "surrogatepass"), self._token_lengths(text)

    def _token_lengths(self, text: str) -> list[int]:
        # Each character of a token of this kind stands for one byte.
        lengths = [len(token) for token in self._tokenizer.encode(text, add_special_tokens=False).tokens]
        assert sum(lengths) == len(text.encode())
        return lengths


class Forcing:
    """Asks one engine what must come."""

    def __init__(self, name: str) -> None:
        self._engine = engine = importlib.import_module(name)
        info = engine.TokenizerInfo(
            [bytes([byte]) for byte in range(256)] + [b"</s>"], engine.VocabType.RAW, stop_token_ids=[STOP]
        )
        self._compiler = engine.GrammarCompiler(info, max_threads=1)

    def compile(self, schema: Any, *, any_whitespace: bool) -> Any:
        """Compile a schema; gives nothing where the engine does not take it."""
        try:
            return self._compiler.compile_json_schema(
                json.dumps(schema), any_whitespace=any_whitespace, strict_mode=True
            )
        except Exception:  # noqa: BLE001 - engines raise what they like
            return None

    def forced(self, compiled: Any, text: bytes) -> list[bool] | None:
        """Tell of each byte whether it is forced; nothing where the text is not accepted."""
        matcher = self._engine.GrammarMatcher(compiled)
        forced: list[bool] = []
        while len(forced) < len(text):
            must = matcher.find_jump_forward_string().encode("utf-8", "surrogateescape")
            piece = must or text[len(forced) : len(forced) + 1]
            if not text.startswith(piece, len(forced)) or not matcher.accept_string(piece):
                return None
            forced += [bool(must)] * len(piece)
        return forced if matcher.accept_token(STOP) else None


def counts(forced: list[bool] | None, lengths: list[int]) -> list[int] | None:
    """Give how many bytes and tokens there are, and how many of them are forced."""
    if forced is None:
        return None
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    tokens = sum(all(forced[one:other]) for one, other in itertools.pairwise(starts))
    return [len(forced), sum(forced), len(lengths), tokens]


def work(name: str) -> None:
    """Read schemas from the input, and write a line for each: the counts of its instances in each layout."""
    engine, instances = Forcing(name), Instances()
    print("ready", flush=True)
    for line in sys.stdin:
        entry = json.loads(line)
        found: dict[str, list[list[int] | None]] = {}
        for layout, any_whitespace in LAYOUTS.items():
            compiled = engine.compile(entry["schema"], any_whitespace=any_whitespace)
            if compiled is not None:
                found[layout] = [
                    counts(engine.forced(compiled, text), lengths) for text, lengths in instances.of(entry)
                ]
        print(json.dumps(found), flush=True)


# What the process that was started does.


class Worker:
    """A process that works for one engine, and can be replaced."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), "--work", self._name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # XGrammar writes a line there for each keyword that it ignores.
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self._process.stdout, self._lines), daemon=True).start()
        if self._lines.get(timeout=120) != "ready\n":
            sys.exit(f"{self._name} does not start")

    @staticmethod
    def _read(stream: Iterable[str], lines: queue.SimpleQueue[str]) -> None:
        for line in stream:
            lines.put(line)
        lines.put("")

    def ask(self, entry: dict[str, Any]) -> dict[str, list[list[int] | None]]:
        """Give the counts of a schema's instances; nothing where that takes too long, or ends the process."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(entry) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=SECONDS_FOR_A_SCHEMA)
        except (queue.Empty, BrokenPipeError):
            line = ""
        if line:
            return dict(json.loads(line))
        self.close()
        self._start()
        return {}

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def collection(entry: dict[str, Any]) -> str:
    """Name the collection that a schema is from."""
    found = re.match("BFCL|.+?(?=---)", entry["id"])
    return found.group() if found else "other"


def measure(names: list[str], entries: list[dict[str, Any]]) -> Totals:
    """Add the counts up: for each layout and collection those of the instances that all engines accept."""
    workers = {name: Worker(name) for name in names}
    totals: Totals = {layout: {} for layout in LAYOUTS}
    for at, entry in enumerate(entries):
        if at % 500 == 0:
            print(f"{at} of {len(entries)} schemas", file=sys.stderr)
        found = {name: worker.ask(entry) for name, worker in workers.items()}
        for layout, of_collections in totals.items():
            rows = zip(*(found[name].get(layout, []) for name in names), strict=False)
            accepted = [row for row in rows if None not in row]
            for label in ("all", collection(entry)):
                total = of_collections.setdefault(label, {name: [0] * 5 for name in names})
                for row, name in itertools.product(accepted, names):
                    counted = [1, *row[names.index(name)]]
                    total[name] = [sum(pair) for pair in zip(total[name], counted, strict=True)]
    for worker in workers.values():
        worker.close()
    return totals


def table(totals: Totals, names: list[str]) -> str:
    """Give a table of shares for each layout, with a row for each collection."""
    columns = [f"{what}, {name}" for what in ("bytes", "tokens") for name in names]
    lines = []
    for layout, of_collections in totals.items():
        lines += [f"| {layout} | instances | bytes | tokens | {' | '.join(columns)} |"]
        lines += [f"|---|{'---:|' * (3 + len(columns))}"]
        for label, total in of_collections.items():
            count, size, _, tokens, _ = total[names[0]]
            shares = [share(total[name], of) for of in (1, 3) for name in names]
            lines.append(f"| {label} | {count:,} | {size:,} | {tokens:,} | {' | '.join(shares)} |")
        lines.append("")
    return "\n".join(lines)


def share(total: list[int], of: int) -> str:
    return f"{total[of + 1] / total[of]:.1%}" if total[of] else "-"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, help="take one schema in so many (default: all)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="NAME")
    parser.add_argument("--output", type=Path, help="write the counts to this file")
    parser.add_argument("--work", choices=ENGINES, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work(chosen.work)
        return
    for path in (DATA, TOKENIZER):
        if not path.exists():
            sys.exit(f"this benchmark needs {path}")
    names = [name for name in chosen.engines if importlib.util.find_spec(name)]
    measured = measure(names, schemas(chosen.every))
    print(table(measured, names))
    print(machine.in_words(machine.describe()))
    if chosen.output:
        chosen.output.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
