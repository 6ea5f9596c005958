"""Code that was written against vLLM's manager runs on tokenstile's."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.structured_output import (
    ReasoningMarkers,
    RequestStatus,
    StructuredOutputManager,
    StructuredOutputsParams,
    apply_grammar_bitmask,
)

TOKENS = ["a", "b", "c", "<think>", "</think>", "hm", "</think>a", "</s>"]
A, B, C, THINK, ENDS, HM, ENDS_A, STOP = range(8)
MARKERS = ReasoningMarkers(start="<think>", end="</think>")


class Params:
    """As vLLM's: the same fields, and some of its own."""

    def __init__(self, **given):
        fields = ("json", "regex", "choice", "grammar", "json_object", "structural_tag", "whitespace_pattern")
        vars(self).update(dict.fromkeys(fields), **given)
        self.disable_fallback = False
        self._backend = "xgrammar"


class Request:
    """As vLLM's scheduler has it."""

    def __init__(self, request_id, params=None, prompt=()):
        self.request_id = request_id
        self.prompt_token_ids = list(prompt)
        self.sampling_params = SimpleNamespace(all_stop_token_ids={STOP})
        self.structured_output_request = (
            None if params is None else SimpleNamespace(params=params, grammar=None)
        )

    @property
    def use_structured_output(self):
        return self.structured_output_request is not None

    @property
    def grammar(self):
        return self.structured_output_request.grammar.result(30)


@pytest.fixture
def manager():
    with StructuredOutputManager(TOKENS, max_num_seqs=4, num_speculative_tokens=2, reasoning=MARKERS) as made:
        yield made


@pytest.fixture
def plain():
    with StructuredOutputManager(TOKENS, max_num_seqs=4, num_speculative_tokens=2) as made:
        yield made


def test_a_scheduler_of_vllm(plain):
    """The calls that vLLM's scheduler and runner make, step by step."""
    requests = {one.request_id: one for one in (Request("x", Params(regex="ab*c")), Request("y"))}
    for request in requests.values():
        plain.grammar_init(request)
    assert requests["x"].grammar.validate_tokens([A, B]) == [A, B]
    written = []
    drafts = {"x": [A, B]}
    while not requests["x"].grammar.is_terminated():
        ids = [name for name, request in requests.items() if request.use_structured_output]
        rows = plain.grammar_bitmask(requests, ids, drafts)
        assert isinstance(rows, np.ndarray)
        assert len(rows) == 1 + len(drafts.get("x", ()))
        logits = np.zeros((1 + len(rows), len(TOKENS)), dtype=np.float32)
        logits[:, C] = 1
        apply_grammar_bitmask(
            SimpleNamespace(scheduled_spec_decode_tokens=drafts),
            SimpleNamespace(structured_output_request_ids=ids, grammar_bitmask=rows),
            SimpleNamespace(req_ids=["y", "x"]),
            logits,
        )
        assert np.isfinite(logits[0]).all(), "a request without structure is free"
        tokens = [int(row.argmax()) for row in logits[1:]]
        new = [*drafts.get("x", ()), tokens[-1]]
        assert plain.validate_tokens(requests["x"], new) == new
        assert plain.should_advance(requests["x"])
        assert plain.accept_tokens(requests["x"], new)
        written += new
        drafts = {}
    assert written == [A, B, C, STOP]
    assert not plain.should_advance(requests["y"])
    assert not plain.should_fill_bitmask(requests["y"])
    assert plain.accept_tokens(requests["y"], [HM])


def test_no_requests_are_no_rows(plain):
    assert plain.grammar_bitmask({}, [], {}) is None


def test_should_fill_and_should_advance_wait_for_the_end_of_a_thought(manager):
    manager.grammar_init("r", StructuredOutputsParams(regex="ab"), prompt_token_ids=[THINK]).result(30)
    assert not manager.should_fill_bitmask("r")
    assert not manager.should_advance("r")
    for token, advances in ((HM, False), (ENDS, False), (A, True), (B, True)):
        assert manager.should_advance("r", new_token_ids=[token]) is advances
        rest = manager.trim_reasoning_for_advance("r", [token])
        assert rest == ([token] if advances else [])
        assert manager.accept_tokens("r", rest)
        assert manager.should_fill_bitmask("r") is (token != HM)
    assert not manager.accept_tokens("r", [B])
    assert manager.accept_tokens("r", [STOP])
    assert not manager.should_fill_bitmask("r"), "it has ended"
    assert manager.get("r").status is RequestStatus.FINISHED


@pytest.mark.parametrize(
    ("tokens", "rest"),
    [
        ([HM, ENDS, A], [A]),
        ([HM, HM], []),
        ([HM, ENDS], []),
        ([ENDS_A, B], [ENDS_A, B]),
        ([], []),
    ],
)
def test_a_thought_that_ends_among_the_tokens_of_a_step(manager, tokens, rest):
    """Rejection of drafts leaves several tokens in one step; the marker may also have text behind it."""
    manager.grammar_init("r", StructuredOutputsParams(regex="ab"), prompt_token_ids=[THINK]).result(30)
    assert manager.should_advance("r", new_token_ids=tokens) is bool(rest)
    assert manager.trim_reasoning_for_advance("r", tokens) == rest
    assert manager.trim_reasoning_for_advance("r", [A]) == [A], "what was taken is told once"
    assert manager.accept_tokens("r", rest)
    if rest:
        expected = {A: [B], ENDS_A: [STOP]}[rest[0]]
        assert manager.validate_tokens("r", [*expected, STOP])[: len(expected)] == expected
    manager.rollback("r", len(tokens))
    assert manager.get("r").is_thinking


def test_a_grammar_that_is_driven_by_itself_gets_the_trimmed_tokens(manager):
    request = Request("r", Params(regex="ab"), prompt=[THINK])
    manager.grammar_init(request)
    grammar = request.grammar
    assert manager.should_advance(request, new_token_ids=[HM, ENDS, A])
    rest = manager.trim_reasoning_for_advance(request, [HM, ENDS, A])
    assert grammar.accept_tokens("r", rest)
    assert grammar.accept_tokens("r", [B, STOP])
    assert grammar.is_terminated()


def test_requests_of_vllm_with_every_kind_of_params(plain):
    kinds = {
        "json": {"type": "null"},
        "regex": "a",
        "choice": ["a", "b"],
        "grammar": 'root ::= "a"',
        "structural_tag": '{"format": {"type": "const_string", "value": "a"}}',
    }
    for kind, spec in kinds.items():
        request = Request(kind, Params(**{kind: spec}))
        own = plain.grammar_init(request)
        assert own.key.grammar_type.value == kind
        assert own.result(30) is not None
    own = plain.grammar_init(Request("free"))
    assert own.params is None


def test_what_is_wrong_with_a_request(plain):
    with pytest.raises(xgr.InvalidArgumentError, match="params must be given"):
        plain.grammar_init("r")
    for call in (plain.should_advance, plain.should_fill_bitmask, plain.grammar_init):
        with pytest.raises(xgr.InvalidArgumentError, match="given by its id"):
            call(5)
    with pytest.raises(xgr.InvalidArgumentError, match="no request 'nobody'"):
        plain.should_advance("nobody")


def test_clear_backend_ends_the_manager():
    manager = StructuredOutputManager(TOKENS)
    manager.grammar_init("r", StructuredOutputsParams(regex="a")).result(30)
    manager.clear_backend()
    manager.clear_backend()
    with pytest.raises(xgr.InvalidArgumentError, match="no request"):
        manager.get("r")


def test_questions_about_params():
    for params, is_tag in (
        (StructuredOutputsParams(regex="a"), False),
        (StructuredOutputsParams(structural_tag={"format": {"type": "any_text"}}), True),
    ):
        assert params.all_constraints_none() is False
        assert params.all_non_structural_tag_constraints_none() is is_tag


def test_rows_and_logits_that_do_not_fit():
    rows = np.full((1, 1), -1, dtype=np.int32)
    for ids, batch, logits, said in (
        (["r", "s"], ["r"], 1, "grammar_bitmask has 1 rows"),
        (["r"], ["r", "s"], 1, "logits has 1 rows"),
    ):
        with pytest.raises(xgr.InvalidArgumentError, match=said):
            apply_grammar_bitmask(
                SimpleNamespace(scheduled_spec_decode_tokens={}),
                SimpleNamespace(structured_output_request_ids=ids, grammar_bitmask=rows),
                SimpleNamespace(req_ids=batch),
                np.zeros((logits, 8), dtype=np.float32),
            )
