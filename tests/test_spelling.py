"""The spelling of JSON values as an argument: of what it is a part, and where the default comes from."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

import tokenstile as xgr
from tests.json_schema import walk
from tokenstile.structured_output import StructuredOutputManager, StructuredOutputsParams
from tokenstile.structured_output.single_sequence import GrammarCompiler as SingleCompiler

SCHEMA = '{"type": "object", "properties": {"name": {"type": "integer"}}, "required": ["name"]}'
TAG = {"format": {"type": "json_schema", "json_schema": {"type": "integer"}}}
LARK = 'start: %json {"type": "integer"}'
SPELLINGS = ["canonical", "any"]
# A text that only one of the spellings has.
ESCAPED = '{"\\u006eame":1}'


@pytest.fixture
def default():
    """Put the default back that was there before."""
    before = xgr.get_default_spelling()
    yield before
    xgr.set_default_spelling(before)


def has(compiled, text):
    matcher = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True)
    return matcher.accept_string(text) and matcher.is_completed()


@pytest.mark.usefixtures("default")
@pytest.mark.parametrize(
    ("compile_it", "text"),
    [
        (lambda compiler, **options: compiler.compile_json_schema(SCHEMA, **options), ESCAPED),
        (lambda compiler, **options: compiler.compile_structural_tag(TAG, **options), "1.0"),
        (lambda compiler, **options: compiler.compile_lark(LARK, **options), "1.0"),
        (lambda compiler, **options: compiler.compile_builtin_json_grammar(**options), ESCAPED),
    ],
    ids=["schema", "structural tag", "lark", "builtin"],
)
def test_a_cache_knows_both(compile_it, text):
    """What is compiled in one spelling is not found in the other, by name or by default."""
    compiler = xgr.GrammarCompiler(walk.INFO)
    for spelling in (*SPELLINGS, *SPELLINGS):
        assert has(compile_it(compiler, spelling=spelling), text) is (spelling == "any")
        xgr.set_default_spelling(spelling)
        assert has(compile_it(compiler), text) is (spelling == "any")
    assert compiler.get_stats()["compilations"] == len(SPELLINGS)


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: xgr.Grammar.from_json_schema(SCHEMA, **options),
        lambda **options: xgr.Grammar.from_structural_tag(TAG, **options),
        lambda **options: xgr.Grammar.from_lark(LARK, **options),
        xgr.Grammar.builtin_json_grammar,
    ],
    ids=["schema", "structural tag", "lark", "builtin"],
)
def test_grammars_differ(make):
    """Grammars of two spellings are not equal, in no serialised form either."""
    one, other = (make(spelling=spelling) for spelling in SPELLINGS)
    assert one != other
    assert str(one) != str(other)
    assert one.serialize_json() != other.serialize_json()
    for grammar in (one, other):
        assert pickle.loads(pickle.dumps(grammar)) == grammar
        assert xgr.Grammar.deserialize_json(grammar.serialize_json()) == grammar
        assert xgr.Grammar.from_ebnf(str(grammar)) == grammar


def test_compiled_forms_keep_it():
    compiler = xgr.GrammarCompiler(walk.INFO)
    for spelling in SPELLINGS:
        compiled = compiler.compile_json_schema(SCHEMA, spelling=spelling)
        again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), walk.INFO)
        assert has(again, ESCAPED) is has(compiled, ESCAPED) is (spelling == "any")


def test_a_manager_knows_both(default):
    manager = StructuredOutputManager(walk.INFO)
    try:
        for at, spelling in enumerate((*SPELLINGS, None)):
            params = StructuredOutputsParams(json=SCHEMA, spelling=spelling)
            request = manager.grammar_init(str(at), params)
            compiled = request.result(30).matcher.compiled_grammar
            assert has(compiled, ESCAPED) is ((spelling or default) == "any")
    finally:
        manager.shutdown()


def test_a_compiler_of_single_sequences_knows_both():
    compiler = SingleCompiler(walk.INFO)
    made = [compiler.compile_json_schema(SCHEMA, spelling=spelling) for spelling in SPELLINGS]
    assert made[0].cache_key != made[1].cache_key
    assert [has(one.compiled, ESCAPED) for one in made] == [False, True]
    tags = [compiler.compile_structural_tag(TAG, spelling=spelling) for spelling in SPELLINGS]
    assert [has(one.compiled, "1.0") for one in tags] == [False, True]


def test_params_say_what_is_wrong():
    with pytest.raises(xgr.InvalidArgumentError, match="spelling"):
        StructuredOutputsParams(json=SCHEMA, spelling="other")
    for wrong in ("other", 1):
        with pytest.raises(xgr.InvalidArgumentError, match="spelling"):
            xgr.Grammar.from_json_schema(SCHEMA, spelling=wrong)
        with pytest.raises(xgr.InvalidArgumentError, match="spelling"):
            xgr.set_default_spelling(wrong)


def run(code, **variables):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )
    return done.stdout.strip() or done.stderr


def test_the_environment_sets_the_default():
    code = "import tokenstile; print(tokenstile.get_default_spelling())"
    for spelling in SPELLINGS:
        assert run(code, TOKENSTILE_SPELLING=spelling) == spelling
    assert "TOKENSTILE_SPELLING must be" in run(code, TOKENSTILE_SPELLING="other")


def test_installing_as_xgrammar_sets_the_default():
    code = "; ".join(
        [
            "from tokenstile.compat import install_as_xgrammar",
            "install_as_xgrammar(spelling={!r})",
            "import xgrammar",
            "print(xgrammar.get_default_spelling())",
        ]
    )
    for spelling in SPELLINGS:
        assert run(code.format(spelling)) == spelling


NESTED = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "array"}}}}}
RECURSIVE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}}},
}


@pytest.mark.parametrize(
    ("schema", "before", "brackets"),
    [
        (NESTED, "{", 1),
        (NESTED, '{"a":{', 2),
        (NESTED, '{"a":{"b":[', 3),
        (RECURSIVE, "{", 1),
        (RECURSIVE, '{"a":{', 2),
        (RECURSIVE, '{"a":{"a":{', 3),
        (RECURSIVE, '{"a":{"a":{"a":{', 16),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, '{"a":', 1),
        ({"type": "array", "items": {"type": "integer"}}, "[1,", 1),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "[[1],[2", 2),
        ({}, "[", 16),
    ],
)
@pytest.mark.parametrize("strict_mode", [False, True])
def test_lines_are_indented_by_their_depth(schema, before, brackets, strict_mode):
    """A line break has up to eight spaces or a tab for each open bracket, as far as that is known."""
    compiled = xgr.GrammarCompiler(walk.INFO).compile_json_schema(schema, strict_mode=strict_mode)
    for character, most in ((" ", 8 * brackets), ("\t", brackets)):
        for count, fits in ((0, True), (1, True), (most, True), (most + 1, False)):
            text = before + "\n" + count * character
            assert xgr.GrammarMatcher(compiled).accept_string(text) is fits, (text, count)
    assert not xgr.GrammarMatcher(compiled).accept_string(before + "\n \t")
    assert not xgr.GrammarMatcher(compiled).accept_string(before + "  ")


BEYOND = '{"type": "number", "minimum": 1e309}'


def test_tags_name_the_place_that_only_the_other_spelling_writes():
    """What is refused in a structural tag for its spelling alone says so, with the pointer into its schema."""
    schema = f'{{"type": "object", "properties": {{"p": {BEYOND}}}, "required": ["p"]}}'
    tag = f'{{"type": "structural_tag", "format": {{"type": "json_schema", "json_schema": {schema}}}}}'
    with pytest.raises(xgr.exceptions.UnsupportedFeatureError) as caught:
        xgr.Grammar.from_structural_tag(tag)
    assert '"/properties/p"' in str(caught.value)
    assert 'spelling="any"' in str(caught.value)
    assert xgr.Grammar.from_structural_tag(tag, spelling="any")


def test_the_report_names_parts_of_which_nothing_is_written():
    """An optional member without a canonical text is named, and the others are not."""
    schema = f'{{"type": "object", "properties": {{"a": {BEYOND}, "b": {{"type": "number"}}}}}}'
    narrowed = [
        finding.pointer
        for finding in xgr.Grammar.from_json_schema(schema).report
        if finding.keyword == "spelling" and finding.pointer
    ]
    assert narrowed == ["/properties/a"]
    assert not any(
        finding.pointer
        for finding in xgr.Grammar.from_json_schema(schema, spelling="any").report
        if finding.keyword == "spelling"
    )


def test_json_of_any_value_has_both():
    """The ready grammar of JSON follows the spelling."""
    for root, text in (("value", "1"), ("object", '{"a": [1]}'), ("array", "[]"), ("container", "{}")):
        for spelling in SPELLINGS:
            assert xgr.grammars.json(root, spelling=spelling).report is not None
            assert xgr.testing._is_grammar_accept_string(xgr.grammars.json(root, spelling=spelling), text)
    for text in ('{"\\u0061": 1}', "[3E999]", "[\n\n1]"):
        assert not xgr.testing._is_grammar_accept_string(xgr.grammars.json(), text)
        assert xgr.testing._is_grammar_accept_string(xgr.grammars.json(spelling="any"), text)
