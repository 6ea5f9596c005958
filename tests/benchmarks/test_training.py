"""What optimising builds learn from: schemas with values that they allow, and a record that a compiler can read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from benchmarks.training import Author, cases

import tokenstile as xgr
from tokenstile.testing import _is_grammar_accept_string

PROFILES = sorted((Path(__file__).parents[2] / "profiles").glob("*.profdata.gz"))


@pytest.mark.parametrize("seed", range(40))
def test_schemas_allow_their_values(seed):
    schema, value = Author(seed).document()
    grammar = xgr.Grammar.from_json_schema(json.dumps(schema), strict_mode=False, any_order=True)
    assert _is_grammar_accept_string(grammar, json.dumps(value))


def test_cases_are_of_all_languages():
    found = {key for case, _ in cases() for key in case}
    assert {"ebnf", "gbnf", "regex", "lark", "schema", "structural_tag"} <= found


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.name)
def test_profiles_are_records_of_llvm(path):
    with gzip.open(path) as profile:
        assert profile.read(8) == b"\xfflprofi\x81"
