"""How long masks and tokens take far into an output: ten grammars, and as many tokens of each as asked for.

    python benchmarks/long_outputs.py [--tokens N] [--only NAME] [--cache-bytes N] [--cpu] [--json FILE]

Each case writes one output that goes on for ever, with the tokens of Llama-3.1, and asks for the mask before each of
them. What it prints of a case: the median, the 99th and 99.9th percentile and the most that a mask and an accepted
token took, in microseconds, with the number of the token that took longest; and the memory that the process has
more than at the start of the case, at a tenth of the tokens and at the end.

The answers are checked: each token has to be in its mask and has to be accepted; a text that the grammar does not
allow any more, such as an item that was there, has to be refused at the end; one that it does allow has to be accepted;
and after half of the tokens were taken back the same mask has to come again. Each case runs in a process of its own.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tokenstile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHARED = Path(__file__).resolve().parents[2] / "shared"
TOKENIZER = SHARED / "tokenizers" / "llama3_1" / "tokenizer.json.gz"
PIECES_AT_ONCE = 64


@dataclass(frozen=True)
class Case:
    """A grammar and an output of it."""

    name: str
    grammar: Any
    #: The output, piece by piece.
    write: Callable[[random.Random], Iterator[str]]
    #: What may stand behind any whole piece, and what may not, where there is anything.
    fits: str
    misfit: str = ""


def array(items: dict[str, Any], *, unique: bool = True) -> str:
    return json.dumps({"type": "array", "uniqueItems": unique, "items": items})


def unique_strings(dice: random.Random) -> Iterator[str]:
    yield '["same"'
    for number in range(1 << 60):
        yield f', "{word(dice)} {number} {word(dice)}"'


def unique_objects(dice: random.Random) -> Iterator[str]:
    yield '[{"x": 0, "y": 0}'
    for number in range(1, 1 << 60):
        yield f', {{"x": {number}, "y": {dice.randrange(1000)}}}'


def open_keys(dice: random.Random) -> Iterator[str]:
    yield '{"same": 0'
    for number in range(1 << 60):
        yield f', "{word(dice)}_{number}": {dice.randrange(100)}'


def nested_arrays(_: random.Random) -> Iterator[str]:
    while True:
        yield "["


def long_string(dice: random.Random) -> Iterator[str]:
    yield '{"text": "'
    while True:
        yield f"{word(dice)} {word(dice)}. "


def numbers(dice: random.Random) -> Iterator[str]:
    yield "[0"
    while True:
        yield f", {dice.randrange(-(10**9), 10**9) / 1000}"


def pattern_keys(dice: random.Random) -> Iterator[str]:
    yield '{"x-same": 0'
    for number in range(1 << 60):
        yield f', "x-{number}": {dice.randrange(100)}, "s-{word(dice)}{number}": "{word(dice)}"'


def trees(dice: random.Random) -> Iterator[str]:
    yield '{"name": "root", "children": ['
    depth = 1
    while True:
        if dice.random() < 0.6:
            yield f'{{"name": "{word(dice)}", "children": ['
            depth += 1
        else:
            yield f'{{"name": "{word(dice)}", "children": []}}, '


def tagged_text(dice: random.Random) -> Iterator[str]:
    while True:
        yield f"{word(dice)} {word(dice)} {word(dice)}. "
        if dice.random() < 0.2:
            yield f'<call>{{"city": "{word(dice)}", "days": {dice.randrange(9)}}}</call>'


def statements(dice: random.Random) -> Iterator[str]:
    while True:
        yield f"{word(dice)} = ({dice.randrange(1000)} + {word(dice)}) * {dice.randrange(100)};\n"


WORDS = [
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "island",
    "jasper",
    "kettle",
    "lumen",
]


def word(dice: random.Random) -> str:
    return dice.choice(WORDS)


POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}
TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["name", "children"],
            "additionalProperties": False,
        }
    },
}
NESTED = {
    "$ref": "#/$defs/nested",
    "$defs": {"nested": {"type": "array", "items": {"$ref": "#/$defs/nested"}}},
}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<call>"],
        "tags": [
            {
                "begin": "<call>",
                "content": {
                    "type": "json_schema",
                    "json_schema": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                        "required": ["city", "days"],
                    },
                },
                "end": "</call>",
            }
        ],
    },
}
EBNF = """
root ::= statement*
statement ::= name " = " sum ";\\n"
sum ::= product (" + " product)*
product ::= value (" * " value)*
value ::= name | number | "(" sum ")"
name ::= [a-z]+
number ::= [0-9]+
"""

CASES = [
    Case("unique strings", array({"type": "string"}), unique_strings, ', "new"]', ', "same"'),
    Case("unique objects", array(POINT), unique_objects, ', {"x": 0, "y": 1}]', ', {"x": 0, "y": 0}'),
    Case("open keys", '{"type": "object"}', open_keys, ', "new": 1}', ', "same"'),
    Case("nested arrays", json.dumps(NESTED), nested_arrays, "[]", "}"),
    Case(
        "long string",
        '{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}',
        long_string,
        'x"}',
        '"]',
    ),
    Case("numbers", array({"type": "number"}, unique=False), numbers, ", 1.5]", "}"),
    Case(
        "pattern keys",
        json.dumps(
            {
                "type": "object",
                "patternProperties": {"^x-": {"type": "integer"}, "^s-": {"type": "string"}},
                "additionalProperties": False,
            }
        ),
        pattern_keys,
        ', "x-new": 1}',
        ', "x-same"',
    ),
    Case("recursive trees", json.dumps(TREE), trees, '{"name": "leaf", "children": []}', "}"),
    Case("tagged text", TAG, tagged_text, '<call>{"city": "x", "days": 1}</call>', "<call>["),
    Case("ebnf", EBNF, statements, "a = b;\n", "= b"),
]


class Tokens:
    """The tokens of a text, and the vocabulary."""

    def __init__(self) -> None:
        import tokenizers  # noqa: PLC0415 - the process that starts the others needs none

        with gzip.open(TOKENIZER, "rt", encoding="utf-8") as file:
            text = file.read()
        self._library = tokenizers.Tokenizer.from_str(text)
        pieces = self._library.get_vocab(with_added_tokens=True)
        encoded = [""] * (max(pieces.values()) + 1)
        for piece, token in pieces.items():
            encoded[token] = piece
        stop = pieces["<|eot_id|>"]
        self.info = tokenstile.TokenizerInfo(encoded, tokenstile.VocabType.BYTE_LEVEL, stop_token_ids=[stop])

    def write(self, case: Case) -> Iterator[tuple[int, bool]]:
        """Give the tokens of a case without end, and whether the text stands at the end of a piece."""
        pieces = case.write(random.Random(1))
        while True:
            for piece in (next(pieces) for _ in range(PIECES_AT_ONCE)):
                tokens = self._library.encode(piece, add_special_tokens=False).ids
                yield from ((token, at + 1 == len(tokens)) for at, token in enumerate(tokens))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def compile_case(
    case: Case, info: tokenstile.TokenizerInfo, cache_bytes: int | None
) -> tokenstile.CompiledGrammar:
    limits = tokenstile.Limits() if cache_bytes is None else tokenstile.Limits(max_cache_bytes=cache_bytes)
    compiler = tokenstile.GrammarCompiler(info, limits=limits)
    if isinstance(case.grammar, dict):
        return compiler.compile_structural_tag(case.grammar)
    if case.grammar.lstrip().startswith("{"):
        return compiler.compile_json_schema(case.grammar, strict_mode=False)
    return compiler.compile_grammar(case.grammar)


def require(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"WRONG: {what}")


def run(case: Case, count: int, cache_bytes: int | None, *, cpu: bool) -> dict[str, Any]:
    tokens = Tokens()
    matcher = tokenstile.GrammarMatcher(compile_case(case, tokens.info, cache_bytes))
    row = np.zeros((1, (tokens.info.vocab_size + 31) // 32), np.int32)
    bits = row.view(np.uint32)[0]
    masks, accepts = np.zeros(count, np.int64), np.zeros(count, np.int64)
    clock = time.thread_time_ns if cpu else time.perf_counter_ns
    start = resident_bytes()
    tenth = 0
    half: tuple[int, bytes] = (0, b"")
    done = 0
    for token, is_whole in tokens.write(case):
        begin = clock()
        matcher.fill_next_token_bitmask(row)
        between = clock()
        require(bool(bits[token >> 5] >> (token & 31) & 1), f"{case.name}: token {done} is not in its mask")
        go_on = clock()
        is_accepted = matcher.accept_token(token)
        end = clock()
        require(is_accepted, f"{case.name}: token {done} is refused")
        masks[done], accepts[done] = between - begin, end - go_on
        done += 1
        if done == count // 10:
            tenth = resident_bytes() - start
        if done == count // 2:
            matcher.fill_next_token_bitmask(row)
            half = (done, row.tobytes())
        if (done >= count - 64 and is_whole) or done == count:
            break
    memory = resident_bytes() - start
    check_end(case, matcher)
    begin = clock()
    matcher.rollback(done - half[0])
    rollback = clock() - begin
    matcher.fill_next_token_bitmask(row)
    require(row.tobytes() == half[1], f"{case.name}: another mask after going back")
    return {
        "name": case.name,
        "tokens": done,
        "mask": spread(masks[:done]),
        "accept": spread(accepts[:done]),
        "tenth": tenth,
        "memory": memory,
        "rollback": rollback / 1000,
    }


def check_end(case: Case, matcher: tokenstile.GrammarMatcher) -> None:
    if case.misfit:
        require(not matcher.fork().accept_string(case.misfit), f"{case.name}: {case.misfit!r} is accepted")
    require(matcher.fork().accept_string(case.fits), f"{case.name}: {case.fits!r} is refused")


def spread(times: np.ndarray[Any, Any]) -> dict[str, float]:
    p50, p99, p999 = (float(value) for value in np.percentile(times, [50, 99, 99.9]) / 1000)
    at = int(times.argmax())
    return {"p50": p50, "p99": p99, "p99.9": p999, "max": float(times[at]) / 1000, "at": at}


def show(result: dict[str, Any]) -> None:
    columns = [f"{result['name']:<16}{result['tokens']:>9,}"]
    for kind in ("mask", "accept"):
        times = result[kind]
        columns.append(
            f"{times['p50']:>8.1f}{times['p99']:>9.1f}{times['p99.9']:>10.1f}{times['max']:>12,.1f} @{times['at']:<8}"
        )
    columns.append(f"{result['tenth'] / 1e6:>8.0f}{result['memory'] / 1e6:>8.0f}{result['rollback']:>12,.0f}")
    print(" ".join(columns), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--only", help="the cases whose names contain this")
    parser.add_argument("--cache-bytes", type=int, help="Limits.max_cache_bytes")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    parser.add_argument(
        "--cpu", action="store_true", help="time of the processor, for machines that are busy"
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        case = next(case for case in CASES if case.name == options.worker)
        print(json.dumps(run(case, options.tokens, options.cache_bytes, cpu=options.cpu)))
        return
    kinds = "".join(f"{'p50':>8}{'p99':>9}{'p99.9':>10}{'max':>12} {'at':<9} " for _ in range(2))
    print(
        f"{'':<16}{'tokens':>9} {kinds}{'MB/10':>8}{'MB':>8}{'rollback us':>12}   (mask, then accept; microseconds)"
    )
    results, failed = [], False
    for case in CASES:
        if options.only and options.only not in case.name:
            continue
        command = [sys.executable, __file__, "--worker", case.name, "--tokens", str(options.tokens)]
        command += ["--cache-bytes", str(options.cache_bytes)] if options.cache_bytes else []
        command += ["--cpu"] if options.cpu else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            print(f"{case.name:<16} failed", flush=True)
            failed = True
            continue
        results.append(json.loads(done.stdout))
        show(results[-1])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    sys.exit(failed)


if __name__ == "__main__":
    main()
