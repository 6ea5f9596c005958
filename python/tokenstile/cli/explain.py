"""``tokenstile explain``: every stage, from the grammar's text to the mask after a given prefix.

The stages are gathered first, as data; then they are shown, or written as JSON.
"""

import time
from collections import Counter
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
import typer

from tokenstile._core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher
from tokenstile.bitmask import get_bitmask_shape
from tokenstile.cli.ebnf_tree import Call, Leaf, parse_rules, walk
from tokenstile.cli.explanation import show_explanation
from tokenstile.cli.outcome import ExitCode, JsonFlag, finish, print_json, tells_errors
from tokenstile.cli.refusal import allowed_bytes, byte_matcher, find_refusal, follow, spell_bytes
from tokenstile.cli.sources import (
    AnnotateFormats,
    AnyOrder,
    Compact,
    GrammarArgument,
    Kind,
    KindOption,
    Lenient,
    NotStrict,
    RegistryOption,
    SchemaOptions,
    Source,
    SpellingOption,
    read_source,
)
from tokenstile.cli.vocabularies import TokenizerOption, Vocabulary, load_vocabulary, spell_token
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.schema_report import SPELLING
from tokenstile.testing import bitmask_to_bool_mask
from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["explain"]

_TYPES: Final = {
    "object": b"{",
    "array": b"[",
    "string": b'"',
    "number": b"0123456789-",
    "true": b"t",
    "false": b"f",
    "null": b"n",
}


@tells_errors
def explain(
    grammar: GrammarArgument,
    prefix: Annotated[str, typer.Option("--prefix", "-p", help="The text so far.")] = "",
    token: Annotated[
        list[str] | None,
        typer.Option("--token", "-t", help="Say why this token fits or not; may be repeated."),
    ] = None,
    token_id: Annotated[
        list[int] | None, typer.Option("--token-id", help="The same, for a token by its id.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many tokens, terminals and lines to show.")] = 20,
    tokenizer: TokenizerOption = None,
    kind: KindOption = None,
    any_order: AnyOrder = False,
    compact: Compact = False,
    annotate_formats: AnnotateFormats = False,
    lenient: Lenient = False,
    not_strict: NotStrict = False,
    spelling: SpellingOption = None,
    registry: RegistryOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show every stage: the values, the grammar, its terminals, where a prefix leads, and the mask there.

    The exit code is 1 if the prefix does not fit the grammar, or one of the tokens does not fit after it.
    """
    options = SchemaOptions(any_order, compact, annotate_formats, lenient, not_strict, spelling, registry)
    source = read_source(grammar, kind, options)
    vocabulary = load_vocabulary(tokenizer)
    wanted = _wanted(vocabulary.info, token or [], token_id or [])
    stages = _stages(source, vocabulary, prefix, wanted, limit)
    if as_json:
        print_json(stages)
    else:
        show_explanation(stages, limit)
    fits = "mask" in stages and all(answer["fits"] for answer in stages["tokens"])
    finish(ExitCode.YES if fits else ExitCode.NO)


def _wanted(info: TokenizerInfo, texts: list[str], ids: list[int]) -> list[int]:
    """Find the tokens that were asked for."""
    by_bytes: dict[bytes, int] = {}
    for token, data in enumerate(info.decoded_vocab if texts else []):
        by_bytes.setdefault(data, token)
    for text in texts:
        if not text or text.encode("utf-8", "surrogateescape") not in by_bytes:
            raise InvalidArgumentError(f"no token has the text {text!r}")
    for token in ids:
        if not 0 <= token < info.vocab_size:
            raise InvalidArgumentError(f"there is no token {token}: ids go from 0 to {info.vocab_size - 1}")
    return [by_bytes[text.encode("utf-8", "surrogateescape")] for text in texts] + ids


def _stages(
    source: Source, vocabulary: Vocabulary, prefix: str, wanted: list[int], limit: int
) -> dict[str, Any]:
    info = vocabulary.info
    grammar = source.grammar(info)
    started = time.perf_counter()
    compiled = GrammarCompiler(info).compile_grammar(grammar)
    elapsed = time.perf_counter() - started
    stages: dict[str, Any] = {
        "source": {"kind": source.kind.value, "bytes": len(source.text.encode(errors="replace"))}
    }
    if source.kind is Kind.JSON_SCHEMA:
        stages["values"] = _values(grammar)
    stages["grammar"] = str(grammar)
    stages["terminals"] = _terminals(str(grammar))
    stages["machine"] = {"compile_us": round(elapsed * 1e6, 1)} | {
        name: compiled.get_stats()[name] for name in ("rules", "nodes")
    }
    # Bytes of the argument that are no UTF-8 are passed on as they are.
    data = prefix.encode("utf-8", "surrogateescape")
    stages["prefix"] = {"text": data.decode(errors="replace")}
    matcher = GrammarMatcher(compiled)
    if follow(matcher, data) < len(data):
        refusal = find_refusal(grammar, data, info)
        stages["prefix"]["refusal"] = refusal.fields() if refusal else None
        return stages
    stages["configuration"] = _configuration(data, compiled)
    allows, times = _fill(matcher, info.vocab_size)
    stages["mask"] = _mask(allows, times, vocabulary, limit) | {"decided": _decided(matcher)}
    stages["tokens"] = [
        {
            "id": token,
            "text": spell_token(info, token),
            "fits": bool(allows[token]),
            "why": "" if allows[token] else _why_not(compiled, data, token),
        }
        for token in wanted
    ]
    return stages


def _values(grammar: Grammar) -> dict[str, Any]:
    """Say which types of values there are, by what a text may begin with, and what became of the keywords."""
    first = set(allowed_bytes(byte_matcher(grammar)))
    return {
        "types": [name for name, begins in _TYPES.items() if first & set(begins)],
        "keywords": dict(
            Counter(finding.outcome.value for finding in grammar.report if finding.keyword != SPELLING)
        ),
    }


def _terminals(text: str) -> list[dict[str, Any]]:
    """List what the rules are made of that is no rule, the commonest first."""
    counts: Counter[str] = Counter()
    for rule in parse_rules(text):
        for node in walk(rule.body):
            if isinstance(node, Leaf):
                counts[node.text] += 1
            elif isinstance(node, Call) and node.name not in {"Members", "JsonText"}:
                counts[node.source] += 1
    return [{"terminal": terminal, "uses": count} for terminal, count in counts.most_common()]


def _configuration(prefix: bytes, compiled: CompiledGrammar) -> dict[str, Any]:
    matcher = GrammarMatcher(compiled)
    follow(matcher, prefix)
    stats = compiled.get_stats()
    return {
        "complete": matcher.is_completed(),
        "forced": "" if matcher.is_completed() else matcher.find_jump_forward_string(),
        "next_bytes": spell_bytes(allowed_bytes(matcher)),
        "sets_of_stacks": stats["sets"],
        "terminal_states": stats["terminal_states"],
    }


def _fill(matcher: GrammarMatcher, size: int) -> tuple[npt.NDArray[np.bool_], list[float]]:
    """Fill the mask twice, and give the microseconds: the first time makes the tables that it needs."""
    bitmask = np.zeros(get_bitmask_shape(1, size), dtype=np.int32)
    times = []
    for _ in range(2):
        started = time.perf_counter_ns()
        matcher.fill_next_token_bitmask(bitmask)
        times.append(round((time.perf_counter_ns() - started) / 1000, 2))
    return bitmask_to_bool_mask(bitmask, size)[0], times


def _mask(
    allows: npt.NDArray[np.bool_], times: list[float], vocabulary: Vocabulary, limit: int
) -> dict[str, Any]:
    info = vocabulary.info
    allowed = [int(token) for token in np.flatnonzero(allows)]
    shown = sorted(allowed, key=lambda token: (len(info.token_bytes(token)), token))[:limit]
    return {
        "tokenizer": vocabulary.name,
        "size": info.vocab_size,
        "allowed": len(allowed),
        "may_stop": any(bool(allows[token]) for token in info.stop_token_ids),
        "first_us": times[0],
        "again_us": times[1],
        "shortest": [{"id": token, "text": spell_token(info, token)} for token in shown],
    }


def _decided(matcher: GrammarMatcher) -> dict[str, Any]:
    """Count the tokens that are decided without the context, by all terminals together and by each of them."""
    found = matcher.count_decided_tokens()
    terminals = sorted(found.pop("terminals"), key=lambda terminal: -terminal["taken"])
    return _share(found) | {
        "terminals": [
            {
                "next_bytes": spell_bytes(list(terminal.pop("next_bytes"))),
                "may_end": terminal.pop("may_end"),
                **_share(terminal),
            }
            for terminal in terminals
        ]
    }


def _share(counts: dict[str, int]) -> dict[str, Any]:
    total = sum(counts.values())
    return {**counts, "share": (total - counts["open"]) / total if total else 1.0}


def _why_not(compiled: CompiledGrammar, prefix: bytes, token: int) -> str:
    """Say why a token does not fit: by its bytes, followed one by one."""
    info = compiled.tokenizer_info
    if token in info.stop_token_ids:
        return "it ends the text, which is not complete yet"
    data = info.token_bytes(token)
    if not data:
        return "it has no text, and the grammar does not name it by its id"
    if token in info.special_token_ids:
        return "it is special, and the grammar does not name it here"
    matcher = GrammarMatcher(compiled)
    follow(matcher, prefix)
    taken = follow(matcher, data)
    if taken == len(data):
        return "its bytes would fit, but the grammar takes other tokens for them here"
    allowed = spell_bytes(allowed_bytes(matcher)) + (" or the end" if matcher.is_completed() else "")
    if not taken:
        return f"allowed here is {allowed}"
    return f"{_quote(data[:taken])} would fit, but not {_quote(data[taken : taken + 1])} after it: allowed is {allowed}"


def _quote(data: bytes) -> str:
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)
