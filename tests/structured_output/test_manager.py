"""The manager: waiting for grammars, cancelling, time limits, failures that stay where they belong."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref

import numpy as np
import pytest

import tokenstile as xgr
from tests.structured_output import backends
from tokenstile.structured_output import ReasoningMarkers, RequestStatus, StructuredOutputsParams

REGEX = StructuredOutputsParams(regex="ab*c")
BAD = StructuredOutputsParams(regex="((")


@pytest.fixture
def held(make_manager):
    """Make a manager whose grammars are ready when the backend is let go."""
    made = []
    backends.held(made)
    manager = make_manager(backend="held", compile_workers=2)

    def release():
        made[0].go.set()

    yield manager, made, release
    for backend in made:
        backend.go.set()


def test_three_ways_to_wait(make_manager):
    manager = make_manager()
    called = threading.Event()
    request = manager.grammar_init("callback", REGEX, on_ready=lambda _: called.set())
    assert called.wait(30)
    assert request.is_schedulable
    assert manager.grammar_init("future", REGEX).future.result(30).is_terminated() is False

    async def wait():
        return await manager.grammar_init("asyncio", REGEX)

    assert asyncio.run(wait()) is manager.get("asyncio").grammar


def test_a_request_is_unschedulable_until_its_grammar_is_ready(held):
    manager, _, release = held
    request = manager.grammar_init("r", REGEX)
    assert request.status is RequestStatus.COMPILING
    assert not manager.is_schedulable("r")
    assert request.grammar is None
    with pytest.raises(xgr.InvalidArgumentError, match="cannot be scheduled"):
        manager.grammar_bitmask(["r"])
    manager.grammar_init("free", None)
    with pytest.raises(xgr.InvalidArgumentError, match="compiling"):
        manager.accept_batch({"free": [0], "r": [0]})
    release()
    request.result(30)
    assert manager.is_schedulable("r")


def test_a_slow_grammar_does_not_hold_up_others(held):
    manager, made, _ = held
    slow = [manager.grammar_init(f"slow {at}", REGEX) for at in range(50)]
    assert made[0].begun.acquire(timeout=30)
    quick = manager.grammar_init("quick", StructuredOutputsParams(regex="now"))
    assert quick.result(30) is not None
    assert not any(request.is_schedulable for request in slow)


def test_requests_with_one_key_share_a_compilation(held):
    manager, made, release = held
    requests = [manager.grammar_init(str(at), REGEX) for at in range(20)]
    release()
    grammars = [request.result(30) for request in requests]
    assert made[0].count == 1
    assert len({id(grammar) for grammar in grammars}) == 20
    assert manager.accept_tokens("0", [0])
    assert manager.get("1").grammar.validate_tokens([0]) == [0]
    assert manager.metrics.value("compile_shared_total", "held") == 19


def test_a_bad_grammar_fails_its_own_request(make_manager, begin, show):
    manager = make_manager()
    good = begin(manager, "good")
    bad = manager.grammar_init("bad", BAD)
    with pytest.raises(xgr.RegexError, match="never closed"):
        bad.result(30)
    assert bad.status is RequestStatus.FAILED
    assert isinstance(bad.error, xgr.RegexError)
    assert not manager.is_schedulable("bad")
    assert good.is_schedulable
    result = manager.grammar_bitmask(["bad", "good"])
    assert show(result.bitmask) == ["</s>", "a ab"]
    assert result.errors == {"bad": bad.error}
    assert begin(manager, "later").is_schedulable
    assert manager.accept_tokens("bad", [0]) is False


def test_a_hundred_bad_grammars(make_manager, begin):
    manager = make_manager()
    bad = [manager.grammar_init(str(at), StructuredOutputsParams(regex="(" * (at + 1))) for at in range(100)]
    good = begin(manager, "good")
    for request in bad:
        assert request.future.exception(30) is not None
    assert good.is_schedulable


def test_cancelling_while_compiling(held):
    manager, _, release = held
    first, second = manager.grammar_init("1", REGEX), manager.grammar_init("2", REGEX)
    manager.cancel("1")
    assert first.status is RequestStatus.CANCELLED
    with pytest.raises(xgr.CancelledError, match="'1' was cancelled"):
        first.result(30)
    release()
    assert second.result(30) is not None
    assert manager.metrics.value("compile_cancelled_total", "held") == 1


def test_the_last_to_cancel_stops_the_compilation(make_manager):
    # Takes minutes if it is let: only cancelling ends the test in time.
    manager = make_manager(compile_workers=1, compile_timeout=None)
    heavy = StructuredOutputsParams(
        grammar="root ::= " + " | ".join(f'"{n}" [a-z]{{1,99}}' for n in range(200_000))
    )
    requests = [manager.grammar_init(str(at), heavy) for at in range(3)]
    for request in requests:
        request.cancel()
    follower = manager.grammar_init("follower", REGEX)
    assert follower.result(60) is not None


def test_cancelling_a_task_cancels_its_request(held):
    manager, _, _ = held

    async def wait_a_moment():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(manager.grammar_init("r", REGEX), 0.05)

    asyncio.run(wait_a_moment())
    assert manager.get("r").status is RequestStatus.CANCELLED


def test_cancelling_a_request_does_not_look_like_cancelling_a_task(held):
    manager, _, _ = held

    async def wait():
        request = manager.grammar_init("r", REGEX)
        asyncio.get_running_loop().call_later(0.01, request.cancel)
        with pytest.raises(xgr.CancelledError):
            await request
        return "went on"

    assert asyncio.run(wait()) == "went on"


def test_what_is_wrong_with_the_call_leaves_no_request(make_manager):
    manager = make_manager()
    for options, error in [
        ({"params": StructuredOutputsParams(json={"const": object()})}, xgr.InvalidArgumentError),
        ({"params": REGEX, "timeout": float("nan")}, xgr.InvalidArgumentError),
        ({"params": REGEX, "timeout": -1}, xgr.InvalidArgumentError),
        ({"params": REGEX, "backend": "nobody"}, xgr.InvalidArgumentError),
        ({"params": REGEX, "stop_token_ids": 5}, TypeError),
        ({"params": REGEX, "reasoning": ReasoningMarkers(end="")}, xgr.InvalidArgumentError),
    ]:
        with pytest.raises(error):
            manager.grammar_init("r", **options)
        assert not manager._requests
    assert manager.grammar_init("r", REGEX, timeout=float("inf")).result(30) is not None


def test_requests_are_freed_without_the_garbage_collector(make_manager, begin):
    manager = make_manager()
    gc.collect()
    gc.disable()
    try:
        kept = []
        for number in range(20):
            request = begin(manager, str(number), f"a{{{number + 1}}}", timeout=1000)
            manager.grammar_bitmask([str(number)])
            kept.append(weakref.ref(request))
            manager.release(str(number))
        del request
        assert sum(reference() is not None for reference in kept) == 0
    finally:
        gc.enable()


def test_ids_of_numpy(make_manager, begin, show):
    manager = make_manager(num_speculative_tokens=3, reasoning=ReasoningMarkers(end=5))
    begin(manager, "thinks")
    begin(manager, "not", reasoning=False)
    drafts = {name: np.array([0, 5, 0]) for name in ("thinks", "not")}
    assert show(manager.grammar_bitmask(["thinks", "not"], drafts).bitmask)[2:5] == ["a ab", "b c", "a ab"]
    assert manager.accept_batch({"thinks": np.array([2, 5, 0]), "not": np.array([0, 2])}) == {
        "thinks": True,
        "not": True,
    }


def test_a_cancelled_request_can_be_released_and_begun_again(held):
    manager, _, release = held
    manager.grammar_init("r", REGEX)
    with pytest.raises(xgr.InvalidArgumentError, match="already"):
        manager.grammar_init("r", REGEX)
    manager.release("r")
    manager.release("r")
    with pytest.raises(xgr.InvalidArgumentError, match="there is no request"):
        manager.get("r")
    again = manager.grammar_init("r", REGEX)
    release()
    assert again.result(30) is not None


def test_time_limits_are_each_request_s_own(held):
    manager, made, release = held
    patient = manager.grammar_init("patient", REGEX, timeout=1000)
    hasty = manager.grammar_init("hasty", REGEX, timeout=0.01)
    with pytest.raises(xgr.LimitExceededError, match=r"within 0\.01 seconds"):
        hasty.result(30)
    assert hasty.status is RequestStatus.FAILED
    assert patient.status is RequestStatus.COMPILING
    release()
    assert patient.result(30) is not None
    assert made[0].count == 1
    assert manager.metrics.value("compile_timeouts_total", "held") == 1


def test_the_time_limit_of_the_manager(make_manager):
    made = []
    backends.held(made)
    manager = make_manager(backend="held", compile_timeout=0.01)
    with pytest.raises(xgr.LimitExceededError):
        manager.grammar_init("r", REGEX).result(30)
    made[0].go.set()


def test_too_many_compilations_at_once(make_manager):
    made = []
    backends.held(made)
    manager = make_manager(backend="held", max_pending=3)
    requests = [
        manager.grammar_init(str(at), StructuredOutputsParams(regex=f"a{{{at + 1}}}")) for at in range(5)
    ]
    for request in requests[3:]:
        with pytest.raises(xgr.LimitExceededError, match="no more are taken"):
            request.result(30)
    made[0].go.set()
    for request in requests[:3]:
        assert request.result(30) is not None


def test_unknown_requests_are_errors_and_not_free(make_manager):
    manager = make_manager()
    for use in (
        lambda: manager.grammar_bitmask(["nobody"]),
        lambda: manager.accept_tokens("nobody", [0]),
        lambda: manager.validate_tokens("nobody", [0]),
        lambda: manager.cancel("nobody"),
    ):
        with pytest.raises(xgr.InvalidArgumentError, match="there is no request 'nobody'"):
            use()


def test_requests_without_structure(make_manager, show):
    manager = make_manager(num_speculative_tokens=2)
    request = manager.grammar_init("free", None)
    assert request.is_schedulable
    assert request.result() is None
    result = manager.grammar_bitmask(["free"], {"free": [0, -1]})
    assert show(result.bitmask) == ["*", "*", "*"]
    assert result.num_acceptable_drafts == [1]
    assert manager.accept_tokens("free", [0, 99])
    assert manager.validate_tokens("free", [1, 2]) == [1, 2]
    assert manager.jump_forward_tokens("free") == []
    manager.rollback("free", 1)


def test_a_whole_text(make_manager, begin, show, ids):
    manager = make_manager()
    request = begin(manager, "r")
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["a ab"]
    assert manager.accept_tokens("r", [])
    assert manager.accept_tokens("r", ids("ab|b"))
    assert not manager.accept_tokens("r", ids("b|a"))
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["b c"]
    assert manager.validate_tokens("r", ids("b|c|</s>|a")) == ids("b|c|</s>")
    assert manager.accept_tokens("r", ids("c|</s>|a"))
    assert request.status is RequestStatus.FINISHED
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["*"]
    manager.rollback("r", 2)
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["b c"]
    for token in (-1, 8, 2**40):
        assert not manager.accept_tokens("r", [token])


def test_stop_tokens_of_a_request(make_manager, begin, show, ids):
    manager = make_manager()
    request = begin(manager, "r", "a", stop_token_ids={6, 99})
    begin(manager, "plain", "a")
    manager.accept_batch({"r": ids("a"), "plain": ids("a")})
    assert show(manager.grammar_bitmask(["r", "plain"]).bitmask) == [" ", "</s>"]
    assert manager.accept_tokens("r", [6])
    assert request.status is RequestStatus.FINISHED
    nowhere = manager.grammar_init("nowhere", REGEX, stop_token_ids={99})
    with pytest.raises(xgr.InvalidArgumentError, match="no stop token"):
        nowhere.result(30)


def test_many_accepts_in_one_call(make_manager, begin, ids):
    manager = make_manager()
    names = [str(at) for at in range(100)]
    for name in names:
        begin(manager, name)
    wrong = set(names[::7])
    fits = manager.accept_batch({name: ids("b") if name in wrong else ids("a|b") for name in names})
    assert list(fits) == names
    assert {name for name, fit in fits.items() if not fit} == wrong
    assert manager.metrics.value("rejected_total", "tokenstile") == len(wrong)


def test_backends_with_vllm_s_methods_only(make_manager, show, ids):
    manager = make_manager(backend="opaque", num_speculative_tokens=3)
    requests = [manager.grammar_init(str(at), REGEX, stop_token_ids={6}) for at in range(3)]
    for request in requests:
        request.result(30)
        assert request.matcher is None
    rows = manager.grammar_bitmask(["0", "1"], {"0": ids("a|b|c")}).bitmask
    assert show(rows) == ["a ab", "b c", "b c", " ", "a ab"]
    assert manager.accept_batch({"0": ids("a|c"), "1": ids("c")}) == {"0": True, "1": False}


def test_a_backend_that_raises_fails_its_own_request(make_manager, begin, show):
    manager = make_manager(num_speculative_tokens=1)
    begin(manager, "good")
    begin(manager, "broken", backend="broken")
    result = manager.grammar_bitmask(["broken", "good"], {"broken": [0]})
    assert show(result.bitmask) == ["</s>", "</s>", "a ab"]
    assert isinstance(result.errors["broken"], OSError)
    assert result.num_acceptable_drafts == [0, 0]
    assert manager.get("broken").status is RequestStatus.FAILED
    assert isinstance(manager.get("broken").error, OSError)
    begin(manager, "another", backend="broken")
    assert manager.accept_batch({"another": [0], "good": [0]}) == {"another": False, "good": True}
    begin(manager, "third", backend="broken")
    assert manager.validate_tokens("third", [0]) == []
    assert str(manager.get("third").error) == "no drafts today"
    assert manager.validate_tokens("third", [0]) == []
    assert manager.metrics.value("request_errors_total", "broken") == 3


def test_cancelled_requests_in_a_batch_can_only_end(make_manager, begin, show):
    """An engine that has not heard of it must not let it write as if it had no structure."""
    manager = make_manager(num_speculative_tokens=2)
    for name, options in {"plain": {}, "own stops": {"stop_token_ids": {6, 99}}, "good": {}}.items():
        begin(manager, name, **options)
    assert manager.grammar_bitmask(["plain", "good"]).errors == {}
    manager.cancel("plain")
    manager.cancel("own stops")
    drafts = {"plain": [0, 1], "good": [0]}
    result = manager.grammar_bitmask(["plain", "own stops", "good"], drafts)
    assert show(result.bitmask) == ["</s>", "</s>", "</s>", " ", "a ab", "b c"]
    assert result.num_acceptable_drafts == [0, 0, 1]
    assert {name: str(error) for name, error in result.errors.items()} == {
        "plain": "the request 'plain' was cancelled",
        "own stops": "the request 'own stops' was cancelled",
    }
    assert manager.accept_batch({"plain": [7], "good": [0]}) == {"plain": False, "good": True}


def test_a_cancelled_thinker_can_only_end(make_manager, begin, show):
    manager = make_manager(reasoning=ReasoningMarkers(end="</think>"))
    begin(manager, "r")
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["*"]
    manager.cancel("r")
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["</s>"]


def test_unknown_backends_are_named(make_manager):
    manager = make_manager(backend="nobody")
    with pytest.raises(
        xgr.InvalidArgumentError, match=r"there is no backend 'nobody'; there are .*tokenstile"
    ):
        manager.grammar_init("r", REGEX)


def test_several_tokenizers(make_manager, begin):
    manager = make_manager(None)
    with pytest.raises(xgr.InvalidArgumentError, match="has a tokenizer"):
        manager.grammar_init("r", REGEX)
    begin(manager, "small", tokenizer=["a", "b", "c", "</s>"])
    begin(manager, "large", tokenizer=[chr(code) for code in range(97, 197)] + ["</s>"])
    assert manager.grammar_bitmask(["small"]).bitmask.shape == (1, 1)
    assert manager.grammar_bitmask(["large"]).bitmask.shape == (1, 4)
    with pytest.raises(xgr.InvalidArgumentError, match="different sizes"):
        manager.grammar_bitmask(["small", "large"])


def test_equal_vocabularies_share_a_backend(make_manager, begin):
    manager = make_manager(None)
    vocabularies = [xgr.TokenizerInfo(["a", "b", "c", "</s>"]) for _ in range(3)]
    for at, vocabulary in enumerate(vocabularies):
        begin(manager, str(at), tokenizer=vocabulary)
    begin(manager, "padded", tokenizer=xgr.TokenizerInfo(["a", "b", "c", "</s>"], vocab_size=5))
    assert len(manager._backends) == 2
    assert manager.get_stats()["compile_cache_hits_total"]["tokenstile"] == 2


def test_ways_to_write_json(make_manager):
    tokens = ["{", "}", '"a"', ":", " ", "1", ",", '"b"', "</s>"]
    manager = make_manager(tokens)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    for name, options in {"loose": {}, "compact": {"disable_any_whitespace": True}}.items():
        manager.grammar_init(name, StructuredOutputsParams(json=schema, **options)).result(30)
    assert manager.validate_tokens("loose", [0, 2, 3, 4, 5, 1]) == [0, 2, 3, 4, 5, 1]
    assert manager.validate_tokens("compact", [0, 2, 3, 4]) == [0, 2, 3]
    assert manager.validate_tokens("compact", [0, 2, 3, 5, 1, 8]) == [0, 2, 3, 5, 1, 8]


def test_the_bitmask_may_be_the_caller_s(make_manager, begin, show):
    asked = []

    def allocate(rows, vocab_size):
        asked.append((rows, vocab_size))
        return np.zeros((rows, -(-vocab_size // 32)), dtype=np.int32)

    manager = make_manager(max_num_seqs=4, num_speculative_tokens=2, allocate=allocate)
    begin(manager, "r")
    assert show(manager.grammar_bitmask(["r"]).bitmask) == ["a ab"]
    assert asked == [(12, 8)]
    mine = np.zeros((3, 1), dtype=np.int32)
    manager.grammar_bitmask(["r"], out=mine)
    assert show(mine[:1]) == ["a ab"]
    assert not mine[1:].any()


def test_too_many_rows(make_manager, begin):
    manager = make_manager(max_num_seqs=1, num_speculative_tokens=1)
    begin(manager, "1")
    begin(manager, "2")
    with pytest.raises(xgr.InvalidArgumentError, match="raise max_num_seqs"):
        manager.grammar_bitmask(["1", "2"], {"1": [0]})
    assert manager.grammar_bitmask(["1", "2"]).counts == [1, 1]


def test_filling_while_something_else_runs(make_manager, begin, show):
    manager = make_manager()
    begin(manager, "r")
    assert show(manager.grammar_bitmask_async(["r"]).result(30).bitmask) == ["a ab"]


def test_after_the_end(held):
    manager, _, release = held
    waiting = manager.grammar_init("r", REGEX)
    release()
    manager.shutdown()
    assert waiting.status in {RequestStatus.CANCELLED, RequestStatus.READY}
    with pytest.raises(xgr.TokenstileError, match="shut down"):
        manager.grammar_init("late", REGEX).result(30)
    manager.shutdown()


def test_nothing_is_left_of_a_manager(make_manager, begin):
    others = set(threading.enumerate())
    with make_manager() as manager:
        begin(manager, "r")
        own = set(threading.enumerate()) - others
        assert any(thread.name.startswith("tokenstile-compile") for thread in own)
    assert not any(
        thread.name.startswith("tokenstile-compile") for thread in own & set(threading.enumerate())
    )


def test_tracing(make_manager, begin, caplog):
    with caplog.at_level(logging.DEBUG, "tokenstile.structured_output"):
        manager = make_manager()
        begin(manager, "r")
        manager.accept_tokens("r", [1])
        manager.grammar_init("bad", BAD).future.exception(30)
        manager.shutdown()
    text = caplog.text
    for said in (
        "compile regex for r",
        "compiled regex in",
        "tokens of r do not fit: [1]",
        "no grammar for bad",
    ):
        assert said in text
