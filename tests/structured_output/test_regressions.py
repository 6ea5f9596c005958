"""Each of these went wrong once in the serving layer."""

from __future__ import annotations

import json
import threading
import time

import pytest

import tokenstile as xgr
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output import StructuredOutputManager, StructuredOutputsParams
from tokenstile.structured_output.composite import CompositeGrammar
from tokenstile.structured_output.deadlines import Deadlines
from tokenstile.structured_output.metrics import Metrics
from tokenstile.structured_output.single_sequence import GrammarCompiler

VOCAB = [chr(code) for code in range(32, 127)] + ["</s>"]
STOP = len(VOCAB) - 1


@pytest.fixture
def info():
    return xgr.TokenizerInfo(VOCAB, stop_token_ids=[STOP])


@pytest.fixture
def manager(info):
    with StructuredOutputManager(info) as manager:
        yield manager


def ids(text):
    return [VOCAB.index(character) for character in text]


def test_a_deadline_far_away_does_not_end_the_thread():
    deadlines, came = Deadlines(), threading.Event()
    deadlines.add(1e12, lambda: None)
    deadlines.add(0, lambda: 1 / 0)
    deadlines.add(0.05, came.set)
    assert came.wait(60)
    deadlines.close()


def test_deadlines_that_are_never_met_do_not_pile_up(manager):
    for number in range(500):
        name = str(number)
        manager.grammar_init(name, StructuredOutputsParams(regex="ab"), timeout=1e6).result(30)
        manager.release(name)
    assert len(manager._pool._deadlines) < 200


def test_deadlines_that_are_called_off():
    deadlines, came = Deadlines(), []
    last = threading.Event()
    with deadlines._condition:  # so that none is met before it is called off
        for number in range(300):
            deadline = deadlines.add(0, lambda number=number: came.append(number))
            if number % 3:
                deadlines.call_off(deadline)
                deadlines.call_off(deadline)
        deadlines.add(0, last.set)
    assert last.wait(60)
    assert sorted(came) == list(range(0, 300, 3))
    assert len(deadlines) == 0
    deadlines.close()


def test_a_request_released_while_rows_are_filled_does_not_hinder_the_others(manager):
    for name in ("a", "b"):
        manager.grammar_init(name, StructuredOutputsParams(regex="ab")).result()
    manager.grammar_bitmask_async(["a"]).result()
    manager._overlap.submit(time.sleep, 0.2)
    rows = manager.grammar_bitmask_async(["a", "b"])
    manager.release("a")
    assert rows.result().request_ids == ["a", "b"]
    assert manager.accept_tokens("b", ids("a"))


def test_compact_json_is_not_the_same_grammar_with_a_line_break(info):
    compiler = GrammarCompiler(info)
    compact = compiler.compile_json_schema('{"type": "object"}', any_whitespace=False)
    assert compact.grammar_spec == '{"type": "object"}'
    loose = compiler.compile_json_schema('{"type": "object"}\n')
    assert loose.accept_token(ids("{")[0])
    assert loose.accept_token(ids(" ")[0])
    assert compact.cache_key != compiler.compile_json_schema('{"type": "object"}').cache_key


def test_older_structural_tags_keep_at_least_one(manager):
    tag = {
        "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}],
        "triggers": ["<f"],
        "at_least_one": True,
    }
    manager.grammar_init("a", StructuredOutputsParams(structural_tag=json.dumps(tag))).result()
    assert not manager.accept_tokens("a", [*ids("no tag"), STOP])
    assert manager.accept_tokens("a", [*ids("<f>1</f>"), STOP])


def test_counters_have_all_their_digits():
    metrics = Metrics()
    metrics.count("accepted_tokens_total", "tokenstile", 12_345_678)
    assert "12345678" in metrics.prometheus_text()


def test_a_composite_is_of_grammars():
    with pytest.raises(InvalidArgumentError, match="compiled grammars and matchers, not of str"):
        CompositeGrammar(["root"])
