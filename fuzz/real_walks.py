"""Long walks over the vocabulary of a real model, with bounds on the time and the memory of each call.

A random grammar is compiled, and walked by its masks for hundreds of tokens: with steps back, forks, and tables so
small that they are dropped on the way. What must hold:

- a token has its bit in the mask if and only if it is accepted, tried with some that have it and some that have not;
- rolling back gives the masks back, and so does reading all tokens again with another matcher;
- no call takes longer than it may, by the clock of its thread, and none makes the process grow by more than it may.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

import tokenstile
from tokenstile.testing import bitmask_to_bool_mask

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from numpy.typing import NDArray

T = TypeVar("T")

STEPS = [10, 60, 300]
TRIED = 32
WALK_SECONDS = 4.0
MASK_SECONDS = 1.0
ACCEPT_SECONDS = 0.5
COMPILE_BYTES = 1 << 30
CALL_BYTES = 320 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")
STATUS = Path("/proc/self/status")
PEAK = Path("/proc/self/clear_refs")
KNOWS_PEAK = STATUS.exists() and os.access(PEAK, os.W_OK)
"""Whether the system tells the most memory that there was since a moment that can be set."""


def resident() -> tuple[int, int]:
    """Return what the process has in memory, and the most that it had since `begin`."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="ascii").splitlines())
    now, most = (int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, most


def bounded(what: str, call: Callable[[], T], seconds: float, most_bytes: int) -> T:
    """Return the result of a call that must not take longer, nor more memory."""
    before = 0
    if KNOWS_PEAK:
        PEAK.write_text("5", encoding="ascii")
        before, _ = resident()
    started = time.thread_time()
    result = call()
    took = time.thread_time() - started
    assert took <= seconds, f"{what} took {took:.1f} s"
    if KNOWS_PEAK:
        grew = resident()[1] - before
        assert grew <= most_bytes, f"{what} took {grew >> 20} MiB"
    return result


@dataclass
class Walk:
    """A matcher under way, and what it has had."""

    random: random.Random
    info: tokenstile.TokenizerInfo
    matcher: tokenstile.GrammarMatcher
    tokens: list[int] = field(default_factory=list)
    masks: list[NDArray[np.int32]] = field(default_factory=list)

    def row(self) -> NDArray[np.int32]:
        """Return the mask."""
        row = np.full(tokenstile.get_bitmask_shape(1, self.info.vocab_size), -1, dtype=np.int32)
        bounded("a mask", lambda: self.matcher.fill_next_token_bitmask(row), MASK_SECONDS, CALL_BYTES)
        return row

    def takes(self, token: int) -> bool:
        """Return whether a token is accepted, and take it back."""
        taken = bounded("a token", lambda: self.matcher.accept_token(token), ACCEPT_SECONDS, CALL_BYTES)
        if taken:
            self.matcher.rollback()
        return taken

    def compare(self, allowed: NDArray[np.bool_]) -> None:
        """Try some tokens that the mask allows, and some at random."""
        fits = np.flatnonzero(allowed)
        for _ in range(TRIED):
            assert self.takes(int(self.random.choice(fits))), "the mask allows what is refused"
            token = self.random.randrange(self.info.vocab_size)
            assert self.takes(token) == allowed[token], f"the mask is wrong about {token}"

    def step(self) -> bool:
        """Accept a token; return whether the walk goes on."""
        row = self.row()
        allowed = bitmask_to_bool_mask(row, self.info.vocab_size)[0]
        assert allowed.any(), "a dead end"
        if self.random.random() < 0.06:
            self.compare(allowed)
        token = int(self.random.choice(np.flatnonzero(allowed)))
        assert self.matcher.accept_token(token)
        self.tokens.append(token)
        self.masks.append(row)
        if self.random.random() < 0.03:
            self.matcher = self.matcher.fork()
        if self.random.random() < 0.04:
            self.go_back(self.random.randint(1, min(8, len(self.tokens))))
        return not self.matcher.is_terminated()

    def go_back(self, count: int) -> None:
        """Take tokens back, and look that the mask is the one from then."""
        self.matcher.rollback(count)
        del self.tokens[len(self.tokens) - count :]
        expected = self.masks[len(self.tokens)]
        del self.masks[len(self.tokens) :]
        assert (self.row() == expected).all(), f"after {count} tokens back there is another mask"


def check_walk(
    random: random.Random,
    info: tokenstile.TokenizerInfo,
    compile_text: Callable[[tokenstile.GrammarCompiler], tokenstile.CompiledGrammar],
    limits: tokenstile.Limits,
) -> bool:
    """Compile a text and walk it; return whether it was compiled."""
    compiler = tokenstile.GrammarCompiler(info, cache_enabled=False, limits=limits)
    try:
        compiled = bounded("compiling", lambda: compile_text(compiler), 4.0, COMPILE_BYTES)
    except tokenstile.TokenstileError:
        return False
    walk = Walk(random, info, tokenstile.GrammarMatcher(compiled))
    ends = time.thread_time() + WALK_SECONDS
    for _ in range(random.choice(STEPS)):
        if not walk.step() or time.thread_time() > ends:
            break
    # Another matcher of the same grammar, whose tables may have been dropped meanwhile, sees the same.
    again = Walk(random, info, tokenstile.GrammarMatcher(compiled))
    at = random.randrange(len(walk.tokens) + 1)
    for token in walk.tokens[:at]:
        assert again.matcher.accept_token(token)
    if at < len(walk.masks):
        assert (again.row() == walk.masks[at]).all(), "another matcher has another mask"
    return True
