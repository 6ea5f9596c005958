"""Random grammars, Lark texts, regexes, schemas, structural tags, tokens and buffers, for a given time.

Each round takes a seed, so that what it finds can be run again: ``python fuzz/run.py --seed 1234 --rounds 1``.
What must hold:

- a text is compiled, or refused with an exception of tokenstile's, within a few seconds;
- a token has its bit in the mask if and only if it is accepted;
- a refused token changes nothing, and rolling back gives the masks back;
- what is printed parses back to a grammar with the same masks;
- a buffer is written in its own elements only, or refused.

A crash or a hang of the process is a finding too: the seed is printed before each batch of rounds.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

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


def check_buffer(random: random.Random) -> bool:
    """Fill and apply a mask in a buffer of a random layout; return whether it was taken."""
    guard = 0x5A5A5A5A
    base = np.full(
        (20, 20), guard, dtype=random.choice([np.int32, np.int32, np.uint32, np.int64, np.float32])
    )
    rows = slice(random.randint(-20, 20), random.randint(-20, 20), random.choice([1, 2, -1, -3]))
    step = random.choice([1, 1, 2, -1])
    start = random.randint(0, 19)
    width = tokenstile.get_bitmask_shape(1, len(TOKENS))[1] + random.choice([0, 0, 0, -1, 1])
    columns = slice(start, None if start + width * step < 0 else start + width * step, step)
    view = (base.T if random.random() < 0.3 else base)[rows, columns]
    if random.random() < 0.2 and len(view):
        view = view[0]
    index = random.choice([0, 0, 1, 2, -1, 100])
    matcher = MATCHER.fork()
    before = base.copy()
    try:
        matcher.fill_next_token_bitmask(view, index)
    except tokenstile.TokenstileError:
        assert (base == before).all(), "a refused buffer was written"
        return False
    row = view[index] if view.ndim > 1 else view
    assert np.count_nonzero(base != before) <= row.size
    row[...] = guard
    assert (base == before).all(), "something else was written"
    return True


SEEDS = {
    "ebnf": EBNF_SEEDS,
    "lark": LARK_SEEDS,
    "regex": REGEX_SEEDS,
    "schema": SCHEMA_SEEDS,
    "tag": TAG_SEEDS,
}
INFO = tokenstile.TokenizerInfo(TOKENS)
MATCHER = tokenstile.GrammarMatcher(tokenstile.GrammarCompiler(INFO).compile_grammar(EBNF_SEEDS[0]))


def run_round(seed: int) -> tuple[str, bool]:
    """Run one round; return what it was, and whether the input was taken."""
    source = random.Random(seed)
    kinds = ["ebnf", "ebnf", "lark", "lark", "regex", "regex", "schema", "schema", "tag", "tag", "buffer"]
    kind = source.choice(kinds)
    return kind, check_buffer(source) if kind == "buffer" else check_text(source, kind)


def main() -> int:
    """Run rounds until the time is over; return 1 if something was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=None, help="the first seed; a random one if not given")
    arguments = parser.parse_args()
    first = random.randrange(1 << 40) if arguments.seed is None else arguments.seed
    deadline = time.monotonic() + arguments.seconds
    counts: dict[tuple[str, bool], int] = {}
    rounds = findings = 0
    while rounds < arguments.rounds and time.monotonic() < deadline:
        seed = first + rounds
        if rounds % 5000 == 0:
            print(f"from seed {seed}", flush=True)
        started = time.monotonic()
        try:
            outcome = run_round(seed)
            counts[outcome] = counts.get(outcome, 0) + 1
            assert time.monotonic() - started < SLOWEST_SECONDS, "too slow"
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - a panic of the core is not an Exception
            findings += 1
            print(f"\nseed {seed}:\n{traceback.format_exc()}", flush=True)
        rounds += 1
    for (kind, taken), count in sorted(counts.items()):
        print(f"{kind:8} {'taken' if taken else 'refused':8} {count}")
    print(f"{rounds} rounds, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
