"""The module of XGrammar backends behaves as its names read."""

from __future__ import annotations

import gc
import json
from enum import Enum, auto

import pytest
import tokenizers

import tokenstile as xgr
from tests.structured_output.test_tokenizers import Fast, make_tokenizer
from tokenstile.structured_output import xgrammar_backend as names
from tokenstile.structured_output.key import GrammarType, find_grammar_type, find_spec
from tokenstile.structured_output.tokenizers import TokenizerCache

TOKENS = ["<f>", "1", "</f>", "x", "{", "}", '"a"', ":", "</s>"]
ITEM = {"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}
OLDER = {"structures": [ITEM], "triggers": ["<f>"]}


@pytest.fixture
def compiler():
    return names.GrammarCompiler(xgr.TokenizerInfo(TOKENS))


def takes(grammar, *tokens):
    return all(grammar.accept_token(token) for token in tokens)


# Structural tags in all of their forms.

FORMS = {
    "items and triggers": ([ITEM], ["<f>"]),
    "a tuple and a tuple": ((ITEM,), ("<f>",)),
    "the text of items, and triggers": (json.dumps([ITEM]), ["<f>"]),
    "an object of the older form": (OLDER, None),
    "a text of the older form": (json.dumps(OLDER), None),
    "structures, and triggers beside them": ({"structures": [ITEM]}, ["<f>"]),
    "triggers in both, the same": (OLDER, ["<f>"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_older_form_of_a_structural_tag(compiler, form):
    grammar = compiler.compile_structural_tag(*FORMS[form])
    assert takes(grammar, 3, 0, 1, 1, 2, 3, 8)
    grammar.reset()
    assert takes(grammar, 0)
    assert not grammar.accept_token(3)
    stats = compiler.get_stats()
    compiler.compile_structural_tag([ITEM], ["<f>"])
    assert compiler.get_stats()["cache_hits"] == stats["cache_hits"] + 1, "one tag, however it is given"


def test_the_form_of_today(compiler):
    tag = {"format": {"type": "const_string", "value": "x"}}
    for spec in (tag, json.dumps(tag)):
        grammar = compiler.compile_structural_tag(spec)
        assert takes(grammar, 3, 8)


@pytest.mark.parametrize(
    ("spec", "triggers", "said"),
    [
        ([ITEM], None, "triggers must be given"),
        (OLDER, ["x"], "triggers must be given once"),
        ({"format": {"type": "any_text"}}, ["x"], "triggers goes with a list of structures"),
        ({"structures": [ITEM]}, None, "triggers must be a list"),
        ([ITEM], "<f>", "triggers must be a list"),
        ("[", ["x"], "not JSON"),
        (5, None, "structural tag"),
        (5, ["x"], "tags must be a list"),
        ([5], ["x"], "a tag is a StructuralTagItem"),
    ],
)
def test_what_is_no_structural_tag(compiler, spec, triggers, said):
    with pytest.raises(xgr.TokenstileError, match=said):
        compiler.compile_structural_tag(spec, triggers)


# The cache takes what the module makes.


def test_a_grammar_is_put_into_the_cache(compiler):
    grammar = compiler.compile_regex("x1*")
    assert grammar.accept_token(3)
    compiler._put_cached("mine", grammar)
    found = compiler._get_cached("mine")
    assert isinstance(found, names.CompiledGrammar)
    assert found.compiled is grammar.compiled
    assert not found.accept_token(1), "it begins at its start"
    assert takes(found, 3, 1)
    assert takes(compiler._get_cached("mine"), 3), "and so does the next"
    assert grammar.accept_token(1), "the one that was put there goes on"
    compiler.clear_cache()
    assert compiler._get_cached("mine") is None


def test_a_grammar_without_a_place_is_put_into_the_cache(compiler):
    info = compiler.tokenizer_info
    compiler._put_cached("core", xgr.GrammarCompiler(info).compile_regex("x"))
    assert takes(compiler._get_cached("core"), 3, 8)


def test_what_the_cache_does_not_take(compiler):
    with pytest.raises(xgr.InvalidArgumentError, match="grammar must be a CompiledGrammar, not str"):
        compiler._put_cached("a", "x")
    other = names.GrammarCompiler(xgr.TokenizerInfo(["a", "</s>"])).compile_regex("a")
    with pytest.raises(xgr.InvalidArgumentError, match="another vocabulary"):
        compiler._put_cached("a", other)


def test_without_a_cache_nothing_is_kept():
    compiler = names.GrammarCompiler(xgr.TokenizerInfo(TOKENS), cache_enabled=False)
    compiler._put_cached("a", compiler.compile_regex("x"))
    assert compiler._get_cached("a") is None


# Kinds by their names.


class Options(Enum):
    """As another library has it."""

    JSON = auto()
    STRUCTURAL_TAG = auto()


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
KINDS = [
    ("json", json.dumps(SCHEMA), (4, 6, 7, 1, 5, 8)),
    ("JSON", SCHEMA, (4, 6, 7, 1, 5, 8)),
    ("json_schema", SCHEMA, (4, 6, 7, 1, 5, 8)),
    (Options.JSON, SCHEMA, (4, 6, 7, 1, 5, 8)),
    (GrammarType.JSON_SCHEMA, SCHEMA, (4, 6, 7, 1, 5, 8)),
    ("json", True, (1, 8)),
    ("json_object", "", (4, 5, 8)),
    ("json_object", None, (4, 5, 8)),
    ("regex", "x1*", (3, 1, 8)),
    ("choice", ["x", "1"], (3, 8)),
    ("choice", '["x", "1"]', (1, 8)),
    ("grammar", 'root ::= "x"', (3, 8)),
    ("ebnf", 'root ::= "x"', (3, 8)),
    ("grammar", 'start: "x"', (3, 8)),
    ("lark", 'start: "x"', (3, 8)),
    ("structural_tag", OLDER, (3, 0, 1, 2, 8)),
    (Options.STRUCTURAL_TAG, json.dumps(OLDER), (3, 0, 1, 2, 8)),
]


@pytest.mark.parametrize("make", [names.XGrammarBackend, names.AsyncXGrammarBackend])
@pytest.mark.parametrize("case", range(len(KINDS)))
def test_kinds_by_their_names(make, case):
    kind, spec, tokens = KINDS[case]
    backend = make(TOKENS)
    grammar = backend.compile_grammar(kind, spec)
    assert isinstance(grammar, names.XGrammarGrammar)
    assert takes(grammar, *tokens)
    assert grammar.is_terminated()
    backend.destroy()


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("jsn", "{}", "grammar_type must be one of .*choice, ebnf, .*, not 'jsn'"),
        (5, "{}", "grammar_type must be a GrammarType or the name of one, not int"),
        (None, "{}", "grammar_type must be a GrammarType"),
        ("json", 5, "grammar_spec must be str or Mapping or bool for json, not int"),
        ("json", None, "grammar_spec must be str or Mapping or bool for json, not NoneType"),
        ("regex", {"a": 1}, "grammar_spec must be str for regex, not dict"),
        ("regex", None, "grammar_spec must be str for regex, not NoneType"),
        ("grammar", b"x", "grammar_spec must be str for grammar, not bytes"),
        ("lark", ["x"], "grammar_spec must be str for lark, not list"),
        ("choice", {"a": 1}, "grammar_spec must be str or list or tuple for choice, not dict"),
        ("choice", [1], "array of at least one text"),
        ("structural_tag", [1], "grammar_spec must be str or Mapping for structural_tag, not list"),
        ("json_object", False, "grammar_spec must be str for json_object, not bool"),
        ("json", {"a": {1}}, "grammar_spec is not JSON"),
        ("json", {"a": float("nan")}, "grammar_spec is not JSON"),
    ],
)
def test_what_is_no_kind_or_no_spec(kind, spec, said):
    backend = names.XGrammarBackend(TOKENS)
    with pytest.raises(xgr.InvalidArgumentError, match=said):
        backend.compile_grammar(kind, spec)


def test_every_kind_has_its_name():
    for member in GrammarType:
        assert find_grammar_type(member.value) is member
        assert find_grammar_type(member.name) is member
    assert find_spec(GrammarType.JSON, {"a": 1}) == '{"a": 1}'


def test_wrong_arguments_of_the_compiler_name_them(compiler):
    for call, said in {
        compiler.compile_regex: "regex must be a str",
        compiler.compile_grammar: "grammar must be a str",
        compiler.compile_json_schema: "schema should be",
        compiler.compile_structural_tag: "structural tag is",
    }.items():
        with pytest.raises(xgr.InvalidArgumentError, match=said):
            call(5)
    assert takes(compiler.compile_grammar(xgr.Grammar.from_ebnf('root ::= "x"')), 3, 8)


# Tokenizers that were seen before.


def count_reads(monkeypatch):
    reads = []
    read = xgr.TokenizerInfo.from_tokenizer.__func__

    def counting(cls, tokenizer, *arguments, **options):
        reads.append(tokenizer)
        return read(cls, tokenizer, *arguments, **options)

    monkeypatch.setattr(xgr.TokenizerInfo, "from_tokenizer", classmethod(counting))
    return reads


@pytest.mark.parametrize("make", [Fast, make_tokenizer, lambda: ["a", "b", "own words", "</s>"]])
def test_a_tokenizer_that_was_seen_is_not_read_again(monkeypatch, make):
    reads = count_reads(monkeypatch)
    tokenizer, equal = make(), make()
    first = names.XGrammarBackend(tokenizer)
    assert len(reads) == 1
    for kind in (names.XGrammarBackend, names.AsyncXGrammarBackend):
        again = kind(tokenizer)
        assert again.tokenizer_info is first.tokenizer_info
        again.destroy()
    assert len(reads) == 1
    other = names.XGrammarBackend(equal)
    assert len(reads) == 2
    assert other.tokenizer_info is first.tokenizer_info, "an equal one shares what was read"
    assert names.XGrammarBackend(tokenizer, 40).tokenizer_info.vocab_size == 40


def test_a_tokenizer_that_was_changed_is_read_again():
    tokenizer = make_tokenizer()
    before = names.XGrammarBackend(tokenizer).tokenizer_info
    tokenizer.add_tokens(["added"])
    after = names.XGrammarBackend(tokenizer).tokenizer_info
    assert after.decoded_vocab == [*before.decoded_vocab, b"added"]
    tokenizer.add_special_tokens([tokenizers.AddedToken("added", special=True)])
    assert names.XGrammarBackend(tokenizer).tokenizer_info.special_token_ids == [3, 4]
    words = ["a", "b", "</s>"]
    names.XGrammarBackend(words)
    words[1] = "c"
    assert names.XGrammarBackend(words).tokenizer_info.decoded_vocab == [b"a", b"c", b"</s>"]
    fast = Fast()
    assert names.XGrammarBackend(fast).tokenizer_info.stop_token_ids == [3]
    fast.eos_token_id = 1
    assert names.XGrammarBackend(fast).tokenizer_info.stop_token_ids == [1]


def test_the_cache_of_tokenizers_is_bounded():
    cache = TokenizerCache()
    kept = [Fast() for _ in range(cache.LIMIT + 5)]
    for tokenizer in kept:
        cache.find(tokenizer)
    lists = [["a", f"{number}", "</s>"] for number in range(cache.LIMIT + 5)]
    for tokens in lists:
        cache.find(tokens)
    assert len(cache) == cache.LIMIT
    del kept
    gc.collect()
    assert len(cache) == cache.LIMIT
    assert cache.find(lists[-1]).info.decoded_vocab[1] == str(cache.LIMIT + 4).encode()


# Numbers.


def run_some(backend):
    grammar = backend.compile_grammar("regex", "x1(1|<f>)x")
    backend.compile_grammar("regex", "x1(1|<f>)x")
    mask = backend.allocate_token_bitmask(1)
    assert grammar.jump_forward_string() == "x1"
    for token in (3, 1, 1):
        grammar.fill_next_token_bitmask(mask)
        assert grammar.accept_token(token)
    assert not grammar.accept_token(1)
    assert not grammar.accept_tokens("", [1, 1])
    grammar.rollback(2)
    grammar.rollback(0)
    assert grammar.validate_tokens([1, 0, 3, 8]) == [1, 0, 3, 8]
    assert grammar.accept_tokens("", [1, 0, 3])
    grammar.fill_bitmask(mask, 0)
    other = grammar.fresh()
    other.fill_bitmask(mask, 0)
    return grammar


def test_a_backend_says_what_its_grammars_did():
    backend = names.XGrammarBackend(TOKENS)
    run_some(backend)
    stats = backend.get_stats()
    counted = {
        "masks": 5,
        "accepts": 6,
        "rejects": 2,
        "rollbacks": 1,
        "rolled_back_tokens": 2,
        "jump_forward_texts": 1,
        "jump_forward_characters": 2,
        "validated_tokens": 4,
        "cache_hits": 1,
        "requests": 2,
        "decided_tokens": 0,
    }
    assert {name: stats[name] for name in counted} == counted
    for name in ("mask", "accept", "compile_call"):
        p50, p99, total = (stats[f"{name}_seconds{end}"] for end in ("_p50", "_p99", ""))
        assert 0 < p50 <= p99
        assert p99 <= total * 1.07
    assert all(isinstance(number, int | float) for number in stats.values())


def test_measuring_can_be_off_and_then_costs_nothing():
    backend = names.XGrammarBackend(TOKENS, measure=False)
    grammar = run_some(backend)
    assert type(grammar) is names.XGrammarGrammar
    assert type(grammar.fresh()) is names.XGrammarGrammar
    assert "masks" not in backend.get_stats()
    assert backend.get_stats()["cache_hits"] == 1


def test_measuring_how_much_is_decided_without_the_context():
    backend = names.XGrammarBackend(TOKENS, count_decided=True)
    run_some(backend)
    stats = backend.get_stats()
    assert stats["masks"] == 5
    # A regular grammar is one terminal: nothing lies below it that could matter.
    assert stats["decided_tokens"] == 5 * len(TOKENS)
    assert (stats["open_tokens"], stats["decided_share"]) == (0, 1)
