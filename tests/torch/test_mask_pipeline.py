"""`MaskPipeline`: every step's logits get that step's masks, however far the CPU runs ahead of the GPU."""

from __future__ import annotations

import pytest
import torch

import tokenstile as xgr
from tokenstile.kernels.pipeline import MaskPipeline

NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
DEVICES = ["cpu", pytest.param("cuda", marks=NEEDS_GPU)]
TEXT = '{"ab": [1, 2, {"c": "true"}], "d": null}'


@pytest.fixture(scope="module")
def compiled(info):
    return xgr.GrammarCompiler(info).compile_builtin_json_grammar()


@pytest.fixture
def tokens(vocab):
    return [vocab.index(character) for character in TEXT]


def allowed(matchers, columns):
    """Return which tokens may come next, one matcher at a time, by the plain way."""
    mask = xgr.allocate_token_bitmask(len(matchers), columns)
    for row, matcher in enumerate(matchers):
        if matcher is not None and not matcher.is_terminated():
            matcher.fill_next_token_bitmask(mask, row)
    logits = torch.zeros(len(matchers), columns)
    xgr.apply_token_bitmask_inplace(logits, mask)
    return logits


@pytest.mark.parametrize("device", DEVICES)
def test_steps(compiled, vocab, stop, tokens, device):
    columns = len(vocab)
    matchers = [xgr.GrammarMatcher(compiled), None, xgr.GrammarMatcher(compiled)]
    twins = [xgr.GrammarMatcher(compiled), None, xgr.GrammarMatcher(compiled)]
    pipeline = MaskPipeline(4, columns, device=device)
    pipeline.fill(matchers)
    seen = []
    for token in [*tokens, stop, 0]:
        logits = torch.zeros(3, columns, device=device)
        if device == "cuda":
            torch.cuda._sleep(1_000_000)  # the forward pass, behind which all of this must come
        pipeline.apply(logits)
        seen.append((logits, allowed(twins, columns)))
        chosen = torch.tensor([token, 5, token])
        assert pipeline.advance(matchers, chosen) == [True, True, True]
        for twin in (twins[0], twins[2]):
            assert twin.is_terminated() or twin.accept_token(token)
    assert matchers[0].is_terminated()
    for found, expected in seen:
        assert torch.equal(found.cpu(), expected)
    assert not torch.isneginf(seen[-1][0]).any(), "an output that has ended is not constrained"


@NEEDS_GPU
def test_the_cpu_far_ahead_of_the_gpu(compiled, vocab, tokens):
    """Nothing waits between steps, and every step works on a stream of its own."""
    columns, rows = len(vocab), 64
    matchers = [xgr.GrammarMatcher(compiled) for _ in range(rows)]
    pipeline = MaskPipeline(rows, columns)
    seen = []
    for token in tokens:
        pipeline.fill(matchers)
        expected = allowed(matchers[:1], columns)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(2_000_000)
            logits = torch.zeros(rows, columns, device="cuda")
            pipeline.apply(logits)
        seen.append((stream, logits, expected))
        assert all(pipeline.accept(matchers, [token] * rows))
    for stream, found, expected in seen:
        stream.synchronize()
        assert torch.equal(found.cpu(), expected.expand(rows, -1))


@pytest.mark.parametrize("device", DEVICES)
def test_tokens_that_do_not_fit(compiled, vocab, device):
    matchers = [xgr.GrammarMatcher(compiled), xgr.GrammarMatcher(compiled), None]
    pipeline = MaskPipeline(3, len(vocab), device=device)
    assert pipeline.accept(matchers, [vocab.index("["), vocab.index("]"), 10**9]) == [True, False, True]
    assert pipeline.accept(matchers, torch.tensor([vocab.index("]"), vocab.index("{"), -1])) == [
        True,
        True,
        True,
    ]
    with pytest.raises(ValueError, match="2 tokens for 3"):
        pipeline.accept(matchers, [1, 2])


@pytest.mark.parametrize("device", DEVICES)
def test_masks_made_by_other_means(vocab, device):
    columns = len(vocab)
    pipeline = MaskPipeline(4, columns, device=device)
    for bits in (0, -1, 0):
        buffer = pipeline.buffer(2)
        buffer.fill_(bits)
        pipeline.send()
        logits = torch.zeros(2, columns, device=device)
        pipeline.apply(logits)
        assert torch.isneginf(logits).all().item() is (bits == 0)
    logits = torch.zeros(2, columns, device=device)
    pipeline.apply(logits, indices=[1], vocab_size=40)
    assert torch.isneginf(logits).sum().item() == 40
    assert pipeline.bitmask.shape[0] == 2
    for rows in (5, -1):
        with pytest.raises(ValueError, match="4 rows"):
            pipeline.buffer(rows)


@pytest.mark.parametrize("device", DEVICES)
def test_masks_that_could_not_be_filled_are_not_applied(compiled, tiny, vocab, device):
    pipeline = MaskPipeline(2, len(vocab), device=device)
    other = xgr.GrammarMatcher(xgr.GrammarCompiler(tiny).compile_grammar('root ::= "a"'))
    logits = torch.zeros(2, len(vocab), device=device)
    with pytest.raises(ValueError, match="different sizes"):
        pipeline.fill([xgr.GrammarMatcher(compiled), other])
    with pytest.raises(ValueError, match="not sent"):
        pipeline.apply(logits)
    pipeline.fill([xgr.GrammarMatcher(compiled), None])
    pipeline.apply(logits)
    assert torch.isneginf(logits).any(dim=1).tolist() == [True, False]


@pytest.mark.parametrize("device", DEVICES)
def test_an_empty_batch(vocab, device):
    pipeline = MaskPipeline(0, len(vocab), device=device)
    pipeline.fill([])
    pipeline.apply(torch.zeros(0, len(vocab), device=device))
    assert pipeline.advance([], []) == []
