"""vLLM's own manager and scheduler with requests of vLLM: which backend there is, thoughts, errors, extra arguments."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from vllm import SamplingParams
from vllm.config import StructuredOutputsConfig
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

from tests.vllm.engine_parser import CALL, END, Reasoner
from tokenstile.integrations.vllm import layout, patches
from tokenstile.integrations.vllm.backend import VllmBackend, VllmGrammar

COLOURS = {"type": "array", "items": {"enum": ["red"]}, "minItems": 1, "maxItems": 1}


@pytest.fixture
def manager(config, plugin):  # noqa: ARG001 - the plugin is loaded
    manager = StructuredOutputManager(config)
    yield manager
    manager.clear_backend()


@pytest.fixture
def thinking(manager):
    manager.reasoner_cls = Reasoner
    return manager


@pytest.fixture
def in_time(unpatched):  # noqa: ARG001 - it is patched again, with the switch
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKENSTILE_VLLM_COMPLETE_IN_TIME", "on")
        patches.apply()
        yield


def request(manager, *, max_tokens=50, extra_args=None, backend="xgrammar", name="r", **constraint):
    """A request that has come past the front end, with its grammar."""
    structured = StructuredOutputsParams(**constraint)
    structured._backend = backend
    sampling = SamplingParams(max_tokens=max_tokens, extra_args=extra_args, structured_outputs=structured)
    made = Request(name, [1, 2, 3], sampling, None)
    manager.grammar_init(made)
    made.structured_output_request._grammar.exception(timeout=60)
    return made


def grammar_of(made):
    return made.structured_output_request.grammar


def write(manager, made, tokens):
    made.append_output_token_ids(tokens)
    return manager.accept_tokens(made, tokens)


def row_of(manager, made):
    rows = manager.grammar_bitmask({made.request_id: made}, [made.request_id], {})
    return set(np.flatnonzero(np.unpackbits(rows[0].view(np.uint8), bitorder="little")).tolist())


@pytest.fixture
def ids(tokenizer):
    return lambda text: tokenizer.encode(text, add_special_tokens=False)


def test_the_backend_has_the_name_that_requests_have(manager, release):
    assert isinstance(grammar_of(request(manager, regex="a")), VllmGrammar)
    assert isinstance(manager.backend, VllmBackend)
    if release >= "0.33":
        assert manager.backend_name == "xgrammar"
        with pytest.raises(VLLMValidationError, match="only supports one backend"):
            request(manager, backend="guidance", regex="a")
    assert grammar_of(request(manager, regex="b")).matcher.accept_string("b")


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ({"json": {"properties": {"a": {"type": "strin"}}}}, '"/properties/a/type"'),
        ({"regex": "a{3,1}"}, "column"),
        ({"choice": ["\ud800"]}, "surrogate"),
        ({"structural_tag": '{"format": {"type": "token", "token": "<nobody>"}}'}, "format.token"),
    ],
)
def test_errors_of_the_engine(manager, release, constraint, words):
    """What vLLM's front end in Rust has not checked is the request's error, and 0.33 shows it to the client."""
    made = request(manager, **constraint)
    assert words in str(grammar_of(made))
    made.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR
    first = release < "0.33"
    scheduler = SimpleNamespace(grammar_compile_error_reqs=set() if first else {})
    assert not Scheduler._handle_blocked_waiting_request(scheduler, made)
    assert "r" in scheduler.grammar_compile_error_reqs
    if not first:
        error = scheduler.grammar_compile_error_reqs["r"].to_exception()
        assert isinstance(error, VLLMValidationError)
        assert words in str(error)


def test_thoughts_end_with_what_the_answer_may_begin_with(thinking, tokenizer, ids):
    """A tool call ends a thought and is the answer's first token, so 0.33 forbids it where the answer is no call."""
    call, end = tokenizer.convert_tokens_to_ids([CALL, END])
    made = request(thinking, json=COLOURS)
    free = set(range(32 * -(-thinking.backend.vocab_size // 32)))
    closes = layout.find(StructuredOutputManager).closes_implicit_ends
    assert row_of(thinking, made) == (free - {call} if closes else free)
    assert write(thinking, made, ids("so"))
    assert row_of(thinking, made) == (free - {call} if closes else free)
    assert write(thinking, made, [end])
    assert row_of(thinking, made) < free
    assert call not in row_of(thinking, made)

    tag = {
        "type": "sequence",
        "elements": [{"type": "token", "token": CALL}, {"type": "regex", "pattern": "x"}],
    }
    made = request(thinking, structural_tag=json.dumps({"type": "structural_tag", "format": tag}))
    assert row_of(thinking, made) == free
    assert write(thinking, made, [*ids("so"), call])
    assert row_of(thinking, made) == set(ids("x"))


@pytest.mark.usefixtures("in_time")
def test_thoughts_are_ended_in_time(thinking, tokenizer, ids):
    """By the marker, though the parser also knows a token that would begin the answer."""
    (end,) = tokenizer.convert_tokens_to_ids([END])
    shortest = ids('["red"]')
    most = 20
    made = request(thinking, max_tokens=most, json=COLOURS)
    while row_of(thinking, made) != {end}:
        assert made.num_output_tokens < most
        assert write(thinking, made, ids("so"))
    assert most - made.num_output_tokens <= len(shortest) + 2
    assert write(thinking, made, [end])
    grammar = grammar_of(made)
    while not grammar.is_terminated():
        # The last one, which is often the longest way round.
        assert write(thinking, made, [max(row_of(thinking, made))])
    assert made.num_output_tokens <= most


@pytest.mark.usefixtures("in_time")
def test_a_budget_that_is_too_small(config, tokenizer, manager):
    """The front end knows it without the prompt, and the engine with it."""
    params = SamplingParams(max_tokens=2, structured_outputs=StructuredOutputsParams(json=COLOURS))
    with pytest.raises(VLLMValidationError, match="does not fit"):
        params.verify(config.model_config, None, StructuredOutputsConfig(), tokenizer)
    made = request(manager, max_tokens=2, json=COLOURS)
    assert type(grammar_of(made)).__name__ == "TokenBudgetError"
    assert grammar_of(request(manager, max_tokens=50, json=COLOURS)).matcher.tokens_left == 50


def test_without_the_switch_there_is_no_budget(manager):
    assert grammar_of(request(manager, max_tokens=2, json=COLOURS)).matcher.tokens_left is None


def test_spelling_of_a_request(config, tokenizer, manager, ids):
    """It is an extra argument, because vLLM's parameters have no place for it; the same constraint has both."""
    escaped = '["\\u0072ed"]'
    for spelling, fits in (("any", True), ("canonical", False), (None, False), ("any", True)):
        extra = {"tokenstile_spelling": spelling, "mine": 3} if spelling else None
        made = request(manager, json=COLOURS, extra_args=extra)
        params = made.sampling_params
        params.verify(config.model_config, None, StructuredOutputsConfig(), tokenizer)
        assert (grammar_of(made).validate_tokens(ids(escaped)) == ids(escaped)) is fits
        assert grammar_of(made).validate_tokens(ids('["red"]')) == ids('["red"]')


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"tokenstile_spelling": "short"}, '"canonical" or "any"'),
        ({"tokenstile_spelling": ["any"]}, '"canonical" or "any"'),
        ({"tokenstile_speling": "any"}, "tokenstile_speling"),
    ],
)
def test_extra_arguments_that_are_wrong(config, tokenizer, manager, extra, words):
    params = SamplingParams(extra_args=extra, structured_outputs=StructuredOutputsParams(json=COLOURS))
    with pytest.raises(VLLMValidationError) as raised:
        params.verify(config.model_config, None, StructuredOutputsConfig(), tokenizer)
    assert words in str(raised.value)
    assert words in str(grammar_of(request(manager, json=COLOURS, extra_args=extra)))
