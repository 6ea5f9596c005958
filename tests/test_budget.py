"""`max_tokens`: outputs that are complete within a number of tokens, whatever is sampled."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from pathlib import Path

import numpy as np
import pytest

import tokenstile as xgr
from tests.real_tokenizers import read
from tokenstile.testing import bitmask_to_bool_mask

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
ANY_JSON = (
    'root ::= value\nvalue ::= "[" (value ("," value)*)? "]" | "{" (pair ("," pair)*)? "}" | "1" | text\n'
)
ANY_JSON += 'pair ::= text ":" value\ntext ::= "\\"" [^"\\\\]* "\\""\n'
WORD = {"type": "string"}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 3},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "minItems": 2},
        "age": {"type": "integer"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    "required": ["name", "tags", "address"],
}


def mask_of(matcher, size):
    mask = np.zeros(xgr.get_bitmask_shape(1, size), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    return bitmask_to_bool_mask(mask, size)[0]


def allowed(matcher, size):
    return np.flatnonzero(mask_of(matcher, size)).tolist()


def least(compiled, **options):
    with pytest.raises(xgr.TokenBudgetError) as caught:
        xgr.GrammarMatcher(compiled, max_tokens=0, **options)
    return caught.value.tokens_needed


def walk(matcher, size, choose):
    """Take tokens until the output has ended, and check that the mask says what is accepted."""
    tokens = []
    while not matcher.is_terminated():
        left = matcher.tokens_left
        mask = mask_of(matcher, size)
        assert mask.any(), f"a dead end after {tokens}"
        assert matcher.tokens_needed <= left
        # As an array: there may be a hundred thousand.
        choices = np.flatnonzero(mask)
        asked = random.sample(range(size), min(40, size)) + [any_token(matcher, choices) for _ in range(20)]
        for token in asked:
            assert (matcher.validate_tokens([token]) == 1) == mask[token], token
        token = choose(matcher, choices)
        assert matcher.accept_token(token)
        assert matcher.tokens_left == left - 1
        tokens.append(token)
    return tokens


def text_of(info, tokens):
    """Give the text of tokens without the one that stopped."""
    return b"".join(info.token_bytes(token) for token in tokens[:-1]).decode()


def any_token(_matcher, choices):
    return int(choices[random.randrange(len(choices))])  # noqa: S311 - a test


def dearest(matcher, choices):
    """Choose, of some tokens, the one after which most tokens are needed."""

    def needed(token):
        fork = matcher.fork()
        fork.accept_token(token)
        return fork.tokens_needed

    some = random.sample(range(len(choices)), min(12, len(choices)))
    return max((int(choices[at]) for at in some), key=needed)


def endless(matcher, choices):
    others = choices[~np.isin(choices, matcher.stop_token_ids)]
    return any_token(matcher, others if len(others) else choices)


@pytest.fixture(scope="module")
def compiler(info):
    return xgr.GrammarCompiler(info)


@pytest.mark.parametrize("choose", [any_token, dearest, endless])
@pytest.mark.parametrize("max_tokens", [2, 3, 5, 17, 60])
def test_json_is_never_cut_off(compiler, info, choose, max_tokens):
    random.seed(max_tokens)
    compiled = compiler.compile_grammar(ANY_JSON)
    for _ in range(5):
        matcher = xgr.GrammarMatcher(compiled, max_tokens=max_tokens)
        tokens = walk(matcher, info.vocab_size, choose)
        assert len(tokens) <= max_tokens
        json.loads(text_of(info, tokens), strict=False)


@pytest.mark.parametrize("choose", [any_token, dearest, endless])
@pytest.mark.parametrize("more", [0, 1, 10, 40])
def test_a_schema_is_kept_with_the_least_budget(compiler, info, choose, more):
    random.seed(more)
    compiled = compiler.compile_json_schema(PERSON)
    max_tokens = least(compiled) + more
    tokens = walk(xgr.GrammarMatcher(compiled, max_tokens=max_tokens), info.vocab_size, choose)
    assert len(tokens) <= max_tokens
    value = json.loads(text_of(info, tokens))
    assert {"name", "tags", "address"} <= value.keys()


def test_the_stop_token_counts_unless_none_is_needed(compiler, stop):
    compiled = compiler.compile_grammar('root ::= "a" "b"*')
    matcher = xgr.GrammarMatcher(compiled, max_tokens=2)
    assert allowed(matcher, 143) == [97, 128]  # "a", "ab"
    assert matcher.accept_token(97)
    assert allowed(matcher, 143) == [stop]
    assert not matcher.accept_token(98)
    assert matcher.accept_token(stop)
    assert matcher.tokens_left == 0
    matcher = xgr.GrammarMatcher(compiled, max_tokens=2, terminate_without_stop_token=True)
    assert len(allowed(matcher, 143)) == 2  # "a", "ab"
    assert matcher.accept_token(97)
    assert matcher.accept_token(98)
    assert matcher.is_terminated()
    assert allowed(matcher, 143) == []


def test_too_small_a_budget_is_an_error_that_says_what_is_enough(compiler):
    compiled = compiler.compile_grammar('root ::= "abcd" "x"{3}')
    with pytest.raises(xgr.TokenBudgetError, match=r"a budget of 5 tokens is too small.*takes 6") as caught:
        xgr.GrammarMatcher(compiled, max_tokens=5)
    error = caught.value
    assert (error.max_tokens, error.tokens_needed) == (5, 6)
    assert isinstance(error, (ValueError, RuntimeError))
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.tokens_needed, str(copy)) == (6, str(error))
    assert xgr.GrammarMatcher(compiled, max_tokens=6).tokens_needed == 6
    assert least(compiled, terminate_without_stop_token=True) == 5


def test_a_vocabulary_that_cannot_spell_the_grammar():
    info = xgr.TokenizerInfo(["a", "b", "</s>"])
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "az"')
    with pytest.raises(xgr.TokenBudgetError, match="can spell") as caught:
        xgr.GrammarMatcher(compiled, max_tokens=100)
    assert caught.value.tokens_needed is None
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "az" | "b" root | "b"')
    assert allowed(xgr.GrammarMatcher(compiled, max_tokens=100), 3) == [1]
    assert allowed(xgr.GrammarMatcher(compiled), 3) == [0, 1]


@pytest.mark.parametrize("wrong", [-1, "3", 2.5])
def test_wrong_budgets(compiler, wrong):
    with pytest.raises((TypeError, xgr.exceptions.InvalidArgumentError)):
        xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a"'), max_tokens=wrong)


def test_a_huge_budget_is_no_budget(compiler):
    compiled = compiler.compile_grammar(ANY_JSON)
    matcher = xgr.GrammarMatcher(compiled, max_tokens=10**30)
    assert allowed(matcher, 143) == allowed(xgr.GrammarMatcher(compiled), 143)


def test_without_a_budget_nothing_is_counted(compiler):
    matcher = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a"'))
    assert matcher.tokens_left is None
    assert matcher.tokens_needed is None
    assert matcher.accept_string("a", token_count=7)


def test_going_back_gives_tokens_back(compiler):
    compiled = compiler.compile_grammar(ANY_JSON)
    matcher = xgr.GrammarMatcher(compiled, max_tokens=12)
    assert matcher.accept_string("[[[", token_count=3)
    before = allowed(matcher, 143)
    fork = matcher.fork()
    assert fork.accept_token(ord("["))
    assert fork.accept_token(ord("1"))
    assert (fork.tokens_left, matcher.tokens_left) == (7, 9)
    fork.rollback(2)
    assert (fork.tokens_left, allowed(fork, 143)) == (9, before)
    matcher.rollback(1)
    assert matcher.tokens_left == 12
    fork.reset()
    assert fork.tokens_left == 12


def test_strings_count(compiler):
    compiled = compiler.compile_grammar('root ::= "ab"* "c"?')
    matcher = xgr.GrammarMatcher(compiled, max_tokens=6)
    assert matcher.accept_string("ababab")  # "ab" is a token
    assert matcher.tokens_left == 3
    assert not matcher.accept_string("ab" * 3)
    assert not matcher.accept_string("ab", token_count=3)
    assert matcher.accept_string("ab", token_count=2)
    assert allowed(matcher, 143) == [142]
    with pytest.raises(xgr.exceptions.InvalidArgumentError, match="token_count"):
        matcher.accept_string("", token_count=-1)


def test_drafts_and_batches_keep_the_budget(compiler, info, stop):
    compiled = compiler.compile_grammar('root ::= "a"* "b"')
    matcher = xgr.GrammarMatcher(compiled, max_tokens=4)
    assert matcher.validate_tokens([97, 97, 97, 97]) == 2
    children, siblings = np.array([1, 2, 3, -1]), np.array([-1, -1, -1, -1])
    bitmask = np.zeros((4, 5), dtype=np.int32)
    assert matcher.traverse_draft_tree(children, siblings, np.array([0, 97, 97, 97]), bitmask)
    rows = [np.flatnonzero(row).tolist() for row in bitmask_to_bool_mask(bitmask, info.vocab_size)]
    ab = 128
    assert rows == [[97, 98, ab], [97, 98, ab], [98, ab], []]
    assert matcher.tokens_left == 4
    batch = xgr.BatchGrammarMatcher(max_threads=2)
    matchers = [xgr.GrammarMatcher(compiled, max_tokens=3) for _ in range(40)]
    assert all(xgr.BatchGrammarMatcher.batch_accept_token(matchers, [97] * 40))
    assert not any(xgr.BatchGrammarMatcher.batch_accept_token(matchers, [97] * 40))
    bitmask = np.zeros((40, 5), dtype=np.int32)
    batch.batch_fill_next_token_bitmask(matchers, bitmask)
    assert all(
        np.flatnonzero(row).tolist() == [98, ab] for row in bitmask_to_bool_mask(bitmask, info.vocab_size)
    )
    assert all(xgr.BatchGrammarMatcher.batch_accept_token(matchers, [98] * 40))
    assert all(xgr.BatchGrammarMatcher.batch_accept_token(matchers, [stop] * 40))


def test_what_must_come_can_be_afforded(compiler):
    compiled = compiler.compile_json_schema(PERSON)
    matcher = xgr.GrammarMatcher(compiled, max_tokens=least(compiled))
    forced = matcher.find_jump_forward_string()
    if forced:
        assert matcher.accept_string(forced)


@pytest.fixture(scope="module", params=["llama3_1", "smollm2"])
def real(request, tmp_path_factory):
    return read(request.param, tmp_path_factory.mktemp(request.param))


SHAPES = {
    "length": {"type": "array", "items": {"type": "string", "minLength": 3, "maxLength": 30}, "minItems": 2},
    "pattern": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
    "keys": {
        "type": "object",
        "properties": {"name": WORD, "nick": WORD},
        "additionalProperties": {"type": "string", "maxLength": 5},
        "required": ["nick"],
    },
    "any keys": {"type": "object", "additionalProperties": {"type": "boolean"}, "minProperties": 2},
    "numbers": {"type": "array", "items": {"type": "number", "minimum": 10, "maximum": 999}, "minItems": 2},
    "recursive": {"type": "object", "properties": {"child": {"$ref": "#"}, "v": WORD}, "required": ["v"]},
}
THOUGHT = """
root ::= "<think>" thought "</think>" "{\\"a\\":\\"" [^"\\\\]* "\\"}"
thought[max_tokens=3] ::= [^<]*
"""


@pytest.mark.parametrize("more", [0, 1, 5, 25])
@pytest.mark.parametrize("name", [*SHAPES, "thought"])
def test_shapes_with_real_vocabularies(real, name, more):
    random.seed(more)
    compiler = xgr.GrammarCompiler(real)
    is_schema = name in SHAPES
    compiled = compiler.compile_json_schema(SHAPES[name]) if is_schema else compiler.compile_grammar(THOUGHT)
    max_tokens = least(compiled) + more
    for choose in (any_token, endless):
        tokens = walk(xgr.GrammarMatcher(compiled, max_tokens=max_tokens), real.vocab_size, choose)
        assert len(tokens) <= max_tokens
        json.loads(text_of(real, tokens).rpartition("</think>")[2], strict=False)


def test_a_mask_that_is_narrowed_is_what_is_accepted_token_by_token(real):
    """Inside of strings nearly all tokens fit, and most of them are decided at one stroke."""
    compiler = xgr.GrammarCompiler(real)
    for name, start in [
        ("length", '["ab'),
        ("pattern", '"ab'),
        ("keys", '{"na'),
        ("keys", '{"nick":"'),
        ("any keys", '{"'),
    ]:
        compiled = compiler.compile_json_schema(SHAPES[name])
        probe = xgr.GrammarMatcher(compiled, max_tokens=1000)
        assert probe.accept_string(start)
        for more in (0, 1, 2):
            matcher = xgr.GrammarMatcher(compiled, max_tokens=1000)
            assert matcher.accept_string(start, token_count=1000 - probe.tokens_needed - more)
            fits = set(allowed(matcher, real.vocab_size))
            accepted = {t for t in range(real.vocab_size) if matcher.validate_tokens([t]) == 1}
            assert fits == accepted, (name, start, more)


def schemas(count):
    path = SHARED / "maskbench" / "dev.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["schema"] for line, _ in zip(lines, range(count), strict=False)]


@pytest.mark.parametrize("choose", [any_token, endless])
def test_real_schemas_with_real_vocabularies(real, choose):
    random.seed(1)
    compiler = xgr.GrammarCompiler(real)
    finished = 0
    for schema in schemas(40):
        try:
            compiled = compiler.compile_json_schema(schema)
        except xgr.GrammarError:
            continue
        needed = least(compiled)
        if needed is None or needed > 150:
            continue
        for more in (0, 7):
            matcher = xgr.GrammarMatcher(compiled, max_tokens=needed + more)
            tokens = walk(matcher, real.vocab_size, choose)
            assert len(tokens) <= needed + more
            json.loads(text_of(real, tokens))
            finished += 1
    assert finished > 20


ITEMS = {
    "anything": {
        "type": "object",
        "properties": {"a": {"type": "array", "uniqueItems": True}},
        "required": ["a"],
    },
    "records": {
        "type": "array",
        "uniqueItems": True,
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "on": {"type": "boolean"}},
            "required": ["on"],
            "additionalProperties": False,
        },
    },
    "numbers in arrays": {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "array", "items": {"type": "number"}, "uniqueItems": True},
    },
    "optional": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "uniqueItems": True, "items": {"type": ["string", "number"]}},
        },
        "required": ["name"],
    },
    "several": {"type": "array", "uniqueItems": True, "minItems": 3, "items": {"type": ["number", "array"]}},
    "several, which may be left out": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "rows": {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"type": "array"}},
        },
        "required": ["name"],
    },
}

OF_OTHERS = {
    "type": "array",
    "uniqueItems": True,
    "minItems": 2,
    "items": {"minProperties": 1, "type": "object"},
}
"""An array of which no text is known: what the keys of its items are depends on those before them."""


@pytest.mark.parametrize("choose", [any_token, dearest, endless])
@pytest.mark.parametrize("name", ITEMS)
def test_items_that_differ_are_complete_in_time(compiler, info, name, choose):
    random.seed(name)
    compiled = compiler.compile_json_schema(ITEMS[name])
    needed = least(compiled)
    for more in (0, 1, 2, 5, 20, 80):
        matcher = xgr.GrammarMatcher(compiled, max_tokens=needed + more)
        tokens = walk(matcher, info.vocab_size, choose)
        assert len(tokens) <= needed + more
        json.loads(text_of(info, tokens))


def test_what_several_items_that_must_differ_take(compiler, info):
    schema = {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"type": "integer"}}
    compiled = compiler.compile_json_schema(schema)
    # Its parts, a text whose items differ, and what is set aside.
    assert least(compiled) <= 5 + 1 + 5 + 64
    for first in ("0", "1", "-1", "12"):
        matcher = xgr.GrammarMatcher(compiled, max_tokens=least(compiled) + 2)
        assert matcher.accept_string(f"[{first}"), first
        text = walk(matcher, info.vocab_size, any_token)
        items = json.loads(f"[{first}{text_of(info, text)}")
        assert len(items) == len(set(items)) >= 2


def test_several_items_of_which_no_text_is_known_take_no_budget(compiler):
    compiled = compiler.compile_json_schema(OF_OTHERS)
    with pytest.raises(xgr.TokenBudgetError, match="two items or more of which none are equal") as caught:
        xgr.GrammarMatcher(compiled, max_tokens=1000)
    assert caught.value.tokens_needed is None
    assert caught.value.pointer == ""
    # Strings are told apart by the grammar itself.
    strings = compiler.compile_json_schema({**OF_OTHERS, "items": {"type": "string"}})
    assert xgr.GrammarMatcher(strings, max_tokens=1000).tokens_needed


def test_the_array_that_takes_no_budget_is_named_with_its_place_and_what_to_do(compiler, info):
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"b": OF_OTHERS}, "required": ["b"]},
        },
        "required": ["a"],
    }
    error = r"the array of the schema at /properties/a/properties/b must have two items.*`minItems`.*without a budget"
    compiled = compiler.compile_json_schema(schema)
    again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), info)
    for one in (compiled, again):
        with pytest.raises(xgr.TokenBudgetError, match=error) as caught:
            xgr.GrammarMatcher(one, max_tokens=1000)
        assert caught.value.pointer == "/properties/a/properties/b"
        assert pickle.loads(pickle.dumps(caught.value)).pointer == caught.value.pointer
    # Where it may be left out it is.
    matcher = xgr.GrammarMatcher(compiler.compile_json_schema({**schema, "required": []}), max_tokens=1000)
    assert not matcher.accept_string('{"a"')
    numbers = compiler.compile_grammar(
        'root ::= list\nlist[distinct_items] ::= "[" n ("," n){900} "]"\nn ::= [1-9] [0-9]*\n'
    )
    with pytest.raises(xgr.TokenBudgetError, match="the array of the rule `list` must") as caught:
        xgr.GrammarMatcher(numbers, max_tokens=100_000)
    assert caught.value.pointer is None


NAMES = [f"{first}_{second}" for first in ("note", "name", "number") for second in "abcde"]
SLOW_ONCE = {
    "fifteen names in any order among any others": {
        "type": "object",
        "properties": dict.fromkeys([*NAMES, "remark"], WORD),
        "required": NAMES,
    },
    "one key of any name": {"type": "object", "minProperties": 1},
    "few names of many": {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in NAMES},
        "required": NAMES[:4],
        "maxProperties": 12,
    },
    "a date somewhere in a text": {
        "type": "object",
        "properties": {"day": {"type": "string", "pattern": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"}},
        "required": ["day"],
    },
    "a path or nothing": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "pattern": r"^(/[a-z0-9._~-]+(%[0-9a-f]{2})*)*$"},
            "size": {"type": "number"},
        },
        "required": ["path", "size"],
    },
    "two kinds of objects": {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": kind}, **dict.fromkeys(names, WORD)},
                "required": ["kind", *names],
            }
            for kind, names in (("first", NAMES[:3]), ("second", NAMES[2:6]))
        ]
    },
    # Where no kind must be given each object has to break something of all the others: members are counted for that.
    "objects of which exactly one may fit": {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"enum": [kind]}, **dict.fromkeys(names, WORD)},
                "required": names[:2],
            }
            for kind, names in (("first", NAMES[:5]), ("second", NAMES[3:8]), ("third", NAMES[6:12]))
        ]
    },
    "a kind that one of several counts asks for": {
        "type": "object",
        "properties": {
            "kind": {"enum": ["first", "second"]},
            **{name: {"type": "integer"} for name in NAMES[:6]},
        },
        "required": NAMES[:2],
        "not": {
            "properties": {"kind": {"const": "first"}, NAMES[0]: {"maximum": 5}},
            "required": ["kind"],
        },
    },
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", SLOW_ONCE)
def test_masks_are_what_is_accepted_where_they_were_slow(compiler, info, name, strict):
    random.seed(len(name))
    compiled = compiler.compile_json_schema(SLOW_ONCE[name], strict_mode=strict, any_order=True)
    needed = least(compiled)
    for more in (0, 1, 5, 20, 150):
        for choose in (any_token, dearest):
            tokens = walk(xgr.GrammarMatcher(compiled, max_tokens=needed + more), info.vocab_size, choose)
            assert len(tokens) <= needed + more
            json.loads(text_of(info, tokens))
