"""Many threads over one compiled grammar, and over one matcher."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.testing import bitmask_to_bool_mask

TEXT = '{"ab": [1, 2.5e3, {"c": "true é"}], "d": null, "e": [[], {}, false]}'


@pytest.fixture
def compiled(info):
    return xgr.GrammarCompiler(info, cache_enabled=False).compile_builtin_json_grammar()


def walk(compiled, size, seed):
    """Masks along a random walk that the seed decides."""
    random = np.random.default_rng(seed)
    matcher = xgr.GrammarMatcher(compiled)
    mask = np.zeros(xgr.get_bitmask_shape(1, size), dtype=np.int32)
    masks = []
    for _ in range(200):
        if matcher.is_terminated():
            matcher.rollback(2)
        matcher.fill_next_token_bitmask(mask)
        masks.append(mask.tobytes())
        assert matcher.accept_token(random.choice(np.flatnonzero(bitmask_to_bool_mask(mask, size)[0])))
        if random.random() < 0.1:
            matcher = matcher.fork()
    return masks


@pytest.mark.parametrize("cache_bytes", [1, 1 << 16, 1 << 27])
def test_eight_threads_over_one_grammar(info, cache_bytes):
    limits = xgr.Limits(max_cache_bytes=cache_bytes)
    compiler = xgr.GrammarCompiler(info, cache_enabled=False, limits=limits)
    alone = compiler.compile_builtin_json_grammar()
    expected = [walk(alone, info.vocab_size, seed) for seed in range(16)]
    shared = compiler.compile_builtin_json_grammar()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: walk(shared, info.vocab_size, seed), range(16)))
    assert found == expected


def test_one_matcher_from_many_threads(compiled, info):
    """Nothing is promised about the order, but that every call sees a whole state."""
    matcher = xgr.GrammarMatcher(compiled)
    batch = xgr.BatchGrammarMatcher(2)
    stop = threading.Event()
    failures = []

    def guard(action):
        def run():
            try:
                while not stop.is_set():
                    action()
            except Exception as error:  # noqa: BLE001 - reported below
                failures.append(error)

        return threading.Thread(target=run)

    def move():
        for character in TEXT:
            matcher.accept_string(character)
        matcher.reset()

    def fill():
        matcher.fill_next_token_bitmask(np.zeros(xgr.get_bitmask_shape(1, info.vocab_size), dtype=np.int32))

    def fill_batch():
        mask = np.zeros(xgr.get_bitmask_shape(64, info.vocab_size), dtype=np.int32)
        batch.batch_fill_next_token_bitmask([matcher] * 64, mask)

    def look():
        matcher.fork().find_jump_forward_string()
        matcher.is_completed()
        matcher.get_captures()
        repr(matcher)

    threads = [guard(action) for action in (move, fill, fill, fill_batch, look, look)]
    for thread in threads:
        thread.start()
    threading.Event().wait(1.0)
    stop.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a deadlock"
    assert not failures


def test_compiling_releases_the_gil(info):
    compiler = xgr.GrammarCompiler(info, cache_enabled=False)
    source = "root ::= " + " | ".join(f'"{number}" [a-z]* "x"' for number in range(20_000))
    done = threading.Event()

    def work():
        compiler.compile_grammar(source)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    steps = 0
    while not done.is_set():
        steps += 1
    thread.join()
    assert steps > 10
