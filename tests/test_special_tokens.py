"""Control tokens are no text: on the ten real tokenizers, and on a small vocabulary.

The tokenizers lie in ``../shared/tokenizers``, where that is present.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import tokenizers

import tokenstile as xgr
from tests.real_tokenizers import FOLDER, NAMES

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "tags"],
}


class Loaded(NamedTuple):
    """A vocabulary, the same tokenizer in its own library, and a compiler."""

    info: xgr.TokenizerInfo
    reference: Any
    special: frozenset[int]
    compiler: xgr.GrammarCompiler


@cache
def load(name, folder):
    if not (FOLDER / name).is_dir():
        pytest.skip(f"there is no tokenizer in {FOLDER / name}")
    file = folder / "tokenizer.json"
    file.write_bytes(gzip.decompress((FOLDER / name / "tokenizer.json.gz").read_bytes()))
    shutil.copy(FOLDER / name / "tokenizer_config.json", folder)
    info = xgr.TokenizerInfo.from_file(file)
    reference = tokenizers.Tokenizer.from_file(str(file))
    added = reference.get_added_tokens_decoder()
    special = frozenset(token_id for token_id, token in added.items() if token.special)
    return Loaded(info, reference, special, xgr.GrammarCompiler(info))


@pytest.fixture(scope="module", params=NAMES)
def loaded(request, tmp_path_factory):
    yield load(request.param, tmp_path_factory.mktemp("tokenizer"))
    load.cache_clear()


def allowed(matcher, info):
    mask = xgr.allocate_token_bitmask(1, info.vocab_size)
    matcher.fill_next_token_bitmask(mask)
    bits = np.unpackbits(np.asarray(mask).view(np.uint8), bitorder="little")[: info.vocab_size]
    return np.flatnonzero(bits).tolist()


def grammars(compiler):
    """Grammars that name no token, each with the beginning of a text after which nearly anything may come."""
    yield compiler.compile_json_schema({"type": "string"}), '"'
    yield compiler.compile_json_schema(PERSON, strict_mode=False), '{"name": "'
    yield compiler.compile_builtin_json_grammar(), '{"'
    yield compiler.compile_regex(r"(.|\n)*"), ""
    yield compiler.compile_grammar("root ::= [^x]*"), ""
    yield compiler.compile_structural_tag({"format": {"type": "any_text"}}), ""
    yield compiler.compile_lark("start: /(.|\\n)*/"), ""


def test_no_special_token_is_text(loaded):
    info = loaded.info
    assert loaded.special
    assert loaded.special <= set(info.special_token_ids)
    for compiled, beginning in grammars(loaded.compiler):
        matcher = xgr.GrammarMatcher(compiled)
        assert not beginning or matcher.accept_string(beginning)
        fitting = set(allowed(matcher, info))
        assert len(fitting) > 1_000
        assert fitting & set(info.special_token_ids) <= set(info.stop_token_ids)
        if not matcher.is_completed():
            assert not fitting & loaded.special
        for token in sorted(loaded.special - fitting)[:50]:
            assert matcher.validate_tokens([token]) == 0
            assert not matcher.accept_token(token)


def test_literals_of_text_name_no_token(loaded):
    """Neither a literal of EBNF, nor a choice, nor a constant of a schema, nor a pattern."""
    token = min(loaded.special)
    text = loaded.info.token_bytes(token).decode()
    compiler = loaded.compiler
    for compiled, beginning in (
        (compiler.compile_grammar(f"root ::= {json.dumps(text, ensure_ascii=False)} [a]"), ""),
        (compiler.compile_json_schema({"const": text}), '"'),
        (compiler.compile_json_schema({"enum": [text, 1]}), '"'),
        (
            compiler.compile_regex(
                "".join(f"\\u{{{ord(c):x}}}" for c in text) + "a",
            ),
            "",
        ),
    ):
        matcher = xgr.GrammarMatcher(compiled)
        assert not beginning or matcher.accept_string(beginning)
        assert not set(allowed(matcher, loaded.info)) & loaded.special
        assert matcher.accept_string(text), "it may be spelled"


@pytest.mark.parametrize("seed", range(2))
def test_decoding_skips_nothing_of_a_text(loaded, seed):
    """With special tokens or without, the decoded text is the same, and it is the text that the grammar saw."""
    source = random.Random(seed)  # noqa: S311
    info, reference = loaded.info, loaded.reference
    for compiled, _ in grammars(loaded.compiler):
        matcher = xgr.GrammarMatcher(compiled)
        tokens: list[int] = []
        for _ in range(25):
            fitting = [token for token in allowed(matcher, info) if token not in info.stop_token_ids]
            if not fitting:
                break
            tokens.append(source.choice(fitting))
            assert matcher.accept_token(tokens[-1])
        text = reference.decode(tokens, skip_special_tokens=True)
        assert text == reference.decode(tokens, skip_special_tokens=False)
        twin = xgr.GrammarMatcher(compiled)
        assert twin.accept_string(b"".join(map(info.token_bytes, tokens)))


def test_a_tag_names_the_tokens_in_its_literals(loaded):
    token = max(loaded.special - set(loaded.info.stop_token_ids), default=None)
    if token is None:
        pytest.skip("its only special token is the one that ends a text")
    text = loaded.info.token_bytes(token).decode()
    content = {"type": "json_schema", "json_schema": {"type": "string"}}
    tag = {"type": "tag", "begin": text + "{", "content": content, "end": "}"}
    free = {"type": "triggered_tags", "triggers": [text], "tags": [tag]}
    compiler = loaded.compiler
    for form, grammar in (
        (tag, compiler.compile_structural_tag({"format": tag})),
        (free, compiler.compile_structural_tag({"format": free})),
        # Without a tokenizer nobody knows yet what will be a token.
        (tag, compiler.compile_grammar(xgr.Grammar.from_structural_tag({"format": tag}))),
        (tag, compiler.compile_grammar(str(xgr.Grammar.from_structural_tag({"format": tag})))),
    ):
        matcher = xgr.GrammarMatcher(grammar)
        fitting = set(allowed(matcher, loaded.info))
        assert fitting & loaded.special - set(loaded.info.stop_token_ids) == {token}, form
        assert matcher.fork().accept_string(text + '{"a"}')
        assert matcher.accept_token(token)
        assert matcher.find_jump_forward_string() == '{"'
        assert matcher.accept_string('{"')
        assert not set(allowed(matcher, loaded.info)) & loaded.special
        assert matcher.accept_string('a"}')


# A small vocabulary.

TOKENS = ["a", "b", "<|call|>", "<|end|>", "<", "|", "call", "end", ">", "{", "}", '"', "</s>", "<|x|>"]
CALL, END, STOP, UNMARKED = 2, 3, 12, 13
SMALL = xgr.TokenizerInfo(TOKENS, special_token_ids=[CALL, END, STOP])
PLAIN = xgr.TokenizerInfo(TOKENS)
TAG = {
    "format": {
        "type": "triggered_tags",
        "triggers": ["<|call|>"],
        "tags": [{"begin": "<|call|>", "content": {"type": "regex", "pattern": "[ab]+"}, "end": "<|end|>"}],
    }
}


def matcher_of(compiled, **options):
    return xgr.GrammarMatcher(compiled, **options)


def test_small_masks():
    matcher = matcher_of(xgr.GrammarCompiler(SMALL).compile_structural_tag(TAG))
    assert CALL in allowed(matcher, SMALL)
    assert END not in allowed(matcher, SMALL)
    assert UNMARKED in allowed(matcher, SMALL), "what is not marked is text"
    assert matcher.accept_token(CALL)
    assert allowed(matcher, SMALL) == [0, 1]
    assert matcher.accept_token(0)
    assert allowed(matcher, SMALL) == [0, 1, END, 4]
    assert matcher.accept_token(END)
    assert STOP in allowed(matcher, SMALL)
    assert matcher.validate_tokens([CALL, 1, 4, 5, 7, 5, 8, 0, STOP]) == 9, "text and tokens may be mixed"
    assert matcher.validate_tokens([CALL, CALL]) == 1


def test_what_a_caller_says_is_special():
    """A list has no special tokens unless they are given, and the same grammar is compiled for either."""
    grammar = xgr.Grammar.from_regex(".*")
    plain = matcher_of(xgr.GrammarCompiler(PLAIN).compile_grammar(grammar))
    assert {CALL, END, UNMARKED} <= set(allowed(plain, PLAIN))
    small = matcher_of(xgr.GrammarCompiler(SMALL).compile_grammar(grammar))
    assert set(allowed(plain, PLAIN)) - set(allowed(small, SMALL)) == {CALL, END}
    compiled = xgr.GrammarCompiler(SMALL).compile_grammar(grammar)
    again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), SMALL)
    assert allowed(matcher_of(again), SMALL) == allowed(small, SMALL)


@pytest.mark.parametrize(
    "written",
    ["Token(2)", 'Token("<|call|>")', "<|call|>", 'Marker("<|call|>")'],
)
def test_named_in_ebnf(written):
    matcher = matcher_of(xgr.GrammarCompiler(SMALL).compile_grammar(f'root ::= "a" {written} "b"'))
    assert matcher.validate_tokens([0, CALL, 1, STOP]) == 4
    assert matcher.validate_tokens([0, END]) == 1


def test_sets_of_tokens_have_special_ones():
    compiler = xgr.GrammarCompiler(SMALL)
    any_token = matcher_of(compiler.compile_grammar("root ::= AnyToken()"))
    assert set(allowed(any_token, SMALL)) >= {CALL, END, 0, 4}
    others = matcher_of(compiler.compile_grammar('root ::= ExcludeToken("<|end|>")'))
    assert CALL in allowed(others, SMALL)
    assert END not in allowed(others, SMALL)


def test_literals_of_lark():
    compiler = xgr.GrammarCompiler(SMALL)
    for text in (
        'start: "<|call|>" "a"',
        'start: <|call|> "a"',
        'start: CALL "a"\nCALL: "<|call|>"',
        'start: (tool)* tail\nhead[lazy]: TEXT "<|call|>"\ntool: head "a"\ntail: TEXT\nTEXT: /(.|\\n)*/',
    ):
        matcher = matcher_of(compiler.compile_lark(text))
        assert matcher.validate_tokens([CALL, 0, STOP]) == 3, text
        assert matcher.validate_tokens([END]) == 0, text
        grammar = xgr.Grammar.from_lark(text, tokenizer_info=SMALL)
        assert matcher_of(compiler.compile_grammar(grammar)).validate_tokens([CALL, 0, STOP]) == 3, text
    no_text = matcher_of(compiler.compile_lark("start: /<\\|call\\|>a/"))
    assert no_text.validate_tokens([CALL]) == 0


@pytest.mark.parametrize("ends", ["<|end|>", ["<|end|>", "b"]])
def test_free_text_up_to_a_token(ends):
    tag = {"type": "tag", "begin": "<|call|>", "content": {"type": "any_text"}, "end": ends}
    matcher = matcher_of(xgr.GrammarCompiler(SMALL).compile_structural_tag({"format": tag}))
    assert matcher.validate_tokens([CALL, 0, UNMARKED, END, STOP]) == 5
    assert matcher.validate_tokens([CALL, CALL]) == 1


def test_drafts_and_forced_text():
    matcher = matcher_of(xgr.GrammarCompiler(SMALL).compile_regex("<\\|call\\|>a"))
    assert matcher.find_jump_forward_string() == "<|call|>a"
    assert matcher.validate_tokens([CALL, 0]) == 0
    assert matcher.validate_tokens([4, 5, 6, 5, 8, 0]) == 6
    named = matcher_of(
        xgr.GrammarCompiler(SMALL).compile_structural_tag(
            {"format": {"type": "const_string", "value": "<|call|>a"}}
        )
    )
    assert named.find_jump_forward_string() == "<|call|>a"
    assert named.validate_tokens([CALL, 0, STOP]) == 3


def test_stop_tokens_end_a_text_and_are_none():
    matcher = matcher_of(xgr.GrammarCompiler(SMALL).compile_grammar('root ::= ("a" | "</s>b")*'))
    assert matcher.validate_tokens([0, STOP]) == 2
    spelled = matcher_of(xgr.GrammarCompiler(SMALL).compile_grammar('root ::= "a" "</s>"'))
    assert spelled.validate_tokens([0, STOP]) == 1
    named = {
        "format": {"type": "tag", "begin": "a", "content": {"type": "regex", "pattern": "b?"}, "end": "</s>"}
    }
    matcher = matcher_of(xgr.GrammarCompiler(SMALL).compile_structural_tag(named))
    assert matcher.validate_tokens([0, STOP]) == 2
    assert matcher.accept_token(0)
    assert matcher.accept_token(STOP)
    assert matcher.is_terminated()


@pytest.mark.parametrize(
    "attributes",
    ['suffix="<|x|>"', 'stop="<|x|>"', 'suffix="<|x|>", capture', 'suffix="<|x|>", max_tokens=3'],
)
def test_suffixes_of_lark_name_special_tokens(attributes):
    """A suffix after any text may be the special token or its text, and the rule ends with either."""
    vocabulary = ["a", "b", "z", "<|x|>", "</s>", "<", "|", "x", ">"]
    info = xgr.TokenizerInfo(vocabulary, stop_token_ids=[4], special_token_ids=[3])
    compiled = xgr.GrammarCompiler(info).compile_lark(f'start: t "z"\nt[{attributes}]: /(.|\\n)*/\n')
    matcher = xgr.GrammarMatcher(compiled)
    assert matcher.accept_string("ab")
    assert matcher.accept_token(3)
    matcher = xgr.GrammarMatcher(compiled)
    assert matcher.accept_string("a<|x|>z")
    assert matcher.is_completed()
    assert not matcher.accept_string("a")


def test_any_tokenizer_takes_special_tokens():
    """The constructor that takes whatever describes a tokenizer takes them too, but not where they are known."""
    info = xgr.TokenizerInfo.from_tokenizer(["a", "<|x|>", "</s>"], special_token_ids=[1])
    assert list(info.special_token_ids) == [1, 2] or list(info.special_token_ids) == [1]
    with pytest.raises(xgr.exceptions.InvalidArgumentError, match="special_token_ids"):
        xgr.TokenizerInfo.from_tokenizer(info, special_token_ids=[1])
