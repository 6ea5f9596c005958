"""On a GPU: the kernels beside the limit of the memory, and what constraining a decode loop costs.

    python benchmarks/gpu.py kernel [--peer]
    python benchmarks/gpu.py steps [--peer] [--tokenizer DIR] [--data MASKBENCH.jsonl.gz] [--batches 1,16,64,256]

`kernel` times `apply_token_bitmask_inplace` in a CUDA graph. The limit is the time that the bytes which must move (the
bitmask read, the forbidden logits written) would take at the bandwidth of a large copy; `fill` is torch writing all
logits, which is what the memory gives for writing alone.

`steps` runs a decoder in the shape of Llama-3-8B with random weights, one CUDA graph a step. The constraints are those
of the other benchmarks, or JSON Schemas of MaskBench with ``--data``, and each row reads a known text, so that its
states are those that real output visits. Three ways to drive it:

* plain: forward pass, sampling, the tokens to the CPU;
* pipeline: the same with `MaskPipeline`, which accepts the last tokens and fills the masks while the graph runs;
* serial: masks filled while the graph runs, copied and applied on its stream; tokens accepted one by one between two
  steps. Engines are written so, and so is XGrammar measured.

The ways take turns, a round each, and the median round counts. While it warms up, every step is checked: the next token
of the text must be allowed, and what is forbidden must be what the mask forbids.
"""

import argparse
import dataclasses
import gzip
import importlib
import itertools
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import torch
from run import Engine, Tokenizer
from torch.nn import functional
from workloads import workloads

import tokenstile
from tokenstile.kernels.pipeline import MaskPipeline

CHECKED_STEPS = 10
ROUNDS = 5
STEPS = 60
DOCUMENTS = 24
PADDING = 64


def microseconds(work: Callable[[], object], repeats: int = 50) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(repeats + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times[3:])


def microseconds_in_a_graph(work: Callable[[], object], calls: int = 10) -> float:
    """Return the median time of a call, of ``calls`` in a graph: without the time that a launch takes the CPU."""
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            work()
    return microseconds(graph.replay) / calls


def bandwidth() -> float:
    """Return the bytes a microsecond that a large copy reads and writes."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / microseconds(lambda: target.copy_(source))


def random_bits(batch: int, vocab_size: int, share: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which tokens are allowed, and the bitmask that says so."""
    allowed = torch.rand(batch, vocab_size, device="cuda") < share
    places = torch.arange(32, device="cuda")
    words = (allowed.view(batch, -1, 32).long() << places).sum(-1)
    return allowed, words.to(torch.int32)


def run_kernels(peer: ModuleType | None) -> None:
    speed = bandwidth()
    print(f"{torch.cuda.get_device_name()}, a large copy: {speed / 1e6:.2f} TB/s\n")
    ways = {name: f"tokenstile {name}" for name in ("triton", "cuda")} | (
        {"xgrammar": "XGrammar"} if peer else {}
    )
    print(
        "| vocabulary | batch | allowed | limit us | "
        + " | ".join(f"{it} us" for it in ways.values())
        + " | fill us |"
    )
    print("|---:" * (5 + len(ways)) + "|")
    for vocab_size, batch, share in itertools.product(
        (128256, 262144), (1, 16, 64, 256, 1024), (0.001, 0.95)
    ):
        logits = torch.randn(batch, vocab_size, device="cuda").bfloat16()
        allowed, mask = random_bits(batch, vocab_size, share)
        expected = logits.masked_fill(~allowed, float("-inf"))
        limit = (mask.numel() * 4 + 2 * (~allowed).sum().item()) / speed
        cells = []
        for name in ways:
            apply = (
                peer.apply_token_bitmask_inplace
                if peer and name == "xgrammar"
                else tokenstile.apply_token_bitmask_inplace
            )
            options = {} if name == "xgrammar" else {"backend": name}
            found = logits.clone()
            apply(found, mask, **options)
            assert torch.equal(found, expected), name
            cells.append(microseconds_in_a_graph(lambda: apply(logits, mask, **options)))  # noqa: B023 - called here
        cells.append(microseconds_in_a_graph(lambda: logits.fill_(1)))  # noqa: B023 - called here
        row = " | ".join(f"{cell:.1f}" for cell in cells)
        print(f"| {vocab_size} | {batch} | {share} | {limit:.1f} | {row} |", flush=True)


class Decoder:
    """A transformer with random weights that makes one token a row and step."""

    LAYERS, WIDTH, HEADS, KEY_HEADS, HEAD, INNER, CONTEXT = 32, 4096, 32, 8, 128, 14336, 512

    def __init__(self, batch: int, vocab_size: int) -> None:
        def weights(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02

        self.batch = batch
        self.tokens = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.embedding, self.head = weights(vocab_size, self.WIDTH), weights(self.WIDTH, vocab_size)
        past = (batch, self.KEY_HEADS, self.CONTEXT, self.HEAD)
        self.layers = [
            (
                weights(self.WIDTH, (self.HEADS + 2 * self.KEY_HEADS) * self.HEAD),
                weights(self.WIDTH, self.WIDTH),
                weights(self.WIDTH, 2 * self.INNER),
                weights(self.INNER, self.WIDTH),
                weights(*past),
                weights(*past),
            )
            for _ in range(self.LAYERS)
        ]
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                self.forward()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = self.forward()

    def forward(self) -> torch.Tensor:
        state = self.embedding[self.tokens]
        for layer in self.layers:
            state = self.forward_layer(state, layer)
        return functional.rms_norm(state, (self.WIDTH,)) @ self.head

    def forward_layer(self, state: torch.Tensor, layer: tuple[torch.Tensor, ...]) -> torch.Tensor:
        inputs, output, up, down, keys, values = layer
        mixed = functional.rms_norm(state, (self.WIDTH,)) @ inputs
        sizes = [self.HEADS * self.HEAD, self.KEY_HEADS * self.HEAD, self.KEY_HEADS * self.HEAD]
        query, key, value = mixed.split(sizes, -1)
        keys[:, :, 0] = key.view(self.batch, self.KEY_HEADS, self.HEAD)
        values[:, :, 0] = value.view(self.batch, self.KEY_HEADS, self.HEAD)
        query = query.view(self.batch, self.HEADS, 1, self.HEAD)
        seen = functional.scaled_dot_product_attention(query, keys, values, enable_gqa=True)
        state = state + seen.reshape(self.batch, -1) @ output
        gate, inner = (functional.rms_norm(state, (self.WIDTH,)) @ up).chunk(2, -1)
        return state + (functional.silu(gate) * inner) @ down


class Rows:
    """A matcher for each row, and the text that it reads; at the end of the text it starts again."""

    def __init__(self, module: ModuleType, documents: Sequence[tuple[Any, list[int]]], batch: int) -> None:
        chosen = [documents[row % len(documents)] for row in range(batch)]
        self.texts = [tokens for _, tokens in chosen]
        # Rows with the same text are at different places of it, as requests are.
        self.at = [7 * (row // len(documents)) % len(tokens) for row, tokens in enumerate(self.texts)]
        self.matchers = [module.GrammarMatcher(compiled) for compiled, _ in chosen]
        for matcher, tokens, at in zip(self.matchers, self.texts, self.at, strict=True):
            assert all(matcher.accept_token(token) for token in tokens[:at])

    def next_tokens(self) -> list[int]:
        return [tokens[at] for tokens, at in zip(self.texts, self.at, strict=True)]

    def moved(self) -> None:
        """Go on by a token in each text; matchers at the end of theirs begin again."""
        for row, tokens in enumerate(self.texts):
            self.at[row] += 1
            if self.at[row] == len(tokens):
                self.at[row] = 0
                self.matchers[row].reset()


class Plain:
    """A step without constraints; the others add to it."""

    name = "plain"

    def __init__(self, decoder: Decoder, rows: Rows, vocab_size: int) -> None:
        self.decoder, self.rows, self.vocab_size = decoder, rows, vocab_size
        self.host = torch.empty(decoder.batch, dtype=torch.long).pin_memory()
        self.busy = 0.0
        self.mask: Any = None

    def constrain(self) -> None:
        """What is done while the graph runs, and put behind it."""

    def finish(self) -> None:
        """What is done between two steps."""

    def sample(self) -> None:
        torch.argmax(self.decoder.logits, -1, out=self.decoder.tokens)
        self.host.copy_(self.decoder.tokens, non_blocking=True)
        torch.cuda.synchronize()

    def step(self) -> None:
        self.decoder.graph.replay()
        start = perf_counter()
        self.constrain()
        self.busy += perf_counter() - start
        self.sample()
        start = perf_counter()
        self.finish()
        self.busy += perf_counter() - start

    def check(self) -> None:
        """Take a step, and see that the logits are as the masks say."""
        self.decoder.graph.replay()
        self.constrain()
        if self.mask is not None:
            expected = self.rows.next_tokens()
            allowed = torch.isfinite(self.decoder.logits)
            assert allowed[torch.arange(len(expected)), torch.tensor(expected)].all(), self.name
            bits = self.mask().cpu().unsqueeze(-1) >> torch.arange(32, dtype=torch.int32) & 1
            assert torch.equal(allowed.cpu(), bits.flatten(1)[:, : self.vocab_size].bool()), self.name
        self.sample()
        self.finish()


class Pipeline(Plain):
    """All work on masks while the graph runs."""

    name = "pipeline"

    def __init__(self, decoder: Decoder, rows: Rows, vocab_size: int) -> None:
        super().__init__(decoder, rows, vocab_size)
        self.pipeline = MaskPipeline(decoder.batch, vocab_size)
        self.mask = lambda: self.pipeline.bitmask
        self.last: list[int] | None = None

    def constrain(self) -> None:
        if self.last is None:
            self.pipeline.fill(self.rows.matchers)
        else:
            assert all(self.pipeline.accept(self.rows.matchers, self.last))
            self.rows.moved()
            self.pipeline.fill(self.rows.matchers)
        self.last = self.rows.next_tokens()
        self.pipeline.apply(self.decoder.logits)


class Serial(Plain):
    """The way of an engine that was written for one request at a time."""

    name = "serial"

    def __init__(
        self, decoder: Decoder, rows: Rows, vocab_size: int, module: ModuleType = tokenstile
    ) -> None:
        super().__init__(decoder, rows, vocab_size)
        self.module, self.batch = module, module.BatchGrammarMatcher()
        words = (vocab_size + 31) // 32
        self.filled = torch.full((decoder.batch, words), -1, dtype=torch.int32).pin_memory()
        self.copied = torch.empty(decoder.batch, words, dtype=torch.int32, device="cuda")
        self.mask = lambda: self.copied

    def constrain(self) -> None:
        self.batch.batch_fill_next_token_bitmask(self.rows.matchers, self.filled)
        self.copied.copy_(self.filled, non_blocking=True)
        self.module.apply_token_bitmask_inplace(self.decoder.logits, self.copied)

    def finish(self) -> None:
        for matcher, token in zip(self.rows.matchers, self.rows.next_tokens(), strict=True):
            assert matcher.accept_token(token)
        self.rows.moved()


def documents_of(engine: Engine, tokenizer: Tokenizer, data: Path | None) -> list[tuple[Any, list[int]]]:
    """Return compiled grammars with texts, as tokens."""
    if data is not None:
        return list(itertools.islice(maskbench_documents(engine, tokenizer, data), DOCUMENTS))
    found = []
    for workload in workloads():
        compiled = engine.compile(workload)
        texts = [ids for ids in tokenizer.encode(workload.texts) if len(ids) >= 60]
        found += [(compiled, ids) for ids in texts[: DOCUMENTS // 4]]
    return found


def maskbench_documents(engine: Engine, tokenizer: Tokenizer, data: Path) -> Any:
    compiler = engine.module.GrammarCompiler(engine.info)
    cases = [json.loads(line) for line in gzip.decompress(data.read_bytes()).splitlines()]
    found = [
        (json.dumps(case["schema"]), json.dumps(test["data"], ensure_ascii=False))
        for case in cases
        for test in [test for test in case["tests"] if test["valid"]][:1]
    ]
    tokens = tokenizer.encode(tuple(text for _, text in found))
    for (schema, _), ids in zip(found, tokens, strict=True):
        if len(schema) >= 6000 or not 60 <= len(ids) <= 400:
            continue
        try:
            compiled = compiler.compile_json_schema(schema, any_whitespace=True, strict_mode=False)
        except (RuntimeError, ValueError):
            continue
        matcher = engine.module.GrammarMatcher(compiled)
        if all(matcher.accept_token(token) for token in ids):
            yield compiled, ids


def run_steps(
    peer: ModuleType | None, tokenizer: Tokenizer, data: Path | None, batches: Sequence[int]
) -> None:
    engines = [Engine(module, tokenizer) for module in (tokenstile, *([peer] if peer else []))]
    documents = [documents_of(engine, tokenizer, data) for engine in engines]
    print(f"{torch.cuda.get_device_name()}, {tokenizer.name}, {len(documents[0])} texts; ms a step")
    print("(more than plain), and ms of the CPU in it\n")
    names = ["plain", "pipeline", "serial", *(["XGrammar, serial"] if peer else [])]
    print("| batch | " + " | ".join(names) + " | CPU: " + " | ".join(names[1:]) + " |")
    print("|---:" * (2 * len(names)) + "|", flush=True)
    for batch in batches:
        decoder = Decoder(batch, tokenizer.vocab_size)
        ways = [
            way(decoder, Rows(tokenstile, documents[0], batch), tokenizer.vocab_size)
            for way in (Plain, Pipeline, Serial)
        ]
        if peer:
            ways.append(Serial(decoder, Rows(peer, documents[1], batch), tokenizer.vocab_size, peer))
        print(row_of(batch, ways), flush=True)
        del decoder, ways
        torch.cuda.empty_cache()


def row_of(batch: int, ways: Sequence[Plain]) -> str:
    times: list[list[float]] = [[] for _ in ways]
    for way in ways:
        for _ in range(CHECKED_STEPS):
            way.check()
        way.busy = 0.0
    for _, (way, rounds) in itertools.product(range(ROUNDS), list(zip(ways, times, strict=True))):
        for _ in range(5):
            way.step()
        start = perf_counter()
        for _ in range(STEPS):
            way.step()
        rounds.append((perf_counter() - start) / STEPS * 1e3)
    plain, *others = (statistics.median(rounds) for rounds in times)
    busy = [way.busy / (ROUNDS * (STEPS + 5)) * 1e3 for way in ways[1:]]
    cells = [f"{time:.3f} (+{(time / plain - 1) * 100:.2f}%)" for time in others]
    return f"| {batch} | {plain:.3f} | " + " | ".join([*cells, *(f"{it:.3f}" for it in busy)]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("kernel", "steps"))
    parser.add_argument("--peer", action="store_true", help="run XGrammar too")
    parser.add_argument("--tokenizer", type=Path, help="a folder with tokenizer.json or tokenizer.json.gz")
    parser.add_argument("--data", type=Path, help="schemas and instances of MaskBench")
    parser.add_argument("--batches", default="1,16,64,256")
    options = parser.parse_args()
    peer = importlib.import_module("xgrammar") if options.peer else None
    if options.what == "kernel":
        run_kernels(peer)
    else:
        tokenizer = Tokenizer.load(options.tokenizer)
        # Models pad their vocabularies, for the sake of the product that makes the logits.
        padded = dataclasses.replace(tokenizer, vocab_size=-(-tokenizer.vocab_size // PADDING) * PADDING)
        batches = [int(batch) for batch in options.batches.split(",")]
        run_steps(peer, padded, options.data, batches)


if __name__ == "__main__":
    main()
