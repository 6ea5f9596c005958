"""How vLLM lays out rows is seen from its loop, and a loop that is not known keeps the plug-in out."""

from __future__ import annotations

import numpy as np
import pytest
import vllm.v1.structured_output as manager_module

from tokenstile.integrations.vllm import layout, register
from tokenstile.integrations.vllm.backend import VllmBackend

Manager = manager_module.StructuredOutputManager
LOOP = getattr(Manager.grammar_bitmask, "__wrapped__", Manager.grammar_bitmask)


def test_the_layout_of_this_release(release):
    assert layout.find(Manager) == {"0.32": layout.PACKED, "0.33": layout.BLOCKS}[release[:4]]


def one_row_more(self, *arguments):
    """A row in front of all others."""
    rows = LOOP(self, *arguments)
    return np.concatenate([rows[:1], rows])


def backwards(self, requests, request_ids, drafts):
    return LOOP(self, requests, request_ids[::-1], drafts)


def other_ends(self, *arguments):
    """The layout of 0.32 with the free rows of 0.33, or the other way round."""
    rows = LOOP(self, *arguments).copy()
    rows[rows < 0] ^= 1
    return rows


def new_setting(self, *arguments):
    assert self.vllm_config.mask_settings.stride
    return LOOP(self, *arguments)


@pytest.mark.usefixtures("unpatched")
@pytest.mark.parametrize("loop", [one_row_more, backwards, other_ends, new_setting])
@pytest.mark.parametrize("switch", ["on", "force"])
def test_one_that_is_not_known(loop, switch, monkeypatch, warnings):
    """Also with ``force``, which is for releases that nobody tested, and not for rows in the wrong places."""
    monkeypatch.setattr(Manager, "grammar_bitmask", loop)
    monkeypatch.setenv("TOKENSTILE_VLLM", switch)
    assert not register()
    assert Manager.grammar_bitmask is loop
    assert manager_module.XgrammarBackend is not VllmBackend
    assert "StructuredOutputManager.grammar_bitmask" in warnings[0]
    assert ("mask_settings" if loop is new_setting else "in a way that tokenstile does not know") in warnings[
        0
    ]


@pytest.mark.usefixtures("unpatched")
def test_a_release_that_was_not_tested(monkeypatch, warnings):
    """With ``force`` it is patched where its rows lie as those of one that was."""
    monkeypatch.setattr("vllm.__version__", "0.99.0")
    assert not register()
    assert "0.99.0" in warnings[0]
    monkeypatch.setenv("TOKENSTILE_VLLM", "force")
    assert register()
    assert manager_module.XgrammarBackend is VllmBackend
