"""The cases of ``testdata/**/*.toml``: where they are, and the method that each of them is compiled by."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tokenstile as xgr

FOLDER = Path(__file__).parent.parent / "testdata"


def load() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield all cases, with the files that they are in."""
    for path in sorted(FOLDER.rglob("*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["test"]:
            yield path, case


def compile_with(compiler: xgr.GrammarCompiler, case: dict[str, Any]) -> xgr.CompiledGrammar:
    """Compile a case, in the language that it is written in."""
    spelling = case.get("options", {}).get("spelling")
    if "regex" in case:
        return compiler.compile_regex(case["regex"])
    if "lark" in case:
        return compiler.compile_lark(case["lark"], named_grammars=case.get("named"), spelling=spelling)
    if "structural_tag" in case:
        return compiler.compile_structural_tag(case["structural_tag"], spelling=spelling)
    if "schema" in case:
        options = {"strict_mode": False, **case.get("options", {})}
        if "separators" in options:
            options["separators"] = tuple(options["separators"])
        return compiler.compile_json_schema(case["schema"], **options)
    return compiler.compile_grammar(case.get("ebnf") or case["gbnf"], root_rule_name=case.get("root", "root"))
