"""The page for people who come from llguidance names everything that llguidance has, where that is installed."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

llguidance = pytest.importorskip("llguidance", reason="llguidance is not installed")
PAGE = (Path(__file__).parents[2] / "docs" / "migrating-from-llguidance.md").read_text(encoding="utf-8")
# What needs no word: versions, and what goes by the name of the class.
PLAIN = {"get_version", "__version__"}


def words(text):
    return set(re.findall(r"\w+", text))


def test_every_name_is_on_the_page():
    assert set(llguidance.__all__) - PLAIN <= words(PAGE)


def test_every_method_of_a_matcher_is_on_the_page():
    methods = {name for name in dir(llguidance.LLMatcher) if not name.startswith("_")}
    assert methods <= words(PAGE)


def test_every_module_is_on_the_page():
    modules = {
        found.name for found in pkgutil.iter_modules(llguidance.__path__) if not found.name.startswith("_")
    }
    assert modules <= words(PAGE)
