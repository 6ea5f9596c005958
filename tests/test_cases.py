"""The cases of ``testdata/**/*.toml``, through Python: what the core is tested by, the bindings are too."""

from __future__ import annotations

import pytest

import tokenstile as xgr
from tests.case_files import compile_with, load


def compile_case(case):
    tokens = [*case.get("vocab", []), *(bytes.fromhex(token) for token in case.get("vocab_hex", []))]
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(tokens, stop_token_ids=[]), cache_enabled=False)
    return compile_with(compiler, case)


def texts(case, key):
    return [text.encode() for text in case.get(key, [])] + [
        bytes.fromhex(t) for t in case.get(f"{key}_hex", [])
    ]


def run(compiled, text):
    """Return whether a text, or a list of tokens, is alive and complete, fed at once and bit by bit."""
    whole, parts = xgr.GrammarMatcher(compiled), xgr.GrammarMatcher(compiled)
    if isinstance(text, list):
        alive = whole.validate_tokens(text) == len(text)
        step_by_step = all(parts.accept_token(token) for token in text)
    else:
        alive = whole.accept_string(text)
        step_by_step = all(parts.accept_string(text[at : at + 1]) for at in range(len(text)))
    assert alive == step_by_step
    return alive, alive and parts.is_completed()


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{path.stem}-{case['name']}") for path, case in load()]
)
def test_case(case):
    if "flags" in case or "search" in case:
        pytest.skip("needs regex flags or search, which only the core has")
    if "error" in case:
        with pytest.raises(xgr.GrammarError) as caught:
            compile_case(case)
        assert case["error"].lower() in str(caught.value).lower()
        assert caught.value.line == case.get("line", caught.value.line)
        assert caught.value.column == case.get("column", caught.value.column)
        assert caught.value.pointer == case.get("pointer", caught.value.pointer)
        assert caught.value.path == case.get("path", caught.value.path)
        return
    compiled = compile_case(case)
    again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), compiled.tokenizer_info)
    for grammar in (compiled, again):
        for suffix in ("", "_tokens"):
            get = texts if not suffix else lambda case, key: case.get(key, [])
            for text in get(case, f"accept{suffix}"):
                assert run(grammar, text) == (True, True), text
            for text in get(case, f"partial{suffix}"):
                assert run(grammar, text) == (True, False), text
            for text in get(case, f"reject{suffix}"):
                assert run(grammar, text)[1] is False, text
