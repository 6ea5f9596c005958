"""Tokenstile and xgrammar inside of the real vLLM, on the same engine, in turns: ``make bench-vllm``.

One engine runs in this process, and its backend is exchanged between rounds, so both see the same machine at the same
time. Three things are measured:

- tokens a second of a batch of requests with a schema each, beside the same batch without any;
- the time to the first token of a request whose schema the engine has never seen, beside a request without one;
- the time that the engine spends on the rows of masks for one step, by the number of requests, without the model.
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

from tokenstile.integrations.vllm import patches

ROUNDS = 3
REQUESTS = 16
TOKENS = 32
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
    bench.tokens_a_second(constrained=False)
    results = {name: {"speed": [], "first": []} for name in ("none", "xgrammar", "tokenstile")}
    for _ in range(ROUNDS):
        for name, result in results.items():
            constrained = name != "none"
            bench.switch(name)
            bench.first_token(
                constrained=constrained
            )  # The backend itself is made once, at the first request.
            result["first"] += [bench.first_token(constrained=constrained) for _ in range(6)]
            result["speed"].append(bench.tokens_a_second(constrained=constrained))
    print(f"{REQUESTS} requests of {TOKENS} tokens, a new schema each; medians of {ROUNDS} rounds in turns\n")
    print("| | tokens/s | first token of a new schema, ms: median | largest |")
    print("|---|---:|---:|---:|")
    for name, result in results.items():
        first = result["first"]
        speed = statistics.median(result["speed"])
        print(f"| {name} | {speed:.1f} | {statistics.median(first):.0f} | {max(first):.0f} |")
    print("\n| requests in a step | xgrammar us | tokenstile us |")
    print("|---:|---:|---:|")
    rows = {}
    for name in ("xgrammar", "tokenstile"):
        bench.switch(name)
        bench.first_token(constrained=True)
        rows[name] = {count: bench.rows(count) for count in (1, 16, 64, 128, 256)}
    for count in rows["xgrammar"]:
        print(f"| {count} | {rows['xgrammar'][count]:.0f} | {rows['tokenstile'][count]:.0f} |")


if __name__ == "__main__":
    main(sys.argv[1])
