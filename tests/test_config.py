"""Settings of the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tokenstile as xgr


def test_recursion_depth():
    assert xgr.get_max_recursion_depth() == 10_000
    with xgr.max_recursion_depth(77):
        assert xgr.get_max_recursion_depth() == 77
        with pytest.raises(RuntimeError):
            xgr.set_max_recursion_depth(0)
    assert xgr.get_max_recursion_depth() == 10_000
    with xgr.max_recursion_depth(1_000_000):
        assert xgr.get_max_recursion_depth() == 1_000_000
    for wrong in (0, -1, 1_000_001):
        with pytest.raises(RuntimeError):
            xgr.set_max_recursion_depth(wrong)
    with pytest.raises(KeyError), xgr.max_recursion_depth(5):
        raise KeyError
    assert xgr.get_max_recursion_depth() == 10_000


@pytest.mark.parametrize(
    ("text", "depth"),
    [("77", 77), ("1000001", 1_000_000), ("0", 10_000), ("-3", 10_000), ("many", 10_000), ("", 10_000)],
)
def test_recursion_depth_of_the_environment(text, depth):
    program = "import tokenstile; print(tokenstile.get_max_recursion_depth())"
    environment = {**os.environ, "XGRAMMAR_MAX_RECURSION_DEPTH": text}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(depth)


def test_version():
    assert isinstance(xgr.get_serialization_version(), str)
    assert xgr.__version__.count(".") == 2


def test_the_defaults_of_limits_are_the_cores():
    text = 'root ::= "a"'
    grammar = xgr.Grammar.from_ebnf(text)
    assert xgr.Grammar.from_ebnf(text, limits=xgr.Limits()) == grammar
    deep = "(" * 1000
    for limits in (None, xgr.Limits()):
        assert xgr.Grammar.from_ebnf(f'root ::= {deep[:900]}"a"{")" * 900}', limits=limits)
        with pytest.raises(xgr.LimitExceededError):
            xgr.Grammar.from_ebnf(f'root ::= {deep}(("a")){")" * 1000}', limits=limits)


@pytest.mark.parametrize("depth", [1.5, "3", None, [1]])
def test_recursion_depths_that_are_no_integers(depth):
    with pytest.raises(xgr.InvalidArgumentError, match="must be an int, not"):
        xgr.set_max_recursion_depth(depth)
    assert xgr.get_max_recursion_depth() == 10_000


@pytest.mark.parametrize("limit", [1.5, "3", None])
def test_cache_limits_that_are_no_integers(limit):
    before = xgr.get_cache_limit_bytes()
    with pytest.raises(xgr.InvalidArgumentError, match="number of bytes"):
        xgr.set_cache_limit_bytes(limit)
    assert xgr.get_cache_limit_bytes() == before
