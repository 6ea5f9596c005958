"""The page about serving: its tables agree with the code."""

from __future__ import annotations

import inspect
import re

from tests.test_docs import ROOT, table
from tokenstile.structured_output import StructuredOutputBackend, StructuredOutputGrammar, xgrammar_backend
from tokenstile.structured_output.metrics import DESCRIPTIONS

PAGE = ROOT / "docs" / "serving.md"


def test_all_metrics_are_listed():
    said = {name: tuple(cells) for name, cells in table(PAGE, "## Metrics").items()}
    expected = {
        name: (kind, text[0].lower() + text[1:].rstrip(".")) for name, (kind, text) in DESCRIPTIONS.items()
    }
    assert said == expected


def test_all_of_the_contract_is_listed():
    section = (
        PAGE.read_text(encoding="utf-8").partition("## Backends and the contract")[2].partition("\n## ")[0]
    )
    listed = set(re.findall(r"^\| `(\w+)\(", section, re.MULTILINE))
    methods = {
        name
        for contract in (StructuredOutputBackend, StructuredOutputGrammar)
        for name, _ in inspect.getmembers(
            contract, lambda member: getattr(member, "__isabstractmethod__", False)
        )
    }
    assert listed == methods


def test_all_names_are_listed():
    section = PAGE.read_text(encoding="utf-8").partition("## Names for code")[2].partition("\n## ")[0]
    assert set(xgrammar_backend.__all__) <= set(re.findall(r"`(\w+)`", section))
