"""The site: it builds without a warning, needs nothing from elsewhere, and its reference has what the sources say.

Skipped where the packages that build it are not installed; ``make docs`` installs them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the site's packages are not installed: make docs installs them")
pytest.importorskip("mkdocstrings", reason="the site's packages are not installed: make docs installs them")
ROOT = Path(__file__).resolve().parent.parent
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\bhref="([^"]+)"|url\(([^)]+)\)"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_is_loaded_from_elsewhere(site):
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 30
    for page in pages:
        for found in LOADED.finditer(page.read_text(encoding="utf-8")):
            target = next(filter(None, found.groups())).strip("\"'")
            assert not target.startswith(("http:", "https:", "//")), f"{page.name}: {target}"


def test_the_reference_has_signatures_and_prose(site):
    page = re.sub("<[^>]+>", "", (site / "reference" / "core.html").read_text(encoding="utf-8"))
    text = " ".join(page.split())
    assert "A grammar, parsed and checked, that knows no vocabulary yet." in text
    assert re.search(r"GrammarMatcher\( compiled_grammar: CompiledGrammar, \*,", text)
    assert "fill_next_token_bitmask(" in text


def test_it_can_be_searched_without_a_server(site):
    assert "rollback" in (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert (site / "javascripts" / "iframe-worker.js").exists()
    assert not (site / "extensions").exists()
