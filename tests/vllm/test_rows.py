"""The native rows of a batch are those of vLLM's own loop, bit by bit, whatever the drafts are.

vLLM 0.32 and 0.33 lay them out differently; each is compared with its own loop.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from vllm.v1.structured_output import ConstraintBounds, StructuredOutputManager
from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind
from vllm.v1.structured_output.utils import apply_grammar_bitmask

from tokenstile.integrations.vllm import layout
from tokenstile.integrations.vllm.backend import VllmBackend

GRAMMARS = ["[ab]{0,6}", "(Paris|London)(, (Paris|London))*", r'"[^"]{0,20}"', "[0-9]{1,3}"]
DRAFTS = 4


@pytest.fixture(scope="module")
def manager(config):
    """A manager of an engine with a drafter."""
    manager = StructuredOutputManager(config)
    manager.backend = VllmBackend(config, manager.tokenizer, config.model_config.get_vocab_size())
    manager.vllm_config = settings(config, DRAFTS)
    yield manager
    manager.clear_backend()


def settings(config, drafts, *, is_diffusion=False):
    """vLLM's settings with so many drafts in a step."""
    model = SimpleNamespace(is_diffusion=is_diffusion, skip_tokenizer_init=False)
    scheduler = SimpleNamespace(max_num_seqs=config.scheduler_config.max_num_seqs)
    return SimpleNamespace(num_speculative_tokens=drafts, model_config=model, scheduler_config=scheduler)


@pytest.fixture
def ends(manager, monkeypatch):
    """Let some requests have implicit ends of their thoughts that the grammar cannot begin with."""
    tokens: dict[str, tuple[int, ...]] = {}
    monkeypatch.setattr(
        manager, "_masked_reasoning_ends", lambda request: tokens.get(request.request_id, ()), raising=False
    )
    return tokens


def both(manager, requests, order, scheduled):
    """Return our rows and those of vLLM's loop, with the same in the rows that nobody writes or reads."""
    rows = []
    for fill in (
        StructuredOutputManager.grammar_bitmask,
        StructuredOutputManager.grammar_bitmask.__wrapped__,
    ):
        manager._grammar_bitmask.fill_(0x5A5A5A5A)
        rows.append(fill(manager, requests, order, scheduled).copy())
    return rows


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
def test_rows_with_drafts(manager, ends, seed, monkeypatch):
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
    ends.update({name: (3, 64, 49_000) for name in requests if random_numbers.random() < 0.5})
    before = [repr(grammar) for grammar in grammars.values()]

    order = random_numbers.sample(list(requests), len(requests))
    ours, theirs = both(manager, requests, order, scheduled)
    assert [repr(grammar) for grammar in grammars.values()] == before
    assert ours.shape == theirs.shape
    assert (ours == theirs).all()


@pytest.mark.parametrize("drafts", [0, DRAFTS])
def test_rows_without_drafts_of_a_large_batch(config, manager, ends, drafts, monkeypatch):
    """More requests than vLLM's threshold for threads of its own, in an engine with a drafter and without."""
    monkeypatch.setattr(manager, "vllm_config", settings(config, drafts))
    random_numbers = random.Random(0)  # noqa: S311 - a test
    requests = {f"r{at}": request(manager, f"r{at}", random_numbers) for at in range(150)}
    ends.update(dict.fromkeys(list(requests)[::2], (0, 31, 32)))
    monkeypatch.setattr(
        manager, "_grammar_bitmask", manager.backend.allocate_token_bitmask(200 * (1 + drafts))
    )
    monkeypatch.setattr(
        manager,
        "_get_constraint_bounds",
        Bounds({name: (at % 7 == 0,) * 2 for at, name in enumerate(requests)}),
    )
    ours, theirs = both(manager, requests, list(requests), {})
    blocks = layout.find(StructuredOutputManager) == layout.BLOCKS
    assert ours.shape == theirs.shape == (150 * (1 + drafts if blocks else 1), 1536)
    assert (ours == theirs).all()


@pytest.mark.parametrize("drafts", [0, DRAFTS])
def test_the_first_step_makes_the_buffer(config, manager, drafts, monkeypatch):
    """With room for the drafts of all requests that a step can have."""
    monkeypatch.setattr(manager, "vllm_config", settings(config, drafts))
    monkeypatch.setattr(manager, "_grammar_bitmask", None)
    monkeypatch.setattr(manager, "_get_constraint_bounds", Bounds({"r": (0, 0)}))
    one = request(manager, "r", random.Random(1))  # noqa: S311 - a test
    manager.grammar_bitmask({"r": one}, ["r"], {})
    assert len(manager._grammar_bitmask) == 200 * (1 + drafts)


def test_rows_of_diffusion_models_are_left_to_vllm(config, manager, monkeypatch):
    """They have no row behind the last draft; vLLM refuses constraints for them, unless its front end was passed by."""
    monkeypatch.setattr(manager, "vllm_config", settings(config, DRAFTS, is_diffusion=True))
    monkeypatch.setattr(manager, "_grammar_bitmask", manager.backend.allocate_token_bitmask(200))
    random_numbers = random.Random(2)  # noqa: S311 - a test
    requests = {f"r{at}": request(manager, f"r{at}", random_numbers) for at in range(3)}
    monkeypatch.setattr(manager, "_get_constraint_bounds", Bounds(dict.fromkeys(requests, (0, 0))))
    scheduled = {
        name: walk(it.structured_output_request.grammar, manager, random_numbers, DRAFTS)
        for name, it in requests.items()
    }
    ours, theirs = both(manager, requests, list(requests), scheduled)
    assert ours.shape == theirs.shape
    assert (ours == theirs).all()


@pytest.mark.parametrize("seed", range(8))
def test_rows_reach_their_requests(manager, seed, monkeypatch):
    """vLLM's worker finds them: a position of a request allows what its grammar allows there, and nothing else."""
    random_numbers = random.Random(seed)  # noqa: S311 - a test
    requests = {f"r{at}": request(manager, f"r{at}", random_numbers) for at in range(6)}
    grammars = {name: it.structured_output_request.grammar for name, it in requests.items()}
    drafts = {
        name: walk(it, manager, random_numbers, random_numbers.randrange(4)) for name, it in grammars.items()
    }
    monkeypatch.setattr(manager, "_get_constraint_bounds", Bounds(dict.fromkeys(requests, (0, 0))))
    monkeypatch.setattr(manager, "_grammar_bitmask", manager.backend.allocate_token_bitmask(200))
    order = random_numbers.sample(list(requests), len(requests))
    scheduled = {name: tokens for name, tokens in drafts.items() if tokens}
    rows = manager.grammar_bitmask(requests, order, scheduled)

    # The worker has its own order, and a request without a constraint among them.
    batch = random_numbers.sample([*requests, "free"], len(requests) + 1)
    positions = [(name, at) for name in batch for at in range(len(scheduled.get(name, ())) + 1)]
    logits = torch.zeros(len(positions), manager.backend.vocab_size)
    apply_grammar_bitmask(
        SimpleNamespace(scheduled_spec_decode_tokens=scheduled),
        SimpleNamespace(structured_output_request_ids=order, grammar_bitmask=rows),
        SimpleNamespace(req_ids=batch),
        logits,
    )
    for (name, at), found in zip(positions, logits, strict=True):
        if name == "free":
            assert (found == 0).all()
            continue
        grammar = grammars[name]
        row = manager.backend.allocate_token_bitmask(1)
        assert grammar.accept_tokens(name, drafts[name][:at])
        grammar.fill_bitmask(row, 0)
        grammar.rollback(at)
        bits = np.unpackbits(row[0].numpy().view(np.uint8), bitorder="little")[: len(found)].astype(bool)
        assert ((found == 0).numpy() == bits).all()


def test_no_requests(manager):
    assert manager.grammar_bitmask({}, [], {}) is None
