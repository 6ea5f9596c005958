"""Random grammars, Lark texts, regexes, schemas, structural tags, tokens, buffers and saved forms, for a given time.

Each round takes a seed, so that what it finds can be run again: ``python fuzz/run.py --seed 1234 --rounds 1``.
What must hold:

- a text is compiled, or refused with an exception of tokenstile's, within a few seconds;
- a token has its bit in the mask if and only if it is accepted;
- a refused token changes nothing, and rolling back gives the masks back;
- what is printed parses back to a grammar with the same masks;
- a buffer is written in its own elements only, or refused (``buffers.py``; with torch where it is installed);
- over the vocabulary of a real model no call takes too long or too much memory (``real_walks.py``; ``--tokenizer``);
- what was saved and damaged is refused, or is whole (``saved_forms.py``);
- after all of it the process has not grown by more than its caches may hold.

A crash or a hang of the process is a finding too: the seed is printed before each batch of rounds. What is left out,
because there is no torch or no tokenizer, is said at the start. Times are those of the thread, since the machine may be
busy.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from buffers import HAS_TORCH, check_array, check_tensor
from real_walks import KNOWS_PEAK, check_walk, resident
from recursive_grammars import SHARED_TOKENIZER, Writer, load
from saved_forms import check_saved

import tokenstile
from tokenstile.testing import bitmask_to_bool_mask

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Compile: TypeAlias = Callable[[str], tokenstile.CompiledGrammar]

LIMITS = tokenstile.Limits(
    max_compile_time=2.0, max_states=20_000, max_nodes=200_000, max_source_bytes=1 << 20
)
SLOWEST_SECONDS = 10.0
CACHE_BYTES = 256 << 20
MOST_GROWTH = CACHE_BYTES + (768 << 20)
"""Of the process: its caches, and what the allocator keeps of the largest grammar."""

EBNF_SEEDS = [
    'root ::= "a" b* | [c-e]{2,3}\nb ::= "x" root? | "y"',
    'root ::= expr\nexpr ::= expr "+" term | term\nterm ::= "(" expr ")" | [0-9]+',
    'root ::= "{" (pair ("," pair)*)? "}"\npair ::= str ":" str\nstr ::= "\\"" [^"\\\\]* "\\""',
    'root ::= Regex("[a-c]+|x{2,5}") Substring("ab", "c", "de")',
    'root ::= TagDispatch(("<a>", tag), loop_after_dispatch=true)\ntag ::= [a-z]* "</a>"',
    "root[capture, max_chars=9] ::= [a-z]* Token(3) ExcludeToken(1, 2)",
    'root ::= a b c\na ::= "" | "x"\nb ::= a a b | ""\nc ::= c c | "é" | [^a-y]',
    'root ::= [a-z]+ & ~(Regex("if|else")) | . | <[2, 3]>',
    'root[temperature=0.5, lazy] ::= "a"{1000} | "b"{3,} | ("c"?){2}',
]
REGEX_SEEDS = [
    r"a|b+c*?(d{2,5})?",
    r"(?i)[^\W\d_]+\b \p{Lu}\u{1F600}",
    r"(?=a.*b)[a-z]{3,9}(?!x)",
    r"(?<name>x|y)*(?<=xy)$",
    r"((((a*)*)*)*)*",
    r"[\x00-\x7f&&[^a]]|\d{4}-\d{2}",
    r"^(?:\"(?:[^\"\\]|\\.)*\"|-?\d+(?:\.\d+)?)$",
]
SCHEMA_SEEDS = [
    '{"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"$ref": "#"}}, "required": []}',
    '{"anyOf": [{"type": ["integer", "null"], "minimum": -2.5, "multipleOf": 0.5}, {"enum": ["é", [1, {}], true]}]}',
    '{"type": "array", "prefixItems": [{"const": 1}], "contains": {"type": "string"}, "uniqueItems": true}',
    '{"oneOf": [{"pattern": "^a+$"}, {"format": "date"}, {"minLength": 2}], "not": {"maxLength": 1}, "type": "string"}',
    '{"if": {"required": ["a"]}, "then": {"maxProperties": 2}, "else": {"patternProperties": {"b$": {"minimum": 1}}}}',
    '{"$defs": {"x": {"items": {"$ref": "#/$defs/x"}}}, "allOf": [{"$ref": "#/$defs/x"}, {"type": "array"}]}',
    '{"properties": {"a": true, "é": false}, "dependentRequired": {"a": ["c"]}, "propertyNames": {"maxLength": 2}}',
    '{"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": {"type": "number"}, "minProperties": 1}',
    '{"$schema": "http://json-schema.org/draft-04/schema#", "items": [{"exclusiveMinimum": true, "minimum": 1}]}',
]
TAG_SEEDS = [
    '{"format": {"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": ["</a>", "ab", "ba"]}}',
    (
        '{"format": {"type": "triggered_tags", "triggers": ["<a", "ab"], "excludes": ["x"], "tags": [{"begin": "<a>", '
        '"content": {"type": "any_text", "max_chars": 4}, "end": "</a>"}, '
        '{"begin": "abc", "content": {"value": "1"}, "end": ""}]}}'
    ),
    (
        '{"format": {"elements": [{"type": "optional", "content": {"type": "regex", "pattern": "a+"}}, '
        '{"type": "repeat", "min": 1, "max": 3, "content": {"type": "token", "token": "ab"}}, '
        '{"type": "any_tokens", "exclude_tokens": [3]}]}}'
    ),
    (
        '{"format": {"type": "json_schema", "style": "qwen_xml", "json_schema": '
        '{"properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}, '
        '"c": {"enum": ["x", "</parameter>"]}}, "required": ["b"]}}}'
    ),
    (
        '{"format": {"type": "json_schema", "style": "cohere_xml", "any_order": true, "json_schema": '
        '{"type": "object", "properties": {"a": {"items": {"$ref": "#"}}}, '
        '"additionalProperties": {"type": "string", "maxLength": 2}}}}'
    ),
    (
        '{"format": {"type": "json_schema", "style": "minimax_m3_xml", "excludes": ["ab"], "json_schema": '
        '{"properties": {"a": {"type": "string"}, "o": {"properties": {"x": {"type": "array", '
        '"items": {"type": "boolean"}}}}}}}}'
    ),
    '{"format": {"type": "json_schema", "style": "gemma", "json_schema": {"type": "object", "minProperties": 1}}}',
    (
        '{"format": {"type": "dispatch", "rules": [["ab", {"type": "tags_with_separator", "separator": ",", "tags": ['
        '{"begin": "<", "content": {"type": "any_text"}, "end": ">"}]}], '
        '["ba", {"type": "grammar", "grammar": "root ::= [a-z]"}]]}}'
    ),
    (
        '{"format": {"type": "token_dispatch", "loop": false, "rules": [["<a>", {"value": "x"}], [5, {"type": "star", '
        '"content": {"type": "exclude_token", "exclude_tokens": ["ab"]}}]]}}'
    ),
]
LARK_SEEDS = [
    'start: item ("," item)*\nitem: NAME "=" INT\nNAME: /[a-z]+/ & ~("if" | "else")\n%import common.INT\n%ignore " "',
    'start: call* tail\nhead[lazy]: TEXT "<a>"\ncall: head "x" "</a>"\ntail: TEXT\nTEXT: /(.|\\n)*/',
    'start: pair{"a", B} | @no\npair{x, y}: x y ~ 2..3 -> both\nB: "b"i | "c".."e"\n%declare X',
    'start: a::0\na::_: "" %if is_ones([0:2]) | "x" a::set_bit(0) %if bit_clear(0) | "y" a::incr([1:3])',
    'start: t <[3, 5-9]> | <a> | <[^1]>\nt[suffix="</a>", capture, max_chars=9]: /[^<]*/',
    'start: %json {"type": "array", "items": {"type": "integer"}} %lark { start: "(" start? ")" }',
    'start: %regex {"substring_words": "ab abc x"} | s\ns[stop=/x+/, stop_capture="e"]: /a*/\n%extend s: "b"',
    (
        '%llguidance {"allow_initial_skip": true}\nstart: [e] "!"\n?e: e "+" T | T\nT: /[0-9]{1,3}/\n%ignore /#.*/\n'
        "%ignore WS\n%import common (WS, WORD)"
    ),
]
FRAGMENTS = [
    "%ignore ",
    "%import common.",
    "start: ",
    "%if ",
    "::_",
    "<[",
    *'()[]{}|*+?.^$\\"-,:=~&<>#!',
    "::=",
    "\n",
    "root",
    "{2,}",
    "\\u00e9",
    "é",
    "😀",
    "\0",
    "(?",
    "\\p{",
    '"not": ',
    '{"$ref": "#"}',
    '"allOf": [',
    "1e400",
    "true",
]
# Every byte is a token, so that whatever a grammar wants can be spelled.
WORDS = ["ab", "abc", "x)", "é", "<a>", "</a>", "ab</a>", "a" * 20, '":"', "😀x"]
TOKENS = [
    *(bytes([byte]) for byte in range(256)),
    *(word.encode() for word in WORDS),
    b"\xc3\xa9\xc3",
    b"",
    b"</s>",
]


def mutate(random: random.Random, texts: list[str]) -> str:
    """Return one of the texts with a few random edits."""
    text = random.choice(texts)
    for _ in range(random.choice([0, 0, 1, 1, 2, 4, 8])):
        at = random.randint(0, len(text))
        match random.randrange(4):
            case 0:
                text = text[:at] + random.choice(FRAGMENTS) + text[at:]
            case 1:
                text = text[:at] + text[at + random.randint(1, 4) :]
            case 2:
                other = random.choice(texts)
                start = random.randint(0, len(other))
                text = text[:at] + other[start : start + random.randint(1, 20)] + text[at:]
            case _:
                end = min(len(text), at + random.randint(1, 10))
                text = text[:end] + text[at:end] * random.choice([1, 2, 30]) + text[end:]
    return text


def allowed(matcher: tokenstile.GrammarMatcher) -> np.ndarray:
    """Return the tokens that the mask allows."""
    mask = np.zeros(tokenstile.get_bitmask_shape(1, len(TOKENS)), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    return np.flatnonzero(bitmask_to_bool_mask(mask, len(TOKENS))[0])


def walk(random: random.Random, matchers: list[tokenstile.GrammarMatcher]) -> None:
    """Walk matchers of the same language side by side, and check what must hold."""
    seen: list[list[int]] = []
    for _ in range(random.randint(1, 12)):
        masks = [allowed(matcher).tolist() for matcher in matchers]
        assert all(mask == masks[0] for mask in masks), "the printed grammar has another mask"
        fits = [token for token in range(-1, len(TOKENS) + 1) if matchers[0].fork().accept_token(token)]
        assert fits == masks[0], f"the mask allows {masks[0]}, and accepted are {fits}"
        assert fits, "a dead end"
        token = random.choice(fits)
        assert all(matcher.accept_token(token) for matcher in matchers)
        seen.append(masks[0])
        if matchers[0].is_terminated():
            break
    for mask in reversed(seen):
        matchers[0].rollback()
        assert allowed(matchers[0]).tolist() == mask, "rolling back changed the mask"


def compile_schema(compiler: tokenstile.GrammarCompiler, random: random.Random) -> Compile:
    """Return a function that compiles schemas with random options."""
    return partial(
        compiler.compile_json_schema,
        any_whitespace=random.random() < 0.5,
        strict_mode=random.random() < 0.5,
        any_order=random.choice([None, True, False]),
        indent=random.choice([None, 2]),
    )


def check_text(random: random.Random, kind: str) -> bool:
    """Compile a random text; return whether it was compiled."""
    text = mutate(random, SEEDS[kind])
    compiler = tokenstile.GrammarCompiler(INFO, cache_enabled=False, limits=LIMITS)
    ways: dict[str, Compile] = {
        "ebnf": compiler.compile_grammar,
        "regex": compiler.compile_regex,
        "schema": compile_schema(compiler, random),
        "tag": compiler.compile_structural_tag,
        "lark": compiler.compile_lark,
    }
    try:
        compiled = ways[kind](text)
    except tokenstile.TokenstileError:
        return False
    printed = compiler.compile_grammar(str(compiled.grammar))
    walk(random, [tokenstile.GrammarMatcher(compiled), tokenstile.GrammarMatcher(printed)])
    return True


def check_real_walk(random: random.Random, info: tokenstile.TokenizerInfo) -> bool:
    """Walk a random text of any kind over a real vocabulary; return whether it was compiled."""
    kind = random.choice(["recursive", "recursive", *SEEDS])
    text = Writer(random).grammar() if kind == "recursive" else mutate(random, SEEDS[kind])

    def compile_text(compiler: tokenstile.GrammarCompiler) -> tokenstile.CompiledGrammar:
        ways: dict[str, Compile] = {
            "ebnf": compiler.compile_grammar,
            "recursive": compiler.compile_grammar,
            "regex": compiler.compile_regex,
            "schema": compile_schema(compiler, random),
            "tag": compiler.compile_structural_tag,
            "lark": compiler.compile_lark,
        }
        return ways[kind](text)

    # In half of the walks the tables are dropped again and again.
    limits = replace(LIMITS, max_cache_bytes=random.choice([128 << 20, 1 << 20]))
    return check_walk(random, info, compile_text, limits)


SEEDS = {
    "ebnf": EBNF_SEEDS,
    "lark": LARK_SEEDS,
    "regex": REGEX_SEEDS,
    "schema": SCHEMA_SEEDS,
    "tag": TAG_SEEDS,
}
INFO = tokenstile.TokenizerInfo(TOKENS)
MATCHER = tokenstile.GrammarMatcher(tokenstile.GrammarCompiler(INFO).compile_grammar(EBNF_SEEDS[0]))


def run_round(seed: int, real: tokenstile.TokenizerInfo | None) -> tuple[str, bool]:
    """Run one round; return what it was, and whether the input was taken."""
    source = random.Random(seed)
    kinds = [
        "ebnf",
        "ebnf",
        "lark",
        "lark",
        "regex",
        "regex",
        "schema",
        "schema",
        "tag",
        "tag",
        "array",
        "saved",
    ]
    kind = source.choice(kinds + ["walk"] * (real is not None) + ["tensor"] * HAS_TORCH)
    match kind:
        case "array":
            return kind, check_array(source, MATCHER, len(TOKENS))
        case "tensor":
            return kind, check_tensor(source, MATCHER, len(TOKENS))
        case "saved":
            return kind, check_saved(source, source.choice(EBNF_SEEDS), INFO)
        case "walk" if real is not None:
            return kind, check_real_walk(source, real)
        case _:
            return kind, check_text(source, kind)


def real_vocabulary(folder: Path) -> tokenstile.TokenizerInfo | None:
    """Return the vocabulary of a real model, or nothing where it is not there."""
    if any((folder / name).exists() for name in ("tokenizer.json", "tokenizer.json.gz")):
        return load(folder)
    print(
        f"no walks over a real vocabulary: {folder} has no tokenizer.json, --tokenizer names a folder with one"
    )
    return None


def main() -> int:
    """Run rounds until the time is over; return 1 if something was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=None, help="the first seed; a random one if not given")
    parser.add_argument("--tokenizer", type=Path, default=SHARED_TOKENIZER)
    arguments = parser.parse_args()
    if not HAS_TORCH:
        print("no tensors: torch is not installed")
    real = real_vocabulary(arguments.tokenizer)
    tokenstile.set_cache_limit_bytes(CACHE_BYTES)
    at_first = resident()[0] if KNOWS_PEAK else 0
    first = random.randrange(1 << 40) if arguments.seed is None else arguments.seed
    deadline = time.monotonic() + arguments.seconds
    counts: dict[tuple[str, bool], int] = {}
    rounds = findings = 0
    while rounds < arguments.rounds and time.monotonic() < deadline:
        seed = first + rounds
        if rounds % 5000 == 0:
            print(f"from seed {seed}", flush=True)
        started = time.thread_time()
        try:
            outcome = run_round(seed, real)
            counts[outcome] = counts.get(outcome, 0) + 1
            assert time.thread_time() - started < SLOWEST_SECONDS or outcome[0] == "walk", "too slow"
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - a panic of the core is not an Exception
            findings += 1
            print(f"\nseed {seed}:\n{traceback.format_exc()}", flush=True)
        rounds += 1
    for (kind, taken), count in sorted(counts.items()):
        print(f"{kind:8} {'taken' if taken else 'refused':8} {count}")
    grew = resident()[0] - at_first if KNOWS_PEAK else 0
    if grew > MOST_GROWTH:
        findings += 1
        print(f"the process grew by {grew >> 20} MiB")
    print(f"{rounds} rounds, {findings} findings, {grew >> 20} MiB more than at first")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
