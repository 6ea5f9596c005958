"""The official test suite, compared with the ratchet, a test for each of its files."""

from __future__ import annotations

import functools

import pytest

from tests.json_schema import official_suite, ratchet

pytestmark = pytest.mark.skipif(
    not official_suite.SUITE.exists(),
    reason="the official test suite is not beside the checkout, in ../shared/json-schema-test-suite",
)
FILES = official_suite.files() if official_suite.SUITE.exists() else []
SPELLINGS = ["any", "canonical"]


@functools.cache
def run_file(name, spelling):
    return official_suite.run_file(name, remotes(), spelling)


@functools.cache
def remotes():
    return official_suite.remotes()


@functools.cache
def known(spelling):
    return ratchet.read(official_suite.ratchet_of(spelling))


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", FILES)
def test_file(name, spelling):
    before = [entry for entry in known(spelling) if entry.where == name]
    problems = ratchet.problems(run_file(name, spelling).known, before)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_entries_are_of_the_suite(spelling):
    assert {entry.where for entry in known(spelling)} <= set(FILES)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_wrong_answers_are_explained(spelling):
    unexplained = [str(entry) for entry in known(spelling) if entry.reason == ratchet.UNEXPLAINED]
    assert not unexplained, "\n".join(unexplained)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_required_tests_of_the_current_draft(spelling):
    names = [name for name in FILES if official_suite.section(name) == "draft2020-12 required"]
    counts = sum((run_file(name, spelling).counts for name in names), start=official_suite.Counter())
    assert counts["wrong"] == 0
    assert counts["right"] >= 0.97 * counts.total()
