"""Calls that take long: others run meanwhile, signals end them, and so do deadlines and cancellations."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time

import numpy as np
import pytest

import tokenstile as xgr

# Ambiguous, and with brackets that keep it from being regular: a mask takes tens of milliseconds.
SLOW_MASKS = 'root ::= a*\na ::= [a-z]+ a? [a-z]* a? "x"? | "(" a ")"'
# Each character takes longer than the one before.
SLOW_TEXT = "abcdefgh" * 100_000
LETTERS = "abcdefghijklmnopqrstuvwxyz     0123456789"


class AlarmRangError(Exception):
    pass


@pytest.fixture(scope="module")
def compiler():
    dice = random.Random(0)  # noqa: S311
    tokens = {bytes([byte]) for byte in range(256)}
    while len(tokens) < 40_000:
        tokens.add("".join(dice.choice(LETTERS) for _ in range(dice.randint(2, 9))).encode())
    info = xgr.TokenizerInfo([b"</s>", *sorted(tokens)], stop_token_ids=[0])
    return xgr.GrammarCompiler(info, cache_enabled=False)


@pytest.fixture
def size(compiler):
    return compiler.tokenizer_info.vocab_size


@pytest.fixture
def compiled(compiler):
    return compiler.compile_grammar(SLOW_MASKS)


@pytest.fixture
def alarm():
    """Rings once while something is done, after so many seconds; whether it rang."""
    armed = []

    def ring(_number, _frame):
        if armed:
            raise AlarmRangError

    @contextlib.contextmanager
    def within(seconds):
        rang = []
        armed.append(True)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield rang
            armed.clear()
        except AlarmRangError:
            rang.append(True)
        finally:
            armed.clear()
            signal.setitimer(signal.ITIMER_REAL, 0)

    before = signal.signal(signal.SIGALRM, ring)
    yield within
    signal.signal(signal.SIGALRM, before)


def state(matcher):
    return repr(matcher)


def first_mask(compiled, size):
    mask = np.zeros(xgr.get_bitmask_shape(1, size), dtype=np.int32)
    xgr.GrammarMatcher(compiled).fill_next_token_bitmask(mask)
    return mask


def calls_that_take_long(compiled):
    """Each with a matcher of its own, and what it is called with."""
    matcher = xgr.GrammarMatcher(compiled)
    batch = xgr.BatchGrammarMatcher(2)
    return {
        "accept_string": (matcher, lambda: matcher.accept_string(SLOW_TEXT)),
        "batch_accept_string": (matcher, lambda: batch.batch_accept_string([matcher], [SLOW_TEXT])),
    }


@pytest.mark.parametrize("call", ["accept_string", "batch_accept_string"])
def test_a_signal_ends_a_call_and_nothing_has_changed(compiled, alarm, call):
    matcher, work = calls_that_take_long(compiled)[call]
    assert matcher.accept_string("ab")
    before = state(matcher)
    with alarm(0.05) as rang:
        work()
    assert rang
    assert state(matcher) == before
    assert matcher.accept_string("cd")
    matcher.rollback(2)


def test_a_signal_ends_a_mask_and_no_row_is_written(compiler, size, alarm):
    """The alarm may ring at any point; wherever it does the row is whole or as it was, and the next call writes it."""
    expected = first_mask(compiler.compile_grammar(SLOW_MASKS), size)
    for attempt in range(20):
        matcher = xgr.GrammarMatcher(compiler.compile_grammar(SLOW_MASKS))
        mask = np.full_like(expected, 7)
        with alarm(0.001 * (attempt + 1)) as rang:
            matcher.fill_next_token_bitmask(mask)
        assert np.array_equal(mask, expected) or (rang and (mask == 7).all())
        matcher.fill_next_token_bitmask(mask)
        assert np.array_equal(mask, expected)


def test_a_handler_of_a_signal_can_use_other_matchers_and_not_this_one(compiled):
    other = xgr.GrammarMatcher(compiled)
    matcher = xgr.GrammarMatcher(compiled)
    seen = []

    def ring(_number, _frame):
        seen.append(other.accept_string("ab"))
        with pytest.raises(xgr.MatcherError, match="handler of a signal"):
            matcher.is_completed()
        raise AlarmRangError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(AlarmRangError):
            matcher.accept_string(SLOW_TEXT)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == [True]
    assert matcher.is_completed()


def test_other_threads_run_meanwhile(compiled):
    token = xgr.CancelToken()
    matcher = xgr.GrammarMatcher(compiled, cancel=token)
    ended = []

    def work():
        with pytest.raises(xgr.CancelledError):
            matcher.accept_string(SLOW_TEXT)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    beats = 0
    for _ in range(20):
        time.sleep(0.002)
        beats += not ended
    token.cancel()
    thread.join()
    assert beats == 20


def test_a_cancelled_token_ends_what_is_not_known_and_stays(compiled):
    token = xgr.CancelToken()
    matcher = xgr.GrammarMatcher(compiled, cancel=token)
    threading.Timer(0.05, token.cancel).start()
    with pytest.raises(xgr.CancelledError):
        matcher.accept_string(SLOW_TEXT)
    with pytest.raises(xgr.CancelledError):
        matcher.accept_string(SLOW_TEXT)
    assert state(matcher).startswith("<GrammarMatcher steps: 0")


def fill_at_last(matcher, mask):
    """How many calls it takes."""
    for calls in range(1, 10_000):
        with contextlib.suppress(xgr.MaskTimeoutError):
            matcher.fill_next_token_bitmask(mask)
            return calls
        assert (mask == 7).all()
    raise AssertionError("no call came to an end")


def test_the_error_is_a_timeout(compiled, size):
    matcher = xgr.GrammarMatcher(compiled, max_mask_time=0)
    with pytest.raises(xgr.MaskTimeoutError, match="max_mask_time") as raised:
        matcher.fill_next_token_bitmask(np.zeros(xgr.get_bitmask_shape(1, size), dtype=np.int32))
    assert isinstance(raised.value, TimeoutError)
    assert isinstance(raised.value, RuntimeError)


@pytest.mark.parametrize("seconds", [0.0002, 0.002])
def test_the_same_call_again_goes_on_from_the_work_that_is_done(compiler, size, seconds):
    expected = first_mask(compiler.compile_grammar(SLOW_MASKS), size)
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(SLOW_MASKS), max_mask_time=seconds)
    assert matcher.max_mask_time == seconds
    mask = np.full(xgr.get_bitmask_shape(1, size), 7, dtype=np.int32)
    assert fill_at_last(matcher, mask) > 1
    assert np.array_equal(mask, expected)
    assert matcher.accept_string("abc")


def test_forks_and_batches_keep_the_time(compiler, size):
    compiled = compiler.compile_grammar(SLOW_MASKS)
    matcher = xgr.GrammarMatcher(compiled, max_mask_time=0.0002)
    known = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a"'))
    mask = np.full(xgr.get_bitmask_shape(2, size), 7, dtype=np.int32)
    batch = xgr.BatchGrammarMatcher(2)
    with pytest.raises(xgr.MaskTimeoutError):
        batch.batch_fill_next_token_bitmask([known, matcher.fork()], mask)
    assert (mask == 7).all()


def test_no_time_at_all_is_enough_for_what_is_known(compiled, size):
    expected = first_mask(compiled, size)
    matcher = xgr.GrammarMatcher(compiled, max_mask_time=0)
    mask = np.zeros_like(expected)
    matcher.fill_next_token_bitmask(mask)
    assert np.array_equal(mask, expected)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), "1"])
def test_times_that_are_none(compiled, wrong):
    with pytest.raises(xgr.InvalidArgumentError, match="max_mask_time"):
        xgr.GrammarMatcher(compiled, max_mask_time=wrong)


def test_a_batch_that_was_stopped_has_moved_no_matcher(compiled, alarm):
    quick = [xgr.GrammarMatcher(compiled) for _ in range(3)]
    slow = xgr.GrammarMatcher(compiled)
    with alarm(0.1) as rang:
        xgr.BatchGrammarMatcher.batch_accept_string([*quick, slow], ["ab", "cd", "ef", SLOW_TEXT])
    assert rang
    assert {state(matcher) for matcher in [*quick, slow]} == {state(xgr.GrammarMatcher(compiled))}


def test_a_budget_can_be_interrupted_too(compiler, size, alarm):
    """Costs and narrowed masks are work as well."""
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(SLOW_MASKS), max_tokens=50)
    expected = xgr.GrammarMatcher(compiler.compile_grammar(SLOW_MASKS), max_tokens=50)
    masks = np.zeros(xgr.get_bitmask_shape(2, size), dtype=np.int32)
    with alarm(0.01):
        matcher.fill_next_token_bitmask(masks, 0)
    matcher.fill_next_token_bitmask(masks, 0)
    expected.fill_next_token_bitmask(masks, 1)
    assert np.array_equal(masks[0], masks[1])


def test_captures_that_were_interrupted_are_told_later(compiler, alarm):
    told = []
    compiled = compiler.compile_grammar("root ::= word*\nword[capture] ::= [a-z]+ [0-9]")
    matcher = xgr.GrammarMatcher(compiled, on_capture=told.append)
    text = "abc1" * 20_000
    with alarm(0.02):
        matcher.accept_string(text)
    matcher.reset()
    told.clear()
    assert matcher.accept_string("abc1ab2x")
    assert [capture.bytes for capture in told] == [b"abc1", b"ab2"]
    assert matcher.get_captures() == [("word", b"abc1"), ("word", b"ab2")]
