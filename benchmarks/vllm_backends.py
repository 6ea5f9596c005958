"""Tokenstile and xgrammar inside of the real vLLM, on the same engine, in turns: ``make bench-vllm``.

One engine runs in this process, and its backend is exchanged between rounds, so both see the same machine at the same
time. Measured are, first without the model:

- the time that the engine spends on the rows of masks for one step, by the number of requests;
- the time from a request with a schema that was never seen to its first row: the check of the front end, the
  compilation of the engine, the mask; and the time of the processor for it, since a compiler may use many threads;

and with it:

- tokens a second of a batch of requests with a new schema each, beside the same batch without any;
- the time to the first token of a request with a new schema, beside a request without one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
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

ROUNDS = 3
REQUESTS = 8
TOKENS = 24
FIRST_TOKENS = 4
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
    def __init__(self, model: str) -> None:
        self.llm = LLM(model, dtype="bfloat16", max_model_len=512, max_num_seqs=256, enforce_eager=True)
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

    def tokens_a_second(self, *, constrained: bool) -> float:
        requests = [self.params(TOKENS, constrained=constrained) for _ in range(REQUESTS)]
        start = time.perf_counter()
        outputs = self.llm.generate([PROMPT] * REQUESTS, requests, use_tqdm=False)
        seconds = time.perf_counter() - start
        return sum(len(output.outputs[0].token_ids) for output in outputs) / seconds

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


def main(model: str) -> None:
    bench = Bench(model)
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
    for _ in range(ROUNDS):
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
    results = {name: {"speed": [], "first": []} for name in ("none", "xgrammar", "tokenstile")}
    for _ in range(ROUNDS):
        for name, result in results.items():
            constrained = name != "none"
            bench.switch(name)
            bench.first_token(
                constrained=constrained
            )  # The backend itself is made once, at the first request.
            result["first"] += [bench.first_token(constrained=constrained) for _ in range(FIRST_TOKENS)]
            result["speed"].append(bench.tokens_a_second(constrained=constrained))
            print(
                name,
                [f"{value:.1f}" for value in result["speed"] + result["first"]],
                file=sys.stderr,
                flush=True,
            )
    print(f"{REQUESTS} requests of {TOKENS} tokens, a new schema each; {ROUNDS} rounds in turns")
    print("| | tokens/s, median | first token of a new schema, ms: median | largest |")
    print("|---|---:|---:|---:|")
    for name, result in results.items():
        first = result["first"]
        speed = statistics.median(result["speed"])
        print(f"| {name} | {speed:.1f} | {statistics.median(first):.0f} | {max(first):.0f} |")


if __name__ == "__main__":
    main(sys.argv[1])
