"""Our backends keep the contract, and the suite sees it when one does not."""

from __future__ import annotations

import pytest

from tokenstile import GrammarMatcher
from tokenstile.structured_output import (
    BackendContext,
    CompositeGrammar,
    TokenstileBackend,
    XGrammarBackend,
)
from tokenstile.structured_output.backend import TokenstileGrammar
from tokenstile.structured_output.conformance import CHECKS, run_check
from tokenstile.structured_output.xgrammar_backend import AsyncXGrammarBackend


def by_name(context: BackendContext) -> XGrammarBackend:
    return XGrammarBackend(context.tokenizer_info, num_speculative_tokens=8)


def by_name_and_async(context: BackendContext) -> AsyncXGrammarBackend:
    return AsyncXGrammarBackend(context.tokenizer_info)


class Composed(TokenstileBackend):
    """Each grammar is a composite of itself and of one that allows everything."""

    def compile_grammar(self, *args, **options):
        grammar = super().compile_grammar(*args, **options)
        everything = self.compiler.compile_regex(r"[\s\S]*")
        return CompositeGrammar(
            [grammar, GrammarMatcher(everything, override_stop_tokens=grammar.matcher.stop_token_ids)]
        )


@pytest.mark.parametrize("make", [TokenstileBackend, Composed, by_name, by_name_and_async])
@pytest.mark.parametrize("name", CHECKS)
def test_ours(name, make):
    finding = run_check(name, make)
    assert finding.passed, finding.detail


def test_checks_say_what_they_ask_for():
    assert all(check.__doc__ for check in CHECKS.values())


# Each breaks one rule; the checks that must see it.
FAULTS = {
    "accept_tokens": (
        "accepts_nothing",
        lambda self, _id, tokens: bool(tokens) and self.matcher.accept_token(tokens[0]),
    ),
    "validate_tokens": (
        "validating_moves_nothing",
        lambda self, tokens: [token for token in tokens if self.matcher.accept_token(token)],
    ),
    "rollback": ("rolling_back_nothing_does_nothing", lambda self, count: self.matcher.rollback(count)),
    "fill_bitmask": ("fills_the_whole_row", lambda _, mask, row: mask.__setitem__((row, 0), 1)),
    "is_terminated": ("terminates_by_a_stop_token_only", lambda self: self.matcher.is_completed()),
    "reset": ("resets", lambda _: None),
    "fresh": ("begins_anew", lambda self, stops=None: self),  # noqa: ARG005 - a fault
}


@pytest.mark.parametrize("method", FAULTS)
def test_faults_are_found(method, monkeypatch):
    check, fault = FAULTS[method]
    assert run_check(check, TokenstileBackend).passed
    monkeypatch.setattr(TokenstileGrammar, method, fault)
    assert not run_check(check, TokenstileBackend).passed
