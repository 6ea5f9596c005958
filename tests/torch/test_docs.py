"""The page about GPUs: its example runs, on the CPU where there is no GPU."""

from __future__ import annotations

from tests.test_docs import ROOT, run_examples


def test_the_example_of_the_page():
    run_examples(ROOT / "docs/gpu.md")
