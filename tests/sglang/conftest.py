"""SGLang's settings, tokenizer, manager of grammars and requests, without a scheduler and without a GPU."""

from __future__ import annotations

import os
import time
from array import array
from pathlib import Path
from types import SimpleNamespace

import pytest
from sglang.srt.constrained.grammar_manager import GrammarManager
from sglang.srt.managers.schedule_batch import Req
from sglang.srt.plugins import load_plugins
from sglang.srt.runtime_context import get_context, get_parallel
from sglang.srt.sampling.sampling_params import SamplingParams
from transformers import AutoTokenizer

VOCAB_SIZE = 49_152


@pytest.fixture(scope="session")
def model() -> str:
    folder = os.environ.get("TOKENSTILE_TEST_MODEL", "")
    if not (Path(folder) / "model.safetensors").exists():
        pytest.fail("TOKENSTILE_TEST_MODEL names no model; `make test-sglang` makes one")
    return folder


@pytest.fixture(scope="session")
def tokenizer(model):
    return AutoTokenizer.from_pretrained(model)


@pytest.fixture(scope="session")
def ids(tokenizer):
    return lambda text: tokenizer.encode(text, add_special_tokens=False)


@pytest.fixture(scope="session")
def end(tokenizer):
    return tokenizer.eos_token_id


class Server:
    """A grammar manager as the scheduler makes it, with what it needs of the scheduler."""

    def __init__(self, tokenizer, **settings):
        self.published = get_context().override_server_args(grammar_backend="tokenstile", **settings)
        group = SimpleNamespace(world_size=1, first_rank=0, is_first_rank=True)
        config = SimpleNamespace(
            vocab_size=VOCAB_SIZE, hf_eos_token_id={tokenizer.eos_token_id}, think_end_ids=None
        )
        scheduler = SimpleNamespace(
            server_args=self.published.install(),
            tokenizer=tokenizer,
            model_config=config,
            dp_tp_cpu_group=None,
            dp_tp_group=group,
            pp_group=None,
        )
        try:
            self.manager = GrammarManager(scheduler)
        except BaseException:
            self.published.restore()
            raise
        self.backend = self.manager.grammar_backend
        self.made = 0

    def request(self, *, require_reasoning=False, **constraint):
        """Send a request through the manager; return it once its grammar is ready, or was refused."""
        self.made += 1
        request = Req(
            rid=str(self.made),
            origin_input_text="",
            origin_input_ids=array("q", [1]),
            sampling_params=SamplingParams(**constraint),
            require_reasoning=require_reasoning,
            vocab_size=VOCAB_SIZE,
        )
        if self.manager.process_req_with_grammar(request):
            until = time.monotonic() + 60
            while request not in self.manager.get_ready_grammar_requests():
                assert time.monotonic() < until, "the grammar was not ready in a minute"
        return request


@pytest.fixture
def server(tokenizer):
    """Make servers with the settings that a test wants; all are gone after it."""
    load_plugins()
    servers = []

    def make(**settings):
        servers.append(Server(tokenizer, **settings))
        return servers[-1]

    with get_parallel().override(pp_rank=0, pp_size=1, tp_rank=0, tp_size=1):
        yield make
    for made in reversed(servers):
        made.published.restore()
