"""The backend and the grammars by themselves: what vLLM asks of them beyond the signatures."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from vllm.v1.structured_output.backend_types import StructuredOutputBackend, StructuredOutputGrammar
from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind

import tokenstile
from tokenstile.integrations.vllm.backend import VllmBackend


@pytest.fixture(scope="module")
def backend(config, tokenizer):
    return VllmBackend(config, tokenizer=tokenizer, vocab_size=config.model_config.get_vocab_size())


@pytest.fixture
def ids(tokenizer):
    return lambda text: tokenizer.encode(text, add_special_tokens=False)


@pytest.fixture(scope="module")
def end(tokenizer):
    return tokenizer.eos_token_id


def allowed(row):
    """Return the tokens of a row of bits."""
    bits = torch.arange(32, dtype=torch.int32)
    return set(((row.unsqueeze(1) >> bits) & 1).flatten().nonzero().flatten().tolist())


def mask_of(backend, grammar):
    bitmask = backend.allocate_token_bitmask(1)
    grammar.fill_bitmask(bitmask, 0)
    return allowed(bitmask[0])


def test_they_are_what_vllm_asks_for(backend):
    assert isinstance(backend, StructuredOutputBackend)
    assert isinstance(backend.compile_grammar(Kind.REGEX, "a"), StructuredOutputGrammar)


def test_bitmask_has_the_width_of_the_model(backend):
    bitmask = backend.allocate_token_bitmask(3)
    assert bitmask.dtype == torch.int32
    assert bitmask.device.type == "cpu"
    assert tuple(bitmask.shape) == (3, -(-backend.vocab_size // 32))
    assert (bitmask == -1).all()


def test_accepting(backend, ids, end):
    grammar = backend.compile_grammar(Kind.REGEX, "ab?")
    assert grammar.accept_tokens("r", [])
    assert not grammar.accept_tokens("r", ids("x"))
    assert grammar.accept_tokens("r", ids("a"))
    assert not grammar.is_terminated()
    assert grammar.accept_tokens("r", [end, *ids("whatever"), -1])
    assert grammar.is_terminated()
    assert grammar.accept_tokens("r", [])
    assert grammar.accept_tokens("r", ids("more"))


def test_rolling_back_out_of_the_end(backend, ids, end):
    grammar = backend.compile_grammar(Kind.REGEX, "a+")
    grammar.accept_tokens("r", [*ids("a"), end])
    grammar.rollback(0)
    grammar.rollback(-3)
    assert grammar.is_terminated()
    grammar.rollback(1)
    assert not grammar.is_terminated()
    assert end in mask_of(backend, grammar)
    grammar.rollback(1)
    assert end not in mask_of(backend, grammar)
    assert grammar.accept_tokens("r", [*ids("a"), end])
    grammar.reset()
    assert not grammar.is_terminated()


def test_validating_moves_nothing(backend, ids, end):
    grammar = backend.compile_grammar(Kind.REGEX, "ab*")
    (a,), (b,), (x,) = ids("a"), ids("b"), ids("x")
    assert grammar.validate_tokens([]) == []
    assert grammar.validate_tokens([a, b, x, b]) == [a, b]
    assert grammar.validate_tokens([a, end, b]) == [a, end]
    assert grammar.validate_tokens([b]) == []
    assert mask_of(backend, grammar) >= {a}
    grammar.accept_tokens("r", [a, end])
    assert grammar.validate_tokens([b]) == []


@pytest.mark.parametrize("token", [-1, -(2**40), 10**6, 2**31, 2**63])
def test_ids_that_are_no_tokens(backend, token):
    grammar = backend.compile_grammar(Kind.REGEX, ".*")
    assert not grammar.accept_tokens("r", [token])
    assert grammar.validate_tokens([token]) == []
    assert not grammar.is_terminated()


def test_rows_are_written_whole(backend, ids):
    grammar = backend.compile_grammar(Kind.REGEX, "a")
    bitmask = backend.allocate_token_bitmask(3)
    bitmask.fill_(-1)
    grammar.fill_bitmask(bitmask, 1)
    assert allowed(bitmask[1]) == set(ids("a"))
    assert (bitmask[[0, 2]] == -1).all()
    grammar.accept_tokens("r", [*ids("a"), backend.tokenizer.eos_token_id])
    grammar.fill_bitmask(bitmask, 1)
    assert (bitmask == -1).all()


def test_stop_tokens_of_the_request(backend, ids, end):
    (a,) = ids("a")
    stops = {2, 3, 10**7, -5}
    assert end not in stops - {2}
    grammar = backend.compile_grammar(Kind.REGEX, "a", stop_token_ids=stops)
    assert mask_of(backend, grammar) == {a}
    grammar.accept_tokens("r", [a])
    assert mask_of(backend, grammar) == {2, 3}
    for stop in (2, 3):
        assert grammar.accept_tokens("r", [stop])
        assert grammar.is_terminated()
        grammar.rollback(1)
    only_unknown = backend.compile_grammar(Kind.REGEX, "a", stop_token_ids={10**7})
    only_unknown.accept_tokens("r", [a])
    assert mask_of(backend, only_unknown) == {end}


def test_regexes_that_match_nothing_visible(backend, ids, end):
    empty = backend.compile_grammar(Kind.REGEX, "")
    assert mask_of(backend, empty) == {end}
    newline = backend.compile_grammar(Kind.REGEX, "\n")
    assert mask_of(backend, newline) == set(ids("\n"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.JSON, "{"),
        (Kind.JSON, '{"type": 3}'),
        (Kind.JSON, ""),
        (Kind.REGEX, "("),
        (Kind.REGEX, "\0("),
        (Kind.GRAMMAR, "root ::= nobody"),
        (Kind.GRAMMAR, ""),
        (Kind.GRAMMAR, "start: nobody"),
        (Kind.CHOICE, "[]"),
        (Kind.CHOICE, "[1]"),
        (Kind.CHOICE, "{"),
        (Kind.CHOICE, '["\\ud800"]'),
        (Kind.CHOICE, "[" * 10**5),
        (Kind.STRUCTURAL_TAG, "null"),
        (Kind.STRUCTURAL_TAG, "{}"),
        (Kind.STRUCTURAL_TAG, "[" * 10**5),
        (Kind.STRUCTURAL_TAG, '{"structures": [1], "triggers": ["a"]}'),
        (Kind.STRUCTURAL_TAG, '{"structures": [], "triggers": null}'),
        (Kind.STRUCTURAL_TAG, json.dumps({"format": {"type": "token", "token": "<no such token>"}})),
        (None, "a"),
    ],
)
def test_the_engine_rejects_bad_input_on_its_own(backend, kind, text):
    with pytest.raises(tokenstile.TokenstileError):
        backend.compile_grammar(kind, text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.JSON, '{"type": "string"}'),
        (Kind.JSON, '{"const": "<file_sep>"}'),
        (Kind.REGEX, '"<file_sep>[^x]*'),
        (Kind.GRAMMAR, 'root ::= "\\"<file_sep>" [^x]*'),
        (Kind.CHOICE, '["\\"<file_sep>"]'),
    ],
)
def test_control_tokens_are_no_text(backend, tokenizer, kind, text):
    """As in vLLM 0.33, whose compiler for these kinds knows no special token; here it is so under 0.32, too."""
    (marker,) = tokenizer.convert_tokens_to_ids(["<file_sep>"])
    grammar = backend.compile_grammar(kind, text)
    special = set(tokenizer.all_special_ids) - {tokenizer.eos_token_id}
    for part in ['"', "<", "file", "_", "sep", ">"]:
        assert not special & mask_of(backend, grammar), part
        assert grammar.validate_tokens([marker]) == []
        assert grammar.matcher.accept_string(part)


TAG = {"type": "tag", "begin": "<file_sep>", "content": {"type": "regex", "pattern": "x"}, "end": ""}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.GRAMMAR, 'start: <file_sep> "x"'),
        (Kind.GRAMMAR, 'start: "<file_sep>" "x"'),
        (Kind.STRUCTURAL_TAG, json.dumps({"format": TAG})),
    ],
)
def test_control_tokens_that_a_grammar_names(backend, tokenizer, ids, kind, text):
    (marker,) = tokenizer.convert_tokens_to_ids(["<file_sep>"])
    grammar = backend.compile_grammar(kind, text)
    assert marker in mask_of(backend, grammar)
    assert grammar.accept_tokens("r", [marker])
    assert mask_of(backend, grammar) == set(ids("x"))


@pytest.mark.usefixtures("unpatched")
@pytest.mark.parametrize(
    "constraint", [(Kind.REGEX, "[^x]*"), (Kind.GRAMMAR, "root ::= [^x]*"), (Kind.CHOICE, '["a"]')]
)
def test_control_tokens_beside_vllms_own_backend(config, tokenizer, backend, release, constraint):
    """Its masks have none either, as of 0.33."""
    if release < "0.33":
        pytest.skip("vLLM 0.32 lets them be text")
    from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

    special = set(tokenizer.all_special_ids) - {tokenizer.eos_token_id}
    own = XgrammarBackend(config, tokenizer=tokenizer, vocab_size=config.model_config.get_vocab_size())
    for theirs in (own, backend):
        assert not special & mask_of(theirs, theirs.compile_grammar(*constraint))


def test_time_limit(backend, monkeypatch):
    monkeypatch.setenv("TOKENSTILE_COMPILE_TIMEOUT_S", "0.000001")
    words = json.dumps({"enum": [f"word number {number}" for number in range(2000)]})
    with pytest.raises(tokenstile.LimitExceededError):
        backend.compile_grammar(Kind.JSON, words)
    monkeypatch.setenv("TOKENSTILE_COMPILE_TIMEOUT_S", "soon")
    with pytest.raises(tokenstile.InvalidArgumentError, match="number of seconds"):
        backend.compile_grammar(Kind.REGEX, "a")
    monkeypatch.setenv("TOKENSTILE_COMPILE_TIMEOUT_S", "0")
    assert backend.compile_grammar(Kind.JSON, words).validate_tokens([-1]) == []


def test_compact_json(config, tokenizer, ids, monkeypatch):
    monkeypatch.setattr(config.structured_outputs_config, "disable_any_whitespace", True)
    compact = VllmBackend(config, tokenizer, config.model_config.get_vocab_size())
    schema = json.dumps({"type": "array", "items": {"const": 1}, "minItems": 2})
    grammar = compact.compile_grammar(Kind.JSON, schema)
    assert grammar.accept_tokens("r", ids("[1,1]"))
    grammar.reset()
    assert not grammar.accept_tokens("r", ids("[1, 1]"))


def test_white_space_with_a_bound(backend, ids, monkeypatch):
    monkeypatch.setenv("TOKENSTILE_MAX_WHITESPACE", "1")
    grammar = backend.compile_grammar(Kind.JSON, '{"type": "array", "items": {"const": 1}, "minItems": 2}')
    assert grammar.accept_tokens("r", ids("[1, 1]"))
    grammar.reset()
    assert not grammar.accept_tokens("r", ids("[1,") + ids("\n") * 2)


def test_many_threads_at_once(backend, ids, end):
    """Compile and fill from 8 threads; each sees its own grammar's mask."""
    bitmask = backend.allocate_token_bitmask(64)

    def one(number):
        text = f"{number % 10}"
        grammar = backend.compile_grammar(Kind.REGEX, text, stop_token_ids={end})
        for _ in range(50):
            grammar.fill_bitmask(bitmask, number)
            assert allowed(bitmask[number]) == set(ids(text))
        return grammar.accept_tokens("r", [*ids(text), end]) and grammar.is_terminated()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(64)))


def test_destroyed_backend_leaves_its_grammars(config, tokenizer, ids):
    short = VllmBackend(config, tokenizer, config.model_config.get_vocab_size())
    grammar = short.compile_grammar(Kind.REGEX, "ab")
    short.destroy()
    assert grammar.accept_tokens("r", ids("ab"))
