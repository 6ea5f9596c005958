"""``tokenstile bench``: this library and the installed peers on the same schemas, vocabulary and tokens.

All engines are asked through the same contract, `tokenstile.structured_output`, one after the other, on one thread of
Python. For each schema a text is made once, by a walk through the masks of this library; each engine then compiles the
schema, and fills a mask and takes a token for each token of the text. An engine that refuses a token of it disagrees,
and that is counted, not timed any further. Schemas that this library refuses have no text. They count like all others:
each engine refuses them or compiles them.
"""

import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer
from rich.progress import track
from rich.table import Table

from tokenstile._core import GrammarCompiler
from tokenstile.cli.outcome import JsonFlag, console, escape, notes, print_json, tells_errors
from tokenstile.cli.random_walk import random_tokens
from tokenstile.cli.sources import read_text
from tokenstile.cli.vocabularies import TokenizerOption, load_vocabulary
from tokenstile.exceptions import InvalidArgumentError, TokenstileError
from tokenstile.structured_output import BackendContext, available_backends, create_backend
from tokenstile.structured_output.contract import StructuredOutputBackend
from tokenstile.structured_output.key import GrammarType
from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["EngineResult", "bench"]

_OURS: Final = "tokenstile"


@dataclass(frozen=True)
class _Workload:
    """A schema, and the tokens of a text that it allows: none where this library refuses it."""

    schema: str
    tokens: list[int] | None


@dataclass
class EngineResult:
    """What was measured of one engine."""

    engine: str
    compiled: int = 0
    refused: int = 0
    disagrees: int = 0
    skipped: int = 0
    compile_ms: list[float] = field(default_factory=list)
    first_mask_us: list[float] = field(default_factory=list)
    mask_us: list[float] = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """Give counts and percentiles, for JSON."""
        counts = ("engine", "compiled", "refused", "disagrees", "skipped")
        return {name: getattr(self, name) for name in counts} | {
            name: _percentiles(getattr(self, name)) for name in ("compile_ms", "first_mask_us", "mask_us")
        }


def _percentiles(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    p50, p90, p99 = np.percentile(values, [50, 90, 99])
    found = {"count": len(values), "p50": p50, "p90": p90, "p99": p99, "max": max(values)}
    return {name: round(float(value), 3) for name, value in found.items()}


@tells_errors
def bench(
    folder: Annotated[Path, typer.Argument(help="A folder with JSON Schemas: all *.json below it.")],
    engine: Annotated[
        list[str] | None, typer.Option("--engine", "-e", help="Only this engine; may be repeated.")
    ] = None,
    plot: Annotated[
        list[Path] | None,
        typer.Option("--plot", help="Draw the times into this PNG or SVG; may be repeated."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most schemas.")] = 200,
    max_tokens: Annotated[int, typer.Option(min=1, help="The most tokens of a text.")] = 100,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds for one engine; schemas that come later are skipped.")
    ] = 120.0,
    seed: Annotated[int, typer.Option(help="Another seed makes other texts.")] = 1,
    tokenizer: TokenizerOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure this library and the installed peers on a folder of schemas: a table, and plots.

    Times are those of one thread; on a busy machine they mean little.
    """
    engines = _engines(engine)
    for path in plot or []:
        if path.suffix not in {".png", ".svg"}:
            raise InvalidArgumentError(f"a plot is a .png or a .svg, not {path}")
    vocabulary = load_vocabulary(tokenizer)
    workloads = _workloads(folder, vocabulary.info, limit, max_tokens, seed)
    if not workloads:
        raise InvalidArgumentError(f"no file in {folder} is JSON")
    results = [_measure(name, workloads, vocabulary.info, seconds) for name in engines]
    for path in plot or []:
        from tokenstile.cli.bench_plot import draw_times  # noqa: PLC0415 - matplotlib takes long to load

        draw_times(results, path)
    if as_json:
        counts = {"schemas": len(workloads), "without_text": _count_without_text(workloads)}
        print_json({**counts, "engines": [result.fields() for result in results]})
    else:
        _show(results, workloads, vocabulary.name)
        for path in plot or []:
            notes().print(f"wrote {escape(str(path))}")


def _engines(wanted: list[str] | None) -> list[str]:
    installed = available_backends()
    missing = sorted(set(wanted or []) - set(installed))
    if missing:
        raise InvalidArgumentError(f"not installed: {', '.join(missing)}; there are {', '.join(installed)}")
    chosen = wanted or installed
    return sorted(chosen, key=lambda name: (name != _OURS, name))


def _workloads(folder: Path, info: TokenizerInfo, limit: int, max_tokens: int, seed: int) -> list[_Workload]:
    """Read each schema, and make a text for it.

    Another process does it: in this one it would fill tables that all grammars of a vocabulary share, and the library
    would be measured with them warm.
    """
    files = sorted(folder.rglob("*.json"))[:limit]
    if not files:
        raise InvalidArgumentError(f"there is no *.json in {folder}")
    found = []
    with ProcessPoolExecutor(1, get_context("spawn"), _remember, (info, max_tokens, seed)) as pool:
        texts = pool.map(_make_text, files)
        for file, made in zip(
            files, track(texts, "texts", len(files), console=notes(), transient=True), strict=True
        ):
            if isinstance(made, _Workload):
                found.append(made)
            else:
                notes().print(f"[dim]left out, {escape(made)}: {escape(str(file))}[/]")
    return found


def _count_without_text(workloads: list[_Workload]) -> int:
    return sum(workload.tokens is None for workload in workloads)


_memory: dict[str, Any] = {}


def _remember(info: TokenizerInfo, max_tokens: int, seed: int) -> None:
    """Keep in the other process what is the same for all schemas."""
    _memory.update(compiler=GrammarCompiler(info, cache_enabled=False), max_tokens=max_tokens, seed=seed)


def _make_text(file: Path) -> _Workload | str:
    """Read a schema and make a text for it. What is no schema at all gives the reason."""
    try:
        schema = read_text(str(file))
    except (TokenstileError, OSError, UnicodeError):
        return "it cannot be read"
    if not _is_json(schema):
        return "it is not JSON"
    try:
        compiled = _memory["compiler"].compile_json_schema(schema)
    except TokenstileError:
        return _Workload(schema, None)
    return _Workload(schema, random_tokens(compiled, _memory["max_tokens"], _memory["seed"]))


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=float)  # a long number is no error
    except RecursionError:
        return True  # too deep for this reader, and for the engines to say
    except ValueError:
        return False
    return True


def _measure(name: str, workloads: list[_Workload], info: TokenizerInfo, seconds: float) -> EngineResult:
    result = EngineResult(name)
    backend = create_backend(name, BackendContext(info, max_threads=1, cache_limit_bytes=0))
    bitmask = backend.allocate_token_bitmask(1)
    until = time.monotonic() + seconds
    for workload in track(workloads, name, console=notes(), transient=True):
        if time.monotonic() > until:
            result.skipped += 1
        else:
            _run(backend, workload, bitmask, result)
    backend.destroy()
    return result


def _run(backend: StructuredOutputBackend, workload: _Workload, bitmask: Any, result: EngineResult) -> None:  # noqa: ANN401
    started = time.perf_counter()
    try:
        grammar = backend.compile_grammar(GrammarType.JSON, workload.schema)
    except Exception:  # noqa: BLE001 - a peer may raise anything
        result.refused += 1
        return
    result.compile_ms.append((time.perf_counter() - started) * 1e3)
    result.compiled += 1
    for at, token in enumerate(workload.tokens or []):
        started = time.perf_counter()
        grammar.fill_bitmask(bitmask, 0)
        elapsed = (time.perf_counter() - started) * 1e6
        (result.mask_us if at else result.first_mask_us).append(elapsed)
        if not grammar.accept_tokens("bench", [token]):
            result.disagrees += 1
            return


def _show(results: list[EngineResult], workloads: list[_Workload], vocabulary: str) -> None:
    console().print(f"{len(workloads)} schemas, {escape(vocabulary)}")
    if without := _count_without_text(workloads):
        console().print(f"{without} without a text, because {_OURS} refuses them: no masks there")
    console().print()
    table = Table(box=None, padding=(0, 3, 0, 0))
    table.add_column("")
    for result in results:
        table.add_column(result.engine, justify="right")
    for name in ("compiled", "refused", "disagrees", "skipped"):
        table.add_row(name, *(str(getattr(result, name)) for result in results))
    for name, label in (
        ("compile_ms", "compile, ms"),
        ("first_mask_us", "first mask, µs"),
        ("mask_us", "mask, µs"),
    ):
        found = [_percentiles(getattr(result, name)) for result in results]
        for figure, words in (("p50", "median"), ("p99", "99th percentile"), ("max", "highest")):
            table.add_row(f"{label}: {words}", *(f"{one[figure]:,.1f}" if one else "-" for one in found))
    console().print(table)
