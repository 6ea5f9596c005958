"""A sheet of one-line claims about structured outputs in an engine, each as a program."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.structured_output import (
    ReasoningMarkers,
    RequestStatus,
    StructuredOutputManager,
    StructuredOutputsParams,
    TokenstileBackend,
    apply_grammar_bitmask,
    available_backends,
    register_backend,
)
from tokenstile.structured_output.contract import StructuredOutputBackend, StructuredOutputGrammar

TOKENS = ["a", "b", "c", "1", "{", "}", '"a"', ":", "<think>", "</think>", "hm", "</s>"]
A, B, C, ONE, OPEN, CLOSE, KEY, COLON, THINK, ENDS, HM, STOP = range(12)
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.fixture
def make():
    made = []

    def manager(**options):
        made.append(StructuredOutputManager(options.pop("tokenizer", TOKENS), **options))
        return made[-1]

    yield manager
    for one in made:
        one.shutdown()


def begin(manager, name="r", **params):
    request = manager.grammar_init(name, StructuredOutputsParams(**params))
    request.result(30)
    return request


def names_in(row):
    return {token for at, token in enumerate(TOKENS) if row[0] >> at & 1}


# One line: state, mask, minus infinity, sample, advance.


def test_a_step_and_the_softmax_over_what_is_legal(make):
    manager = make()
    begin(manager, regex="(a|b)c")
    rows = manager.grammar_bitmask(["r"]).bitmask
    logits = np.linspace(0, 2, len(TOKENS), dtype=np.float32)[None].copy()
    free = np.exp(logits[0]) / np.exp(logits[0]).sum()
    xgr.apply_token_bitmask_inplace(logits, rows)
    masked = np.exp(logits[0]) / np.exp(logits[0]).sum()
    assert masked[[A, B]].sum() == pytest.approx(1)
    assert masked[2:].sum() == 0
    assert masked[A] / masked[B] == pytest.approx(free[A] / free[B])
    assert manager.accept_tokens("r", [A])
    assert names_in(manager.grammar_bitmask(["r"]).bitmask[0]) == {"c"}


# The pipeline.


def test_exactly_one_kind_of_structure():
    one = {
        "json": SCHEMA,
        "regex": "a",
        "choice": ["a"],
        "grammar": 'root ::= "a"',
        "json_object": True,
        "structural_tag": {"format": {"type": "any_text"}},
    }
    for name, value in one.items():
        assert StructuredOutputsParams(**{name: value}).key.grammar_type.value == name
        for other in set(one) - {name}:
            with pytest.raises(xgr.InvalidArgumentError, match="exactly one"):
                StructuredOutputsParams(**{name: value, other: one[other]})
    with pytest.raises(xgr.InvalidArgumentError, match="none was given"):
        StructuredOutputsParams()


def test_a_request_waits_for_its_grammar_and_blocks_nobody(make):
    held = threading.Event()

    class Slow(TokenstileBackend):
        def compile(self, grammar_type, grammar_spec, **options):
            if grammar_spec == "b":
                held.wait(30)
            return super().compile(grammar_type, grammar_spec, **options)

    register_backend("slow", Slow)
    manager = make(backend="slow")
    slow = manager.grammar_init("slow", StructuredOutputsParams(regex="b"))
    begin(manager, regex="a")
    assert manager.is_schedulable("r")
    assert not slow.is_schedulable
    assert slow.status is RequestStatus.COMPILING
    assert names_in(manager.grammar_bitmask(["r"]).bitmask[0]) == {"a"}
    held.set()
    slow.result(30)
    assert slow.is_schedulable


def test_rows_are_numpy_and_come_into_the_order_of_the_batch(make):
    manager = make()
    begin(manager, "x", regex="a")
    begin(manager, "y", regex="b")
    result = manager.grammar_bitmask(["y", "x"])
    assert isinstance(result.bitmask, np.ndarray)
    assert [names_in(row) for row in result.bitmask] == [{"b"}, {"a"}]
    in_order = result.in_batch_order([("x", 1), ("free", 1), ("y", 1)])
    assert [names_in(row) for row in in_order] == [{"a"}, set(TOKENS), {"b"}]

    class Named:
        def __init__(self, **fields):
            vars(self).update(fields)

    logits = np.zeros((3, len(TOKENS)), dtype=np.float32)
    apply_grammar_bitmask(
        Named(scheduled_spec_decode_tokens={}),
        Named(structured_output_request_ids=["y", "x"], grammar_bitmask=result.bitmask),
        Named(req_ids=["x", "free", "y"]),
        logits,
    )
    assert [np.flatnonzero(np.isfinite(row)).tolist() for row in logits] == [[A], list(range(12)), [B]]


def test_accepting_advances_each_request_of_a_batch(make):
    manager = make()
    begin(manager, "x", regex="ab")
    begin(manager, "y", regex="b")
    assert manager.accept_batch({"x": [A], "y": [A]}) == {"x": True, "y": False}
    rows = manager.grammar_bitmask(["x", "y"]).bitmask
    assert [names_in(row) for row in rows] == [{"b"}, {"b"}], "what was refused has changed nothing"


# The machines.


def test_a_regex_is_a_machine_without_a_stack_and_json_one_with():
    info = xgr.TokenizerInfo(["[", "]", "a", "</s>"])
    compiler = xgr.GrammarCompiler(info)
    flat, nested = compiler.compile_regex("[a-z]+"), compiler.compile_grammar('root ::= "[" root "]" | "a"')
    matchers = [xgr.GrammarMatcher(one) for one in (flat, nested)]
    for matcher, token in zip(matchers, (2, 0), strict=True):
        for _ in range(500):
            assert matcher.accept_token(token)
    assert flat.get_stats()["sets"] < 10, "a state for any length"
    assert nested.get_stats()["sets"] > 500, "a stack for each depth"
    nested_matcher = matchers[1]
    assert nested_matcher.accept_token(2)
    for _ in range(500):
        assert not nested_matcher.is_completed()
        assert nested_matcher.accept_token(1)
    assert nested_matcher.is_completed()


def test_a_schema_becomes_a_grammar():
    grammar = xgr.Grammar.from_json_schema(SCHEMA)
    assert xgr.Grammar.from_ebnf(str(grammar)) == grammar


@pytest.mark.parametrize(("size", "words"), [(1, 1), (32, 1), (33, 2), (128_256, 4_008), (129_280, 4_040)])
def test_a_row_has_a_bit_for_each_token(size, words):
    assert xgr.get_bitmask_shape(3, size) == (3, words)
    manager = StructuredOutputManager(["a"], vocab_size=size)
    manager.grammar_init("r", StructuredOutputsParams(regex="a")).result(30)
    rows = manager.grammar_bitmask(["r"]).bitmask
    assert (rows.shape, rows.dtype) == ((1, words), np.int32)
    manager.shutdown()


# The performance model.


def test_a_kind_and_a_text_are_compiled_once(make):
    manager = make()
    for number in range(5):
        begin(manager, f"r{number}", json=SCHEMA)
    begin(manager, "other", regex="a")
    stats = manager.get_stats()
    compiled = stats["compile_total"]["tokenstile"] - stats["compile_cache_hits_total"]["tokenstile"]
    assert compiled == 2
    assert stats["compile_seconds"]["tokenstile"]["p99"] > 0


def test_rows_filled_by_many_threads_are_those_of_one(make):
    rows = []
    for threads in (1, 8):
        manager = make(fill_threads=threads, max_num_seqs=300)
        for number in range(300):
            begin(manager, str(number), regex=f"a{{{number % 7}}}b")
        assert all(manager.accept_batch({str(n): [A] for n in range(300) if n % 7}).values())
        rows.append(manager.grammar_bitmask([str(number) for number in range(300)]).bitmask.copy())
    assert (rows[0] == rows[1]).all()


# Speculative decoding.


def test_a_row_for_each_sampled_position(make):
    manager = make(max_num_seqs=5, num_speculative_tokens=3)
    assert manager.max_rows == 5 * (1 + 3)
    begin(manager, regex="abc1")
    result = manager.grammar_bitmask(["r"], {"r": [A, B, C]})
    assert [names_in(row) for row in result.bitmask] == [{"a"}, {"b"}, {"c"}, {"1"}]
    assert names_in(manager.grammar_bitmask(["r"]).bitmask[0]) == {"a"}, "the drafts were taken back"


def test_checking_and_going_back(make):
    manager = make()
    request = begin(manager, regex="abc1")
    assert manager.validate_tokens("r", [A, B, ONE]) == [A, B]
    assert manager.validate_tokens("r", [A, B, ONE]) == [A, B], "nothing has moved"
    assert manager.accept_tokens("r", [A, B, C])
    manager.rollback("r", 2)
    assert names_in(manager.grammar_bitmask(["r"]).bitmask[0]) == {"b"}
    compiled = request.grammar.matcher.compiled_grammar
    with pytest.warns(DeprecationWarning, match="any number of tokens"):
        matcher = xgr.GrammarMatcher(compiled, max_rollback_tokens=3)
    for token in (A, B, C, ONE):
        assert matcher.accept_token(token)
    matcher.rollback(4)


def test_drafts_of_a_drafter_that_knows_no_grammar_are_cut(make):
    manager = make(num_speculative_tokens=3)
    begin(manager, regex="ab1c")
    result = manager.grammar_bitmask(["r"], {"r": [A, C, B]})
    assert result.num_acceptable_drafts == [1]
    assert [names_in(row) for row in result.bitmask[:2]] == [{"a"}, {"b"}]
    assert not manager.accept_tokens("r", [A, C])
    assert manager.accept_tokens("r", manager.validate_tokens("r", [A, C]))


# What to look out for.


def test_a_backend_for_the_engine_or_for_a_request(make):
    class Other(TokenstileBackend):
        pass

    register_backend("another", Other)
    assert {"tokenstile", "another"} <= set(available_backends())
    manager = make(backend="another")
    assert isinstance(begin(manager, "first", regex="a").holds.backend, Other)
    own = manager.grammar_init("own", StructuredOutputsParams(regex="a"), backend="tokenstile")
    own.result(30)
    assert type(own.holds.backend) is TokenstileBackend
    assert names_in(manager.grammar_bitmask(["first", "own"]).bitmask[1]) == {"a"}


def test_the_constraint_sleeps_while_the_model_thinks(make):
    manager = make(reasoning=ReasoningMarkers(start="<think>", end="</think>"))
    params = StructuredOutputsParams(regex="ab")
    manager.grammar_init("r", params, prompt_token_ids=[THINK]).result(30)
    for token in (HM, C):
        assert not manager.should_advance("r")
        assert (manager.grammar_bitmask(["r"]).bitmask == -1).all()
        assert manager.accept_tokens("r", [token])
    assert manager.accept_tokens("r", [ENDS])
    assert manager.should_advance("r")
    assert "a" in names_in(manager.grammar_bitmask(["r"]).bitmask[0])
    assert "b" not in names_in(manager.grammar_bitmask(["r"]).bitmask[0])


@pytest.mark.parametrize("max_tokens", [6, 7, 20])
def test_an_output_that_would_be_cut_off_is_complete_in_time(make, max_tokens):
    manager = make()
    params = StructuredOutputsParams(json=SCHEMA)
    manager.grammar_init("r", params, max_tokens=max_tokens).result(30)
    rng, count = np.random.default_rng(max_tokens), 0
    while manager.get("r").status is not RequestStatus.FINISHED:
        row = manager.grammar_bitmask(["r"]).bitmask[0]
        # A model that would write digits as long as it may.
        fits = [token for token in range(len(TOKENS)) if row[0] >> token & 1]
        token = ONE if ONE in fits else int(rng.choice(fits))
        assert manager.accept_tokens("r", [token])
        count += 1
    assert count <= max_tokens


def test_too_little_for_any_output_is_an_error_with_the_least(make):
    request = make().grammar_init("r", StructuredOutputsParams(json=SCHEMA), max_tokens=5)
    with pytest.raises(xgr.TokenBudgetError, match="6"):
        request.result(30)


def test_right_is_not_true(make):
    """A grammar sees to the form, and any value of the form fits."""
    manager = make()
    for value in (ONE,):
        begin(manager, str(value), json=SCHEMA)
        assert manager.accept_tokens(str(value), [OPEN, KEY, COLON, value, value, CLOSE, STOP])


# The contract.


def test_the_contract_of_a_grammar_and_of_a_backend():
    methods = {"accept_tokens", "validate_tokens", "rollback", "fill_bitmask", "is_terminated", "reset"}
    assert methods <= StructuredOutputGrammar.__abstractmethods__
    assert {
        "compile_grammar",
        "allocate_token_bitmask",
        "destroy",
    } <= StructuredOutputBackend.__abstractmethods__
    manager = {"grammar_init", "grammar_bitmask", "should_advance", "should_fill_bitmask", "clear_backend"}
    assert manager <= set(dir(StructuredOutputManager))
