"""Managers that are shut down, and short ways to requests."""

from __future__ import annotations

import pytest

from tokenstile.structured_output import StructuredOutputManager, StructuredOutputsParams

TOKENS = ["a", "b", "c", "ab", "<think>", "</think>", " ", "</s>"]
STOP = TOKENS.index("</s>")


@pytest.fixture
def make_manager():
    """Make managers over eight tokens, or others."""
    made = []

    def make(tokenizer=TOKENS, **options):
        made.append(StructuredOutputManager(tokenizer, **options))
        return made[-1]

    yield make
    for manager in made:
        manager.shutdown()


@pytest.fixture
def begin():
    """Begin a request with a regular expression, and wait for it."""

    def start(manager, request_id, regex="ab*c", **options):
        request = manager.grammar_init(request_id, StructuredOutputsParams(regex=regex), **options)
        request.result(30)
        return request

    return start


@pytest.fixture
def ids():
    """The tokens of a text whose tokens are divided by bars."""
    return lambda text: [TOKENS.index(token) for token in text.split("|")] if text else []


def tokens_of(row):
    """Return the names of the tokens that a row of one word allows."""
    return [token for at, token in enumerate(TOKENS) if int(row[0]) >> at & 1]


@pytest.fixture
def show():
    """Rows as lists of tokens; everything is written as a star."""
    return lambda rows: ["*" if int(row[0]) == -1 else " ".join(tokens_of(row)) for row in rows]
