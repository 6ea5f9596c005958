"""What the plug-ins do about `max_tokens`, without the engines: stand-ins do what the plug-ins need of them.

`tests/vllm` and `tests/sglang` run the plug-ins in the real engines.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections import namedtuple

import numpy as np
import pytest

import tokenstile as xgr

TOKENS = ["a", "b", "ab", "<think>", "</think>", "</s>"]
STOP, END = 5, 4
INFO = xgr.TokenizerInfo(TOKENS)
COMPILED = xgr.GrammarCompiler(INFO).compile_grammar('root ::= "a"+ "b"')
Bounds = namedtuple("Bounds", ["grammar_start", "constraint_start"])


def module(name, **names):
    made = types.ModuleType(name)
    made.__dict__.update(names)
    return made


@pytest.fixture
def stand_ins(monkeypatch):
    """Put modules in the place of libraries, and forget what was imported with them."""

    def put(*modules, ours):
        for made in modules:
            monkeypatch.setitem(sys.modules, made.__name__, made)
        for name in [name for name in sys.modules if name.startswith(ours)]:
            monkeypatch.delitem(sys.modules, name)
        imported.append(ours)

    imported = []
    yield put
    # What was imported with them must not stay.
    for ours in imported:
        for name in [name for name in sys.modules if name.startswith(ours)]:
            del sys.modules[name]


class Base:
    """A class of a library."""


@pytest.fixture
def vllm(stand_ins):
    """The plug-in for vLLM."""
    stand_ins(
        module("torch", Tensor=object, full=np.full, int32=np.int32),
        module("vllm", envs=module("vllm.envs", VLLM_XGRAMMAR_CACHE_MB=1)),
        module("vllm.envs", VLLM_XGRAMMAR_CACHE_MB=1),
        module("vllm.utils"),
        module("vllm.utils.mistral", is_mistral_tokenizer=lambda _: False),
        module("vllm.v1"),
        module("vllm.v1.structured_output"),
        module(
            "vllm.v1.structured_output.backend_types",
            StructuredOutputBackend=Base,
            StructuredOutputGrammar=Base,
            StructuredOutputOptions=Base,
        ),
        ours="tokenstile.integrations.vllm",
    )
    return importlib.import_module("tokenstile.integrations.vllm.budgets")


class Request(types.SimpleNamespace):
    """A request of vLLM."""


class Manager:
    """What the plug-in uses of vLLM's manager: thoughts end with a token."""

    def __init__(self, max_model_len=100):
        self.vllm_config = types.SimpleNamespace(
            model_config=types.SimpleNamespace(max_model_len=max_model_len)
        )
        self.accepted = []

    def _get_constraint_bounds(self, request, tokens, spec_tokens_committed=False):  # noqa: ARG002 - vLLM's
        if request.structured_output_request.reasoning_ended:
            return Bounds(0, 0)
        start = tokens.index(END) + 1 if END in tokens else len(tokens) + 1
        return Bounds(start, start)

    def _get_reasoner(self, request):  # noqa: ARG002 - vLLM's
        return types.SimpleNamespace(end_token_id=END)


def make(vllm, manager, max_tokens, num_prompt_tokens=3, thinks=True):
    backend = sys.modules["tokenstile.integrations.vllm.backend"]

    def create(self, request):  # noqa: ARG001 - vLLM's
        return backend.VllmGrammar(backend.matcher_within(COMPILED, None, backend.max_tokens.get()))

    request = Request(
        request_id="r", max_tokens=max_tokens, num_prompt_tokens=num_prompt_tokens, num_output_tokens=0
    )
    grammar = vllm.within_budget(create)(manager, request)
    assert backend.max_tokens.get() is None
    request.structured_output_request = types.SimpleNamespace(grammar=grammar, reasoning_ended=not thinks)
    return request, grammar


def accept(vllm, manager, request, tokens):
    def original(self, request, tokens):
        start, _ = self._get_constraint_bounds(request, tokens, spec_tokens_committed=True)
        if start > len(tokens):
            return True
        request.structured_output_request.reasoning_ended = True
        return request.structured_output_request.grammar.accept_tokens("r", tokens[start:])

    request.num_output_tokens += len(tokens)
    return vllm.counting(original)(manager, request, tokens)


def thought_row(vllm, manager, request, rows=1):
    row = np.full((rows, 1), -1, dtype=np.int32)
    vllm.end_thoughts(manager, request, row)
    return [int(one) for one in row[:, 0]]


def test_vllm_ends_a_thought_and_an_answer_in_time(vllm):
    for max_tokens in range(4, 12):
        manager = Manager()
        request, grammar = make(vllm, manager, max_tokens)
        while thought_row(vllm, manager, request) == [-1]:
            assert accept(vllm, manager, request, [0])
        # The end of the thought, `ab` and the stop token.
        assert max_tokens - request.num_output_tokens == 3
        assert thought_row(vllm, manager, request) == [1 << END]
        assert accept(vllm, manager, request, [END])
        assert grammar.matcher.tokens_left == 2
        assert not accept(vllm, manager, request, [0])
        request.num_output_tokens -= 1
        assert accept(vllm, manager, request, [2, STOP])
        assert grammar.is_terminated()
        assert request.num_output_tokens == max_tokens


def test_vllm_ends_thoughts_along_drafts(vllm):
    manager = Manager()
    request, _ = make(vllm, manager, 6)
    assert thought_row(vllm, manager, request, rows=5) == [-1, -1, -1, 1 << END, 1 << END]


def test_vllm_s_thought_that_was_not_ended_leaves_the_grammar(vllm):
    manager = Manager()
    request, grammar = make(vllm, manager, 4)
    assert accept(vllm, manager, request, [0, 0, 0, END])
    assert grammar.matcher.tokens_left is None
    assert accept(vllm, manager, request, [0, 0, 1, STOP])


def test_vllm_without_thoughts(vllm):
    manager = Manager()
    request, grammar = make(vllm, manager, 4, thinks=False)
    assert accept(vllm, manager, request, [0])
    assert grammar.matcher.tokens_left == 3
    _, grammar = make(vllm, Manager(max_model_len=10), 50, thinks=False)
    assert grammar.matcher.tokens_left == 7
    _, grammar = make(vllm, Manager(max_model_len=10), None, thinks=False)
    assert grammar.matcher.tokens_left == 7
    with pytest.raises(xgr.TokenBudgetError, match="a budget of 1 tokens is too small"):
        make(vllm, Manager(max_model_len=10), 50, num_prompt_tokens=9)


class SglangObject:
    """A grammar object of SGLang."""

    def __init__(self):
        self.current_token = None


class SglangInvalid(SglangObject):
    """One that could not be compiled."""

    def __init__(self, error_message):
        super().__init__()
        self.error_message = error_message


class SglangManager:
    """The scheduler's manager of grammars."""

    def _apply_request_reasoning_config(self, req):
        req.is_configured = True


@pytest.fixture
def sglang(stand_ins):
    """The plug-in for SGLang, and its manager of grammars."""
    base = module(
        "sglang.srt.constrained.base_grammar_backend",
        BaseGrammarBackend=Base,
        BaseGrammarObject=SglangObject,
        GrammarStats=types.SimpleNamespace,
        InvalidGrammarObject=SglangInvalid,
    )
    manager = type("GrammarManager", (SglangManager,), dict(vars(SglangManager)))
    stand_ins(
        module("torch", Tensor=object, full=np.full, int32=np.int32),
        *(module(name) for name in ("sglang", "sglang.srt", "sglang.srt.constrained", "sglang.srt.utils")),
        module("sglang.srt.constrained.torch_ops"),
        module("sglang.srt.constrained.torch_ops.token_filter_torch_ops", set_token_filter_torch=None),
        module("sglang.srt.utils.common", is_pin_memory_available=lambda: False),
        module("sglang.srt.constrained.grammar_manager", GrammarManager=manager),
        base,
        ours="tokenstile.integrations.sglang",
    )
    budgets = importlib.import_module("tokenstile.integrations.sglang.budgets")
    budgets.apply()
    budgets.apply()
    return sys.modules["tokenstile.integrations.sglang.backend"].TokenstileGrammarObject, manager()


class Reasoner:
    """What the plug-in uses of SGLang's wrapper for reasoning."""

    def __init__(self, grammar):
        self.grammar = grammar
        self.think_end_ids = (END,)
        self.max_think_tokens = -1
        self.tokens_in_think, self.tokens_after_end = 0, -1
        self.reasoning_in_grammar = False


class SglangRequest(types.SimpleNamespace):
    """A request of SGLang."""

    def __init__(self, grammar, max_new_tokens, require_reasoning=False):
        params = types.SimpleNamespace(max_new_tokens=max_new_tokens)
        super().__init__(
            grammar=grammar, sampling_params=params, require_reasoning=require_reasoning, aborted=None
        )

    def set_finish_with_abort(self, message):
        self.aborted = message


def row_of(grammar):
    row = np.zeros((1, 1), dtype=np.int32)
    grammar.fill_vocab_mask(row, 0)
    return [TOKENS[token] for token in range(len(TOKENS)) if int(row[0, 0]) >> token & 1]


def test_sglang_ends_an_answer_in_time(sglang):
    make_grammar, manager = sglang
    grammar = make_grammar(COMPILED, "key", None)
    req = SglangRequest(grammar, 3)
    manager._apply_request_reasoning_config(req)
    assert req.is_configured
    assert row_of(grammar) == ["a", "ab"]
    grammar.accept_token(0)
    assert row_of(grammar) == ["b", "ab"]
    grammar.rollback(1)
    assert grammar.matcher.tokens_left == 3
    # What SGLang keeps for others has no budget.
    grammar.grammar_stats = None
    assert make_grammar(COMPILED, "key", None).matcher.tokens_left is None


def test_sglang_aborts_what_no_text_fits(sglang):
    make_grammar, manager = sglang
    req = SglangRequest(make_grammar(COMPILED, "key", None), 1)
    manager._apply_request_reasoning_config(req)
    assert isinstance(req.grammar, SglangInvalid)
    assert "takes 2" in req.aborted
    thinking = SglangRequest(Reasoner(make_grammar(COMPILED, "key", None)), 2, require_reasoning=True)
    manager._apply_request_reasoning_config(thinking)
    assert "to end the thought and to write the shortest output takes 3" in thinking.aborted


def test_sglang_s_thoughts_count(sglang):
    make_grammar, manager = sglang
    grammar = make_grammar(COMPILED, "key", None)
    reasoner = Reasoner(grammar)
    manager._apply_request_reasoning_config(SglangRequest(reasoner, 9, require_reasoning=True))
    assert reasoner.max_think_tokens == 6
    # It thought for six tokens, and the marker was the seventh.
    reasoner.tokens_in_think, reasoner.tokens_after_end = 6, 0
    assert row_of(grammar) == ["ab"]
    grammar.accept_token(2)
    grammar.rollback(1)
    # Back into the thought, which is shorter then.
    reasoner.tokens_in_think = 2
    assert row_of(grammar) == ["a", "ab"]
    grammar.accept_token(0)
    assert grammar.matcher.tokens_left == 5
