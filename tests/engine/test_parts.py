"""The parts of the engine that need no model: sampling, guessing, text."""

from __future__ import annotations

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.engine import SamplingParams
from tokenstile.engine.drafting import NgramDrafter
from tokenstile.engine.sampling import Sampler
from tokenstile.engine.text import TextStream


def test_sampling():
    logits = np.array([0.0, 3.0, 2.0, -np.inf, 1.0], dtype=np.float32)

    def often(**options):
        sampler = Sampler(SamplingParams(temperature=1.0, seed=5, **options))
        chosen = [sampler.choose(logits) for _ in range(2000)]
        return [chosen.count(token) / 2000 for token in range(5)]

    expected = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(often(), expected, atol=0.05)
    assert often(top_k=1) == [0, 1, 0, 0, 0]
    assert often(top_p=0.5) == [0, 1, 0, 0, 0]
    assert often(top_k=2)[1] == pytest.approx(np.e / (1 + np.e), abs=0.05)
    assert np.count_nonzero(often(top_p=0.9)) == 3
    assert Sampler(SamplingParams()).choose(logits) == 1
    with pytest.raises(xgr.MatcherError):
        Sampler(SamplingParams()).choose(np.full(3, -np.inf, dtype=np.float32))
    for wrong in (
        {"max_tokens": 0},
        {"temperature": -1},
        {"top_p": 0},
        {"top_k": -1},
        {"stop": "x"},
        {"stop": ("",)},
    ):
        with pytest.raises(xgr.InvalidArgumentError):
            SamplingParams(**wrong)


def test_drafting():
    drafter = NgramDrafter(3)
    assert drafter.propose([1, 2, 3, 4, 9, 2, 3]) == [4, 9, 2]
    assert drafter.propose([1, 2, 3, 7, 1, 2, 3, 8, 1, 2, 3]) == [8, 1, 2]
    assert drafter.propose([1, 2, 3]) == []
    assert drafter.propose([]) == []


def test_text_is_held_back_until_it_is_certain():
    stream = TextStream(("END", "é!"))
    pieces = [stream.push(bytes([byte])) for byte in "aEENé\U0001f600 END more".encode()]
    assert [piece for piece in pieces if piece] == ["a", "E", "EN", "é\U0001f600", " "]
    assert stream.is_stopped
    assert stream.text == "aEENé\U0001f600 "
    cut = TextStream()
    assert cut.push("é".encode()[:1]) == ""
    assert cut.push(b"", final=True) == "\ufffd"
