"""What a grammar holds after its first request, in both spellings: the sum over the schemas of MaskBench.

    python benchmarks/spelling_memory.py [--every N] [--strict] [--worst N]

Each schema is compiled for Llama-3.1 in each spelling, and its first valid instance, as ``json.dumps`` writes it
compact, goes through a matcher with a mask at each token. Then ``memory_size_bytes`` is read. Schemas that one of the
spellings refuses are left out, and so are instances that it does not accept.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

import tokenstile

SHARED = Path(__file__).resolve().parents[2] / "shared"
DATA = SHARED / "maskbench" / "dev.jsonl.gz"
TOKENIZER = SHARED / "tokenizers" / "llama3_1" / "tokenizer.json.gz"
SPELLINGS = ("any", "canonical")


class Requests:
    """Compiles for one tokenizer, and lets first requests run."""

    def __init__(self, *, strict: bool) -> None:
        import tokenizers  # noqa: PLC0415 - the documents of this program are made without it

        with gzip.open(TOKENIZER, "rt", encoding="utf-8") as file:
            text = file.read()
        self._tokenizer = tokenizers.Tokenizer.from_str(text)
        pieces = self._tokenizer.get_vocab(with_added_tokens=True)
        encoded = [""] * (max(pieces.values()) + 1)
        for piece, token in pieces.items():
            encoded[token] = piece
        self._stop = pieces["<|eot_id|>"]
        info = tokenstile.TokenizerInfo(encoded, tokenstile.VocabType.BYTE_LEVEL, stop_token_ids=[self._stop])
        self._compiler = tokenstile.GrammarCompiler(info, cache_enabled=False)
        self._mask = np.empty((1, (info.vocab_size + 31) // 32), np.int32)
        self._strict = strict

    def memory_of(self, entry: dict[str, Any], spelling: str) -> tuple[int, int] | None:
        """Give the bytes after the compilation and after the first request; nothing where there is none."""
        try:
            compiled = self._compiler.compile_json_schema(
                json.dumps(entry["schema"]), strict_mode=self._strict, spelling=spelling
            )
        except tokenstile.exceptions.TokenstileError:
            return None
        before = compiled.memory_size_bytes
        for test in entry["tests"]:
            if test["valid"]:
                text = json.dumps(test["data"], ensure_ascii=False, separators=(",", ":"))
                return (before, compiled.memory_size_bytes) if self._run(compiled, text) else None
        return None

    def _run(self, compiled: tokenstile.CompiledGrammar, text: str) -> bool:
        matcher = tokenstile.GrammarMatcher(compiled)
        for token in [*self._tokenizer.encode(text, add_special_tokens=False).ids, self._stop]:
            matcher.fill_next_token_bitmask(self._mask)
            if not matcher.accept_token(token):
                return False
        return True


def main() -> None:
    """Measure, and print the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, help="one schema in so many")
    parser.add_argument("--strict", action="store_true", help="strict_mode=True")
    parser.add_argument("--worst", type=int, default=0, help="list so many of those that differ most")
    arguments = parser.parse_args()

    requests = Requests(strict=arguments.strict)
    rows: list[tuple[str, list[tuple[int, int]]]] = []
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for at, line in enumerate(lines):
            if at % arguments.every == 0:
                entry = json.loads(line)
                found = [requests.memory_of(entry, spelling) for spelling in SPELLINGS]
                known = [pair for pair in found if pair is not None]
                if len(known) == len(SPELLINGS):
                    rows.append((entry["id"], known))
    print(f"{len(rows)} schemas, first request of each; bytes summed over them")
    print("|  | " + " | ".join(SPELLINGS) + " | ratio |")
    print("|---|---:|---:|---:|")
    for name, at in (("after compiling", 0), ("after the first request", 1)):
        sums = [sum(known[spelling][at] for _, known in rows) for spelling in range(len(SPELLINGS))]
        print(f"| {name} | {sums[0]:,} | {sums[1]:,} | {sums[1] / sums[0]:.2f} |")
    rows.sort(key=lambda row: row[1][0][1] - row[1][1][1])
    for name, known in rows[: arguments.worst]:
        print(name, *(f"{before:,} -> {after:,}" for before, after in known))


if __name__ == "__main__":
    main()
