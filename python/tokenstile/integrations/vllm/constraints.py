"""What a request asks for, as a compiled grammar.

A constraint is vLLM's pair of a kind and a text. Both sides of vLLM compile it: the front end to tell the client what
is wrong with it, and the engine to follow it. The engine trusts nothing that it is sent, because vLLM's front end in
Rust sends requests without a check; so everything that can be wrong with a constraint is an error here, and the error
of one request ends that request only.

Compiling has a time limit for every kind of constraint, since any of them may come from a stranger.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind
from vllm.v1.structured_output.utils import grammar_is_likely_lark

from tokenstile import Grammar
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.grammars._text import one_of
from tokenstile.integrations._limits import time_limit, white_space_limit
from tokenstile.structured_output.structural_tags import read_structural_tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile import CompiledGrammar, GrammarCompiler

__all__ = ["compile_constraint", "parse_constraint"]


def compile_constraint(
    compiler: GrammarCompiler, kind: Kind, text: str, *, any_whitespace: bool = True
) -> CompiledGrammar:
    """Compile a constraint for the compiler's vocabulary; a `TokenstileError` says what is wrong with it."""
    form, content = _form(kind, text)
    timeout = time_limit()
    if form == "json_schema":
        return compiler.compile_json_schema(content, **_spelling(any_whitespace), timeout=timeout)
    compile_form: Callable[..., CompiledGrammar] = getattr(compiler, f"compile_{form}")
    return compile_form(content, timeout=timeout)


def parse_constraint(kind: Kind, text: str) -> Grammar:
    """Read a constraint without a vocabulary, to see whether it is well-formed."""
    form, content = _form(kind, text)
    parse_form: Callable[..., Grammar] = getattr(
        Grammar, "from_ebnf" if form == "grammar" else f"from_{form}"
    )
    return parse_form(content)


def _form(kind: Kind, text: str) -> tuple[str, Any]:
    """Return which of tokenstile's kinds of grammar a constraint is, by the name of the method, and its content."""
    if kind is Kind.JSON:
        return "json_schema", text
    if kind is Kind.JSON_OBJECT:
        return "json_schema", '{"type": "object"}'
    if kind is Kind.REGEX:
        return "regex", text
    if kind is Kind.CHOICE:
        return "grammar", _choice(text)
    if kind is Kind.GRAMMAR:
        return ("lark" if grammar_is_likely_lark(text) else "grammar"), text
    if kind is Kind.STRUCTURAL_TAG:
        return "structural_tag", read_structural_tag(text)
    raise InvalidArgumentError(f"{kind} is a kind of constraint that tokenstile does not know")


def _spelling(any_whitespace: bool) -> dict[str, Any]:
    """Return the options for vLLM's ``disable_any_whitespace``: no white space, not even after separators."""
    if any_whitespace:
        return {"any_whitespace": True, "max_whitespace_cnt": white_space_limit()}
    return {"any_whitespace": False, "separators": (",", ":")}


def _choice(text: str) -> str:
    """Return the EBNF of a JSON list of texts."""
    try:
        choices = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"the choices are not JSON: {error}") from error
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, str) for choice in choices):
        raise InvalidArgumentError("choices are a list of at least one text")
    return f"root ::= {one_of(choices)}"
