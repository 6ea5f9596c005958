"""The cases of all formats and styles beside XGrammar itself: where the two differ, the case is listed here.

Each name in `DIFFERENT` has its row, with the reason, in docs/differences-from-xgrammar.md.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import tokenstile as xgr

xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
pytest.importorskip("torch", reason="torch is not installed")

FOLDER = Path(__file__).parents[2] / "testdata" / "structural_tag"
# XGrammar has no style of Gemma's, and needs a vocabulary for tokens.
FILES = sorted(path for path in FOLDER.glob("*.toml") if path.stem not in {"style_gemma", "tokens"})
DIFFERENT = {
    "a-key-that-cannot-be-carried",
    "a-key-that-is-only-required",
    "a-key-with-a-mark",
    "a-string-or-something-else",
    "a-value-of-any-kind-inside",
    "any-arguments",
    "any-text-may-have-nulls",
    "arguments-that-are-constant",
    "bounded-strings-without-some-strings",
    "conditions-on-strings",
    "const-of-an-object",
    "counts-and-dependencies",
    "dispatch-in-a-tag",
    "error-a-nested-contradiction-among-tags",
    "error-a-pattern-that-closes-the-tag",
    "error-a-pattern-that-matches-nothing",
    "error-a-required-key-is-excluded",
    "error-a-required-pattern-is-excluded",
    "error-a-value-without-end",
    "error-an-excluded-string-begins-a-trigger",
    "error-empty-exclude",
    "error-grammar-of-nothing",
    "error-items-that-close-the-tag",
    "error-no-object",
    "error-nothing-can-be-written-in-the-style",
    "error-one-tag-of-many-cannot-be-written",
    "error-the-end-around-in-a-trigger",
    "error-unknown-field",
    "error-unknown-field-at-the-top",
    "excluded-strings",
    "hostile-names",
    "json-in-any-order",
    "nested-values-are-tags",
    "no-parameters",
    "only-optional-parameters",
    "regex",
    "repeated-text-up-to-an-end-that-overlaps-itself",
    "several-parameters-in-any-order",
    "something-else-than-a-string",
    "strings-and-keys-without-some-strings",
    "strings-that-hold-their-end-are-left-out",
    "tag-whose-end-overlaps-itself",
    "tag-with-ends-that-overlap-each-other",
    "triggered-tags-before-an-end-that-overlaps-a-trigger",
    "tuples-of-tags",
    "what-cannot-be-written-and-need-not-be",
    "what-no-text-can-be-is-never-begun",
    "without-types",
}


def outcomes(package, case):
    """What a package says to all texts of a case, or that it refuses it."""
    try:
        grammar = package.Grammar.from_structural_tag(case["structural_tag"])
        compiler = package.GrammarCompiler(package.TokenizerInfo([]), max_threads=1, cache_enabled=False)
        matcher = package.GrammarMatcher(compiler.compile_grammar(grammar), terminate_without_stop_token=True)
    except RuntimeError:
        return "refused"
    found = []
    for text in (text for kind in ("accept", "partial", "reject") for text in case.get(kind, [])):
        matcher.reset()
        alive = matcher.accept_string(text)
        found.append((text, alive, alive and matcher.is_completed()))
    return found


def cases():
    for path in FILES:
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["test"]:
            if "vocab" not in case:
                yield case


def test_cases_that_are_not_listed_are_the_same():
    different = {case["name"] for case in cases() if outcomes(xgr, case) != outcomes(xgrammar, case)}
    assert different == DIFFERENT
