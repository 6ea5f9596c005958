"""Models that think first: thoughts are free, and come by themselves."""

from __future__ import annotations

import re

import pytest

from tests.server.conftest import connect, running
from tokenstile.engine import Engine
from tokenstile.server import ServerConfig, create_app
from tokenstile.structured_output import ReasoningMarkers


@pytest.fixture(scope="module")
def thinker(make_model):
    # The stub leans towards closing brackets, so that its thoughts come to an end.
    model = make_model()
    markers = ReasoningMarkers(end=model.encode("}")[0], starts_thinking=True)
    engine = Engine(model, reasoning=markers)
    app = create_app(engine, None, ServerConfig(model_name="stub", reasoning=markers))
    with running(app) as address, connect(address) as client:
        yield client


@pytest.mark.parametrize("stream", [False, True])
def test_thoughts_come_by_themselves(thinker, stream):
    answer = thinker.chat.completions.create(
        model="stub",
        messages=[{"role": "user", "content": "x"}],
        max_tokens=500,
        seed=1,
        stream=stream,
        extra_body={"structured_outputs": {"regex": "[0-9]{3}"}},
    )
    parts = [event.choices[0].delta for event in answer] if stream else [answer.choices[0].message]
    thought = "".join(getattr(part, "reasoning_content", None) or "" for part in parts)
    text = "".join(part.content or "" for part in parts)
    assert "}" in thought
    assert re.fullmatch("[0-9]{3}", text)
