"""Requests whose structure fails while they run: they end with that error, and the others write on."""

from __future__ import annotations

import pytest
from tests.structured_output import backends  # noqa: F401 - registers some
from tests.stub_model import StubModel

import tokenstile as xgr
from tokenstile.engine import Engine, FinishReason
from tokenstile.structured_output import ReasoningMarkers, StructuredOutputsParams

YES = StructuredOutputsParams(choice=["yes", "no"])


@pytest.mark.parametrize("reasoning", [None, ReasoningMarkers(end="</t>")])
def test_a_backend_that_raises_ends_its_request_with_what_it_raised(reasoning):
    engine = Engine(StubModel("</t>yes" if reasoning else "yes"), reasoning=reasoning)
    broken = engine.submit("x", structure=YES, backend="broken")
    good = engine.submit("x", structure=YES)
    engine.run_until_idle()
    with pytest.raises(OSError, match="no mask today"):
        broken.result(0)
    assert broken.finish_reason is FinishReason.ERROR
    assert broken.text.text == ""
    assert good.result(0).text == "yes"


def test_a_backend_that_raises_for_guesses():
    engine = Engine(StubModel("yes"), num_speculative_tokens=3)
    broken = engine.submit("yesyesyesyes", structure=YES, backend="broken")
    good = engine.submit("yesyesyesyes", structure=YES)
    engine.run_until_idle()
    with pytest.raises(OSError, match="no drafts today"):
        broken.result(0)
    assert good.result(0).text == "yes"


def test_a_structure_cancelled_behind_the_engine_s_back():
    engine = Engine(StubModel("yes"))
    request = engine.submit("x", structure=YES)
    request.structured.result(30)
    engine._admit()
    request.structured.cancel()
    engine.run_until_idle()
    with pytest.raises(xgr.CancelledError, match="was cancelled"):
        request.result(0)
    assert request.output == []
