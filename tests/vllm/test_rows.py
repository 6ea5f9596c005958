"""The native rows of a batch are those of vLLM's own loop, bit by bit, whatever the drafts are."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from vllm.v1.structured_output import ConstraintBounds, StructuredOutputManager
from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind

from tokenstile.integrations.vllm.backend import VllmBackend

GRAMMARS = ["[ab]{0,6}", "(Paris|London)(, (Paris|London))*", r'"[^"]{0,20}"', "[0-9]{1,3}"]
DRAFTS = 4


@pytest.fixture(scope="module")
def manager(config):
    manager = StructuredOutputManager(config)
    manager.backend = VllmBackend(config, manager.tokenizer, config.model_config.get_vocab_size())
    yield manager
    manager.clear_backend()


class Bounds:
    """Stands for the reasoning gate: the bounds of each request are given."""

    def __init__(self, bounds):
        self.bounds = bounds

    def __call__(self, request, *_, **__):
        return ConstraintBounds(*self.bounds[request.request_id])


def request(manager, name, random_numbers):
    """A request in the middle of its text, sometimes after its end."""
    grammar = manager.backend.compile_grammar(Kind.REGEX, random_numbers.choice(GRAMMARS))
    walk(grammar, manager, random_numbers, random_numbers.randrange(4), commit=True)
    return SimpleNamespace(
        request_id=name,
        structured_output_request=SimpleNamespace(grammar=grammar),
        use_structured_output=True,
    )


def walk(grammar, manager, random_numbers, length, *, commit=False):
    """Return tokens that fit one after the other; all of them are taken back unless they are to be kept."""
    row = manager.backend.allocate_token_bitmask(1)
    tokens = []
    while len(tokens) < length and not grammar.is_terminated():
        grammar.fill_bitmask(row, 0)
        words = row[0].numpy().view(np.uint32)
        fits = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        tokens.append(int(random_numbers.choice(fits)))
        assert grammar.accept_tokens("walk", tokens[-1:])
    if not commit:
        grammar.rollback(len(tokens))
    return tokens


def drafts(manager, grammar, random_numbers):
    """Drafts as engines make them: that fit, that do not, padded, or none at all."""
    tokens = walk(grammar, manager, random_numbers, random_numbers.randrange(DRAFTS + 1))
    if tokens and random_numbers.random() < 0.4:
        tokens[random_numbers.randrange(len(tokens))] = random_numbers.randrange(49_000)
    if random_numbers.random() < 0.4:
        tokens = (tokens[: random_numbers.randrange(len(tokens) + 1)] + [-1] * DRAFTS)[:DRAFTS]
    return tokens


@pytest.mark.parametrize("seed", range(40))
def test_rows_with_drafts(manager, seed, monkeypatch):
    random_numbers = random.Random(seed)  # noqa: S311 - a test
    requests = {f"r{at}": request(manager, f"r{at}", random_numbers) for at in range(12)}
    grammars = {name: it.structured_output_request.grammar for name, it in requests.items()}
    scheduled = {name: drafts(manager, grammars[name], random_numbers) for name in requests}
    scheduled = {name: tokens for name, tokens in scheduled.items() if tokens}
    starts = {name: random_numbers.choice([0, 0, 0, 1, 2, DRAFTS + 1]) for name in requests}
    # An opener of the answer is taken by the grammar, and its place is not masked.
    bounds = Bounds(
        {
            name: (start, start + (start > 0 and random_numbers.random() < 0.5))
            for name, start in starts.items()
        }
    )
    monkeypatch.setattr(manager, "_get_constraint_bounds", bounds)
    monkeypatch.setattr(manager, "_grammar_bitmask", manager.backend.allocate_token_bitmask(200))
    before = [repr(grammar) for grammar in grammars.values()]

    order = random_numbers.sample(list(requests), len(requests))
    ours = manager.grammar_bitmask(requests, order, scheduled).copy()
    assert [repr(grammar) for grammar in grammars.values()] == before
    manager._grammar_bitmask.fill_(0x5A5A5A5A)
    theirs = StructuredOutputManager.grammar_bitmask.__wrapped__(manager, requests, order, scheduled)
    assert ours.shape == theirs.shape
    assert (ours == theirs).all()


def test_rows_without_drafts_of_a_large_batch(manager, monkeypatch):
    """More requests than vLLM's threshold for threads of its own."""
    random_numbers = random.Random(0)  # noqa: S311 - a test
    requests = {f"r{at}": request(manager, f"r{at}", random_numbers) for at in range(150)}
    monkeypatch.setattr(manager, "_grammar_bitmask", None)
    monkeypatch.setattr(
        manager,
        "_get_constraint_bounds",
        Bounds({name: (at % 7 == 0,) * 2 for at, name in enumerate(requests)}),
    )
    ours = manager.grammar_bitmask(requests, list(requests), {}).copy()
    theirs = StructuredOutputManager.grammar_bitmask.__wrapped__(manager, requests, list(requests), {})
    assert ours.shape == (150, 1536)
    assert (ours == theirs).all()


def test_no_requests(manager):
    assert manager.grammar_bitmask({}, [], {}) is None
