"""Tokenstile and xgrammar inside of the real vLLM, on the same engine, in turns: ``make bench-vllm``.

One engine runs in this process, and its backend is exchanged between rounds, so both see the same machine at the same
time. Measured are, first without the model:

- the time that the engine spends on the rows of masks for one step, by the number of requests;
- the time from a request with a schema that was never seen to its first row: the check of the front end, the
  compilation of the engine, the mask; and the time of the processor for it, since a compiler may use many threads;

and with it:

- tokens a second of a batch of requests with a new schema each, beside the same batch without any; by the clock, and
  by the time of the processor, which a busy machine changes less;
- the time to the first token of a request with a new schema, beside a request without one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kind
from vllm.v1.structured_output.request import get_structured_output_key

from tokenstile.integrations.vllm import patches

NEW_SCHEMAS = 15
PROMPT = "Write a JSON object that describes a person: "


def schema(number: int) -> dict[str, Any]:
    """A schema of common size that no other number has."""
    address = {
        "type": "object",
        "properties": {
            "street": {"type": "string"},
            "city": {"type": "string"},
            f"code_{number}": {"type": "string", "pattern": "^[0-9]{5}$"},
        },
        "required": ["street", "city", f"code_{number}"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            f"kind_{number}": {"enum": ["person", "company", "other"]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
            "home": {"$ref": "#/$defs/address"},
            "work": {"anyOf": [{"$ref": "#/$defs/address"}, {"type": "null"}]},
        },
        "required": ["name", "age", f"kind_{number}", "tags", "home", "work"],
        "additionalProperties": False,
        "$defs": {"address": address},
    }


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.llm = LLM(
            arguments.model, dtype="bfloat16", max_model_len=512, max_num_seqs=256, enforce_eager=True
        )
        self.manager = self.llm.llm_engine.engine_core.engine_core.structured_output_manager
        self.used = 0

    def switch(self, backend: str) -> None:
        """Let the next request make the backend anew."""
        patches.apply() if backend == "tokenstile" else patches.remove()
        if self.manager.backend is not None:
            self.manager.backend.destroy()
        self.manager.backend = self.manager._grammar_bitmask = None  # noqa: SLF001 - as in a new engine

    def params(self, tokens: int, *, constrained: bool = True) -> SamplingParams:
        constraint = None
        if constrained:
            self.used += 1
            constraint = StructuredOutputsParams(json=schema(self.used))
        return SamplingParams(
            temperature=0.7, seed=1, max_tokens=tokens, min_tokens=0, structured_outputs=constraint
        )

    def tokens_a_second(self, *, constrained: bool) -> tuple[float, float]:
        """Return the tokens of a batch for a second by the clock, and for one of the processor."""
        count = self.arguments.requests
        requests = [self.params(self.arguments.tokens, constrained=constrained) for _ in range(count)]
        clock, processor = time.perf_counter(), time.process_time()
        outputs = self.llm.generate([PROMPT] * count, requests, use_tqdm=False)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
        return tokens / clock, tokens / processor

    def first_token(self, *, constrained: bool) -> float:
        request = self.params(1, constrained=constrained)
        start = time.perf_counter()
        self.llm.generate([PROMPT], request, use_tqdm=False)
        return (time.perf_counter() - start) * 1000

    def new_schema(self) -> tuple[float, float]:
        """Milliseconds by the clock and of the processor until the first row of a schema that was never seen."""
        engine = self.llm.llm_engine
        request = self.params(1)
        bitmask = self.manager.backend.allocate_token_bitmask(1)
        clock, processor = time.perf_counter(), time.process_time()
        settings = engine.vllm_config.structured_outputs_config
        request.verify(engine.model_config, None, settings, self.llm.get_tokenizer())
        kind, text = get_structured_output_key(request.structured_outputs)
        self.manager.backend.compile_grammar(kind, text).fill_bitmask(bitmask, 0)
        return (time.perf_counter() - clock) * 1000, (time.process_time() - processor) * 1000

    def rows(self, count: int) -> float:
        """Microseconds for the rows of a step: requests in the middle of a string, and elsewhere."""
        encode = self.llm.get_tokenizer().encode
        texts = ["", '{"name": "Ada', '{"name": "Ada", "age": 3', '{"name": "Ada", "age": 36, "kind_1": "']
        requests = {}
        for at in range(count):
            grammar = self.manager.backend.compile_grammar(Kind.JSON, json.dumps(schema(1)))
            assert grammar.accept_tokens("r", encode(texts[at % len(texts)]))
            structured = SimpleNamespace(grammar=grammar, reasoning_ended=True)
            requests[str(at)] = SimpleNamespace(request_id=str(at), structured_output_request=structured)
        times = []
        for _ in range(60):
            start = time.perf_counter()
            self.manager.grammar_bitmask(requests, list(requests), {})
            times.append((time.perf_counter() - start) * 1e6)
        return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description="tokenstile and xgrammar inside of vLLM")
    parser.add_argument("model", help="the folder of the model")
    parser.add_argument("--rounds", type=int, default=3, help="how often each backend has its turn")
    parser.add_argument("--requests", type=int, default=8, help="requests in a batch")
    parser.add_argument("--tokens", type=int, default=24, help="tokens of each of them")
    bench = Bench(parser.parse_args())
    report_rows(bench)
    report_new_schemas(bench)
    report_requests(bench)


def report_rows(bench: Bench) -> None:
    rows = {}
    for name in ("xgrammar", "tokenstile"):
        bench.switch(name)
        bench.first_token(constrained=True)
        rows[name] = {count: bench.rows(count) for count in (1, 16, 64, 128, 256)}
    print("| requests in a step | xgrammar us | tokenstile us |")
    print("|---:|---:|---:|")
    for count in rows["xgrammar"]:
        print(f"| {count} | {rows['xgrammar'][count]:.0f} | {rows['tokenstile'][count]:.0f} |")
    print(flush=True)


def report_new_schemas(bench: Bench) -> None:
    times: dict[str, list[tuple[float, float]]] = {"xgrammar": [], "tokenstile": []}
    for _ in range(bench.arguments.rounds):
        for name, measured in times.items():
            bench.switch(name)
            bench.first_token(constrained=True)
            measured += [bench.new_schema() for _ in range(NEW_SCHEMAS)]
    print("| first row of a new schema | ms, median | largest | of the processor, median |")
    print("|---|---:|---:|---:|")
    for name, measured in times.items():
        clock, processor = zip(*measured, strict=True)
        middle = statistics.median
        print(f"| {name} | {middle(clock):.2f} | {max(clock):.2f} | {middle(processor):.2f} |")
    print(flush=True)


def report_requests(bench: Bench) -> None:
    speeds: dict[str, list[tuple[float, float]]] = {"none": [], "xgrammar": [], "tokenstile": []}
    firsts: dict[str, list[float]] = {name: [] for name in speeds}
    for _ in range(bench.arguments.rounds):
        for name, speed in speeds.items():
            constrained = name != "none"
            bench.switch(name)
            bench.first_token(
                constrained=constrained
            )  # The backend itself is made once, at the first request.
            firsts[name] += [bench.first_token(constrained=constrained) for _ in range(3)]
            speed.append(bench.tokens_a_second(constrained=constrained))
    middle = statistics.median
    print(
        "| constraint | tokens/s, median | of the processor | first token of a new schema, ms: median | least |"
    )
    print("|---|---:|---:|---:|---:|")
    for name, speed in speeds.items():
        clock, processor = (middle(values) for values in zip(*speed, strict=True))
        first = firsts[name]
        print(
            f"| {name} | {clock:.1f} | {processor:.1f} | {middle(first):.0f} | {min(first):.0f} |", flush=True
        )


if __name__ == "__main__":
    main()
