"""Deciding JSON texts with the grammar of a schema, byte by byte, without a vocabulary.

A schema has one of three fates: it becomes a grammar; it admits no value, which is an error but decides every text; or
it is refused, and then decides nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import tokenstile as xgr

# What errors say of a schema, or of a grammar, without any value.
NOTHING = ("no value satisfies", "generates nothing")
COMPILER = xgr.GrammarCompiler(xgr.TokenizerInfo([]), cache_enabled=False)


@dataclass(frozen=True)
class Decider:
    """The grammar of a schema, or none if no value is valid."""

    compiled: xgr.CompiledGrammar | None
    spelling: str = "any"

    def accepts(self, text: str | bytes) -> bool:
        if self.compiled is None:
            return False
        matcher = xgr.GrammarMatcher(self.compiled, terminate_without_stop_token=True)
        return matcher.accept_string(text) and matcher.is_completed()

    def accepts_value(self, value: object) -> bool | None:
        """Decide a value as it is written; None if two ways to write it are decided differently."""
        answers = {self.accepts(text) for text in self.written(value)}
        return answers.pop() if len(answers) == 1 else None

    def written(self, value: object) -> list[str]:
        """Return a value as JSON, in a canonical text or with and without escapes."""
        return [canonical(value)] if self.spelling == "canonical" else spellings(value)

    def narrowing(self) -> str:
        """Return what the report says about valid values that cannot be written; empty if all can."""
        report = self.compiled.grammar.report if self.compiled else []
        narrowed = (f for f in report if f.outcome is xgr.Outcome.NARROWED and f.keyword != "spelling")
        notes = (f"{f.keyword}: {f.note}" for f in narrowed)
        return "; ".join(dict.fromkeys(notes))


@dataclass(frozen=True)
class Refusal:
    """Why a schema was refused."""

    reason: str


def decider(schema: object, *, timeout: float = 20.0, **options: object) -> Decider | Refusal:
    """Return what decides texts by a schema, in any spelling unless another is asked for.

    The options are those of ``compile_json_schema``.
    """
    options = {"spelling": "any", **options}
    try:
        compiled = COMPILER.compile_json_schema(json.dumps(schema), timeout=timeout, **options)
        return Decider(compiled, options["spelling"])
    except xgr.GrammarError as error:
        if any(phrase in error.message for phrase in NOTHING):
            return Decider(None, options["spelling"])
        place = "" if error.pointer is None else f"at {error.pointer!r}: "
        return Refusal(f"{type(error).__name__}: {place}{error.message}")


def canonical(value: object) -> str:
    """Return a text that a value has in canonical spelling: whole numbers have one as digits alone."""
    text = json.dumps(_with_integers(value), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate can only be escaped
        return json.dumps(value)
    return text


def _with_integers(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return {key: _with_integers(item) for key, item in value.items()} if isinstance(value, dict) else value


def spellings(value: object) -> list[str]:
    """Return a value as JSON, in ASCII and with all that may stand for itself."""
    plain = json.dumps(value, ensure_ascii=False)
    escaped = json.dumps(value)
    try:
        plain.encode()
    except UnicodeEncodeError:  # a lone surrogate can only be escaped
        return [escaped]
    return [escaped] if plain == escaped else [escaped, plain]
