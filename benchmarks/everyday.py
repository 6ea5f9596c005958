"""Everyday requests with a small model: how many answers people can use, and what they cost.

    make bench-everyday
    python benchmarks/everyday.py --seeds 0 --output greedy.jsonl
    python benchmarks/everyday.py --table greedy.jsonl sampled.jsonl

The requests are in ``testdata/everyday.json``; what is asked of an answer is in `tests.everyday`. The embedded model
answers each of them in at most 300 tokens: once at temperature 0, which is the seed 0, and with each other seed at
temperature 1. An answer is a line of the output file, with its text. ``--peer llama.cpp`` writes the requests that are
JSON under llama.cpp's grammar instead, see `everyday_llama_cpp`.

Of the tokens, *single* are those that were alone in their mask, and *forced* those whose bytes all had to come, in
whatever tokens. *Altered* are the answers that have other tokens without a budget; they are looked for where the
library can switch budgets off.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

import machine  # noqa: E402 - beside this file
from tests import everyday  # noqa: E402 - of this checkout

from tokenstile.bitmask import get_bitmask_shape  # noqa: E402
from tokenstile.engine import Engine, FinishReason, SamplingParams  # noqa: E402
from tokenstile.engine.models.loading import load_model  # noqa: E402
from tokenstile.structured_output import (  # noqa: E402
    StructuredOutputManager,
    StructuredOutputsParams,
)
from tokenstile.tool_calling import get_model_structural_tag  # noqa: E402
from tokenstile.tool_calling.ending import end_with_calls  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokenstile.engine import Completion
    from tokenstile.engine.models.loading import LoadedModel

SEEDS = (0, 1, 2, 3, 4, 5)
TOOL_FORMAT = "qwen_3"
# One at a time: in a batch, what the model computes depends a little on what is beside it, and so would the answers.
NUM_SLOTS = 1


@dataclasses.dataclass
class Answer:
    """One answer: a line of the output file."""

    writer: str
    name: str
    seed: int
    """Zero is temperature 0, any other number a seed at temperature 1."""
    text: str
    num_tokens: int
    """With the one that ends it."""
    finish_reason: str
    complete: bool
    parsed: bool
    valid: bool
    plain: bool
    num_single: int | None = None
    num_forced: int | None = None
    altered: bool | None = None

    @property
    def is_good(self) -> bool:
        return self.complete and self.parsed and self.valid and self.plain


def sampling(seed: int) -> SamplingParams:
    return SamplingParams(
        max_tokens=everyday.MAX_TOKENS, temperature=float(seed != 0), seed=seed if seed else None
    )


def structure_of(request: everyday.Request, spelling: str | None) -> StructuredOutputsParams:
    options: dict[str, Any] = {} if spelling is None else {"spelling": spelling}
    if request.schema is not None:
        return StructuredOutputsParams(json=request.schema, **options)
    tag = request.structural_tag
    if request.tools is not None:
        called = get_model_structural_tag(
            TOOL_FORMAT, request.tools, "required", reasoning=False, parallel_tool_calls=False
        )
        tag = end_with_calls(called).model_dump(mode="json")
    return StructuredOutputsParams(structural_tag=tag, **options)


def make_answer(writer: str, request: everyday.Request, seed: int, text: str, **more: Any) -> Answer:
    verdict = everyday.judge(request, request.value_text(text))
    return Answer(writer, request.name, seed, text, **dataclasses.asdict(verdict), **more)


def write_all(
    loaded: LoadedModel,
    requests: Sequence[everyday.Request],
    seeds: Sequence[int],
    spelling: str | None,
    *,
    complete_in_time: bool,
) -> dict[tuple[str, int], Completion]:
    """Let the engine write all answers."""
    with Engine(loaded.model, complete_in_time=complete_in_time) as engine:
        under_way = {
            (request.name, seed): engine.submit(
                loaded.prompt(request.prompt, tools=request.tools),
                sampling(seed),
                structure=structure_of(request, spelling),
            )
            for seed in seeds
            for request in requests
        }
        return {key: submitted.result() for key, submitted in under_way.items()}


class Replay:
    """Goes through the tokens of answers again, and counts those that had to come."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._info = loaded.model.tokenizer_info
        self._bitmask = np.zeros(get_bitmask_shape(1, self._info.vocab_size), dtype=np.int32)

    def count(self, structure: StructuredOutputsParams, tokens: Iterable[int]) -> tuple[int, int]:
        """Give the numbers of single tokens and of forced ones. The one that ends the answer is not forced."""
        manager = StructuredOutputManager(self._info, max_num_seqs=1)
        request = manager.grammar_init("replay", structure)
        try:
            request.result()
            matcher = request.matcher
            assert matcher is not None
            single = forced = 0
            for token in tokens:
                matcher.fill_next_token_bitmask(self._bitmask)
                single += int(np.bitwise_count(self._bitmask.view(np.uint32)).sum()) == 1
                if token not in self._info.stop_token_ids:
                    text = matcher.find_jump_forward_string().encode()
                    forced += text.startswith(self._info.token_bytes(token))
                assert matcher.accept_token(token), "an answer does not fit its grammar"
            return single, forced
        finally:
            manager.shutdown()


def tokenstile_answers(
    loaded: LoadedModel,
    requests: Sequence[everyday.Request],
    seeds: Sequence[int],
    spelling: str | None,
    *,
    budget: bool,
) -> list[Answer]:
    written = write_all(loaded, requests, seeds, spelling, complete_in_time=budget)
    without = write_all(loaded, requests, seeds, spelling, complete_in_time=False) if budget else {}
    replay = Replay(loaded)
    by_name = {request.name: request for request in requests}
    answers = []
    for (name, seed), output in written.items():
        request = by_name[name]
        single, forced = replay.count(structure_of(request, spelling), output.token_ids)
        other = without.get((name, seed))
        answers.append(
            make_answer(
                "tokenstile",
                request,
                seed,
                output.text,
                num_tokens=len(output.token_ids),
                finish_reason=output.finish_reason.value,
                complete=output.finish_reason is FinishReason.STOP,
                num_single=single,
                num_forced=forced,
                altered=None if other is None else other.token_ids != output.token_ids,
            )
        )
    return answers


def peer_answers(
    loaded: LoadedModel, requests: Sequence[everyday.Request], seeds: Sequence[int]
) -> list[Answer]:
    from everyday_llama_cpp import Writer  # noqa: PLC0415 - beside this file, and only then

    writer = Writer(loaded)
    answers = []
    for seed in seeds:
        for request in requests:
            if request.schema is None:
                continue
            text, num_tokens, complete = writer.write(request, sampling(seed))
            answers.append(
                make_answer(
                    "llama.cpp",
                    request,
                    seed,
                    text,
                    num_tokens=num_tokens,
                    finish_reason="stop" if complete else "length",
                    complete=complete,
                )
            )
    return answers


def row(answers: Sequence[Answer]) -> str:
    """Give a row of the table: of so many, how many are what they should be, and their tokens."""
    counts = [sum(getattr(each, name) for each in answers) for name in ("complete", "valid", "plain")]
    counts.append(sum(each.is_good for each in answers))
    tokens = sum(each.num_tokens for each in answers)
    cells = [str(len(answers)), *map(str, counts), f"{tokens:,}"]
    for name in ("num_single", "num_forced"):
        known = [number for each in answers if (number := getattr(each, name)) is not None]
        cells.append(f"{sum(known):,}" if known else "-")
    altered = [each.altered for each in answers if each.altered is not None]
    cells.append(str(sum(altered)) if altered else "-")
    return " | ".join(cells)


def table(answers: Sequence[Answer]) -> str:
    """Give the table of all answers."""
    names = ("complete", "valid", "plain", "all of it", "tokens", "single", "forced", "altered")
    lines = [f"| | answers | {' | '.join(names)} |", f"|---|{'---:|' * (len(names) + 1)}"]
    for writer in dict.fromkeys(each.writer for each in answers):
        own = [each for each in answers if each.writer == writer]
        for label, is_greedy in (("temperature 0", True), ("temperature 1", False)):
            some = [each for each in own if (each.seed == 0) is is_greedy]
            if some:
                lines.append(f"| {writer}, {label} | {row(some)} |")
    return "\n".join([*lines, "", *comparison(answers)])


def comparison(answers: Sequence[Answer]) -> list[str]:
    """Compare the tokens of the requests that both writers have answered, at temperature 0."""
    tokens = {
        writer: {each.name: each.num_tokens for each in answers if each.writer == writer and each.seed == 0}
        for writer in ("tokenstile", "llama.cpp")
    }
    ours, theirs = tokens.values()
    both = ours.keys() & theirs.keys()
    if not both:
        return []
    one, other = (sum(each[name] for name in both) for each in (ours, theirs))
    return [f"{len(both)} requests: {one:,} tokens beside llama.cpp's {other:,}, {one / other:.2f} times."]


def defects(answers: Sequence[Answer]) -> list[str]:
    """List the answers that are not what they should be, with the beginning of each."""
    lines = []
    for each in answers:
        missing = [name for name in ("complete", "parsed", "valid", "plain") if not getattr(each, name)]
        if missing:
            lines.append(
                f"{each.writer}, {each.name}, seed {each.seed}: not {', '.join(missing)}: {each.text[:60]!r}"
            )
    return lines


def read(paths: Iterable[Path]) -> list[Answer]:
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    return [Answer(**json.loads(line)) for line in lines]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="0 is temperature 0")
    parser.add_argument("--names", nargs="+", help="only these requests")
    parser.add_argument("--output", type=Path, help="write the answers to this file, one in a line")
    parser.add_argument("--table", type=Path, nargs="+", help="print the table of these files, and end")
    parser.add_argument("--peer", choices=["llama.cpp"], help="write under another one's grammar")
    parser.add_argument("--spelling", choices=["canonical", "any"])
    parser.add_argument("--budget", choices=["on", "off"], default="on")
    return parser.parse_args()


def main() -> None:
    chosen = parse_arguments()
    if chosen.table:
        answers = read(chosen.table)
    else:
        requests = [one for one in everyday.load() if not chosen.names or one.name in chosen.names]
        loaded = load_model(num_slots=NUM_SLOTS, max_length=1024)
        if chosen.peer:
            answers = peer_answers(loaded, requests, chosen.seeds)
        else:
            answers = tokenstile_answers(
                loaded, requests, chosen.seeds, chosen.spelling, budget=chosen.budget == "on"
            )
    if chosen.output:
        lines = (json.dumps(dataclasses.asdict(each), ensure_ascii=False) for each in answers)
        chosen.output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(*defects(answers), sep="\n", end="\n\n")
    print(table(answers))
    print(machine.in_words(machine.describe()))


if __name__ == "__main__":
    main()
