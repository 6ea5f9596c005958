"""Where XGrammar refuses an argument, so do we, and whoever catches its exception catches ours.

What is different on purpose is listed here and in docs/differences-from-xgrammar.md.
"""

from __future__ import annotations

import builtins

import pytest
from tests.wrong_arguments import outcomes

import tokenstile as xgr

xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
pytest.importorskip("torch", reason="torch is not installed")

# An attribute that is missing, a key that cannot be hashed, half a character: accidents, and not what a caller catches.
ACCIDENTS = (AttributeError, UnicodeEncodeError, IndexError)
# An argument that is wrong in two ways, or a number that XGrammar cannot convert and we can.
NUMBERS = ("huge)", "nan)", "np.int64(1))", "an array)")
TAKEN = {
    "from_json_schema(schema=True)",
    "compile_json_schema(schema=True)",
    "_json_schema_to_ebnf(schema=True)",
    "from_json_schema(any_order=None)",
    "compile_json_schema(any_order=None)",
    "allocate_token_bitmask(batch_size=True)",
    "allocate_token_bitmask(batch_size=False)",
    "batch_rollback(num_tokens=None)",
    "BatchGrammarMatcher(max_threads=True)",
    "batch_accept_token(tokens=b'x')",
    "batch_accept_string(strings={'a': 1})",
}


# Refused by both, for another reason.
OTHERWISE = {
    "from_structural_tag, older(tags='')",
    "from_structural_tag, older(tags={})",
    "batch_rollback(num_tokens=b'x')",
}


@pytest.fixture(scope="module")
def both():
    theirs, ours = (dict(outcomes(package)) for package in (xgrammar, xgr))
    assert theirs.keys() == ours.keys()
    return {call: (error, ours[call]) for call, error in theirs.items()}


def test_what_xgrammar_refuses_is_refused(both):
    taken = {call for call, (theirs, ours) in both.items() if theirs is not None and ours is None}
    numbers = {call for call in taken if call.endswith(NUMBERS)}
    accidents = {call for call in taken if isinstance(both[call][0], ACCIDENTS)}
    assert taken - numbers - accidents <= TAKEN


def test_exceptions_can_be_caught_as_those_of_xgrammar(both):
    uncaught = {}
    for call, (theirs, ours) in both.items():
        if theirs is None or ours is None or isinstance(theirs, ACCIDENTS):
            continue
        wanted = type(theirs)
        if wanted.__module__.startswith("pydantic"):
            wanted = ValueError
        if wanted.__module__ != "builtins":
            wanted = getattr(xgr, wanted.__name__, getattr(builtins, wanted.__name__, None))
        if not isinstance(ours, wanted) and not call.endswith(NUMBERS) and call not in OTHERWISE:
            uncaught[call] = (wanted.__name__, repr(ours)[:100])
    assert not uncaught
