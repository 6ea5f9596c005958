"""What once was wrong, each as small as it can be."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import tokenstile as ts


def allowed(matcher: ts.GrammarMatcher, size: int) -> list[int]:
    mask = np.zeros((1, -(-size // 32)), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    return [token for token in range(size) if mask[0, token // 32] >> (token % 32) & 1]


def matcher(grammar: str, info: ts.TokenizerInfo) -> ts.GrammarMatcher:
    return ts.GrammarMatcher(ts.GrammarCompiler(info).compile_grammar(grammar))


@pytest.mark.parametrize("grammar", ['ExcludeToken(0) "a"', '!<[0]> "a"'])
def test_all_tokens_but_some_are_tokens_with_bytes(grammar: str) -> None:
    info = ts.TokenizerInfo(["a", "b", "</s>"], vocab_size=10)
    place = matcher(f"root ::= {grammar}", info)
    assert allowed(place, 10) == [1]
    assert not place.accept_token(7)


def test_a_named_token_may_have_no_bytes() -> None:
    info = ts.TokenizerInfo(["a", "b", "</s>"], vocab_size=10)
    assert allowed(matcher("root ::= Token(8)", info), 10) == [8]


def test_a_stop_token_that_alone_fits_is_text() -> None:
    info = ts.TokenizerInfo(["a", "b", "</s>", "q"])
    place = matcher('root ::= "a" "</s>" "b"', info)
    assert place.accept_token(0)
    assert allowed(place, 4) == [2]
    assert place.accept_token(2)
    assert not place.is_terminated()
    assert place.accept_token(1)
    assert place.is_completed()


def test_a_stop_token_is_not_text_where_letters_fit() -> None:
    info = ts.TokenizerInfo(["a", "<", "/", "s", ">", "</s>"])
    place = matcher('root ::= "a" "</s>" "a"', info)
    assert place.accept_token(0)
    assert allowed(place, 6) == [1]


def test_many_grammars_are_joined_in_linear_time() -> None:
    part = ts.Grammar.from_ebnf('root ::= "a" | rest\nrest ::= "b" rest | "c"')
    text = str(ts.Grammar.concat(*[part] * 5000))
    assert len(text) < 1_000_000


def test_joining_again_and_again_keeps_names_short() -> None:
    part = ts.Grammar.from_ebnf('root ::= "a"')
    whole = part
    for _ in range(60):
        whole = ts.Grammar.concat(whole, part)
    assert len(str(whole)) < 10_000


def test_a_saved_grammar_is_refused_by_another_vocabulary(tmp_path: Path) -> None:
    first, second = ts.TokenizerInfo(["<x>", "b", "</s>"]), ts.TokenizerInfo(["b", "<x>", "</s>"])
    compiled = ts.GrammarCompiler(first).compile_grammar('root ::= <x> "b"')
    compiled.save(tmp_path / "grammar")
    assert ts.CompiledGrammar.load(tmp_path / "grammar", first).tokenizer_info == first
    with pytest.raises(ts.DeserializeFormatError):
        ts.CompiledGrammar.load(tmp_path / "grammar", second)


def test_a_mapping_is_not_a_vocabulary() -> None:
    with pytest.raises(ts.exceptions.InvalidArgumentError, match="mapping"):
        ts.TokenizerInfo({"a": 0, "b": 1})  # type: ignore[arg-type]


def test_only_special_tokens_of_a_file_end_a_text(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    special = '{"id": 2, "content": "<|im_end|>", "special": true}'
    file.write_text(f'{{"added_tokens": [{special}], "model": {{"vocab": {{"a": 0, "</s>": 1}}}}}}')
    assert ts.TokenizerInfo.from_file(file).stop_token_ids == [2]


def test_a_file_that_names_no_stop_token_warns(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    special = '{"id": 1, "content": "<pad>", "special": true}'
    file.write_text(f'{{"added_tokens": [{special}], "model": {{"vocab": {{"a": 0}}}}}}')
    with pytest.warns(UserWarning, match="stop_token_ids"):
        ts.TokenizerInfo.from_file(file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.TokenizerInfo.from_file(file, stop_token_ids=[0])


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        ts.apply_token_bitmask_inplace(
            np.zeros((1, 32), np.float32), np.zeros((1, 1), np.int32), vocab_size=-1
        )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"type": ["number", "null"], "minimum": 0},
        {"type": "array", "items": {"type": "integer", "minimum": 1}},
        {"type": "object", "properties": {"a": {"type": "number"}, "b": {"enum": [1, "x"]}}},
    ],
)
def test_grammars_with_numbers_are_equal_after_pickling(schema: dict[str, object]) -> None:
    grammar = ts.Grammar.from_json_schema(schema)
    copy = pickle.loads(pickle.dumps(grammar))
    assert copy == grammar
    assert hash(copy) == hash(grammar)
    assert str(ts.Grammar.from_ebnf(str(grammar))) == str(grammar)


def test_what_cannot_be_composed_is_an_error() -> None:
    grammar = ts.Grammar.from_regex("a")
    for compose in (ts.Grammar.intersect, lambda: grammar.repeat(min=-1), lambda: grammar.repeat(max=2**40)):
        with pytest.raises(ts.InvalidArgumentError):
            compose()


def test_functions_with_mistakes_are_no_builtin_tools() -> None:
    pydantic = pytest.importorskip("pydantic")
    tool = {"type": "function", "function": {"name": "a", "parameters": '{"type": "object"}'}}
    with pytest.raises(pydantic.ValidationError, match="parameters"):
        ts.get_model_structural_tag("qwen_3", [tool], "auto", "disabled")


@pytest.mark.parametrize("name", ["object", "array"])
def test_the_text_of_a_recursive_schema_with_indentation_is_no_larger_than_the_schema(name):
    # Rules that a shared expression names were put into each of its places, which doubled at every level.
    schema = {
        "type": name,
        "properties": {"c": {"$ref": "#"}},
        "items": {"anyOf": [{"$ref": "#"}, {"type": "object"}]},
    }
    grammar = ts.Grammar.from_json_schema(schema, any_whitespace=False, indent=2, strict_mode=False)
    compiler = ts.GrammarCompiler(ts.TokenizerInfo(["a"]), limits=ts.Limits(max_nodes=20_000))
    sizes = [compiler.compile_grammar(form).memory_size_bytes for form in (grammar, str(grammar))]
    assert max(sizes) < 2_000_000
