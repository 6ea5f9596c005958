"""``tokenstile check``: is a JSON Schema supported, what is approximated, and which parts can never be met."""

import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from tokenstile._core import Grammar, GrammarCompiler
from tokenstile.cli.outcome import (
    ExitCode,
    JsonFlag,
    console,
    error_fields,
    escape,
    finish,
    print_json,
    tells_errors,
)
from tokenstile.cli.sources import (
    AnnotateFormats,
    AnyOrder,
    Kind,
    Lenient,
    NotStrict,
    RegistryOption,
    SchemaOptions,
    Source,
    SpellingOption,
    existing_file,
    read_source,
    read_text,
)
from tokenstile.cli.subschemas import unsatisfiable_parts
from tokenstile.cli.vocabularies import load_vocabulary
from tokenstile.exceptions import (
    GrammarError,
    InvalidArgumentError,
    JSONSchemaError,
    LimitExceededError,
    TokenBudgetError,
    UnsupportedFeatureError,
)
from tokenstile.json_schema import check_schema
from tokenstile.schema_report import SPELLING, Finding, Outcome, SchemaWarning

__all__ = ["check"]

_MARKS: Final = {
    "exact": "[green]exact[/]",
    "narrowed": "[yellow]narrowed[/]",
    "widened": "[yellow]widened[/]",
    "refused": "[red]refused[/]",
    "unsatisfiable": "[red]unsatisfiable[/]",
    "invalid": "[red]invalid[/]",
}
_GOOD: Final = {"exact", "narrowed", "widened"}


@dataclass
class _Report:
    """What was found about one schema."""

    name: str
    status: str
    findings: list[Finding] = field(default_factory=list)
    unsatisfiable: list[dict[str, str]] = field(default_factory=list)
    error: dict[str, Any] | None = None
    milliseconds: float = 0.0
    outputs: "_Lengths | None" = None

    def fields(self) -> dict[str, Any]:
        return {
            "schema": self.name,
            "status": self.status,
            "milliseconds": round(self.milliseconds, 3),
            "findings": [asdict(finding) for finding in self.findings],
            "unsatisfiable": self.unsatisfiable,
            "error": self.error,
            "outputs": None if self.outputs is None else asdict(self.outputs),
        }


@dataclass
class _Lengths:
    """How long the outputs of a schema are."""

    unit: str
    """Tokens, without the one that stops, or bytes."""
    shortest: int | None
    """Enough for an output; None if no number is known to be."""
    longest: int | None
    """No output is longer; None if there is no bound, or none is known."""

    def __str__(self) -> str:
        if self.shortest is None:
            return f"how many {self.unit} an output takes is not known"
        if self.longest is None:
            return f"outputs of {self.shortest:,} {self.unit} and more, without a bound"
        return f"outputs of {self.shortest:,} to {self.longest:,} {self.unit}"


class _Ruler:
    """Tells how long outputs are, in the tokens of a vocabulary or in bytes."""

    def __init__(self, tokenizer: str | None) -> None:
        self._unit = "bytes" if tokenizer in {None, "bytes"} else "tokens"
        self._info = load_vocabulary(tokenizer or "bytes").info
        self._compiler = GrammarCompiler(self._info, cache_enabled=False)

    def measure(self, grammar: Grammar) -> _Lengths:
        compiled = self._compiler.compile_grammar(grammar)
        stop = int(bool(self._info.stop_token_ids))
        longest = compiled.longest_output()
        try:
            shortest: int | None = compiled.shortest_output() - stop
        except TokenBudgetError:
            shortest = None
        return _Lengths(self._unit, shortest, None if longest is None else longest - stop)


@tells_errors
def check(
    schemas: Annotated[
        list[str], typer.Argument(help="Files, folders (all *.json below), - or the schema itself.")
    ],
    any_order: AnyOrder = False,
    annotate_formats: AnnotateFormats = False,
    lenient: Lenient = False,
    not_strict: NotStrict = False,
    spelling: SpellingOption = None,
    registry: RegistryOption = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            "-T",
            help="Count outputs in the tokens of this vocabulary, named as everywhere; in bytes without it.",
        ),
    ] = None,
    parts: Annotated[
        bool, typer.Option("--parts/--no-parts", help="Look for parts that no value satisfies.")
    ] = True,
    all_keywords: Annotated[
        bool, typer.Option("--all", "-a", help="List every keyword, not only those that need a look.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Tell whether JSON Schemas are supported, and what is approximated or refused, with its place.

    The exit code is 1 if any schema is refused, malformed, or satisfied by no value.
    """
    options = SchemaOptions(
        any_order=any_order,
        annotate_formats=annotate_formats,
        lenient=lenient,
        not_strict=not_strict,
        spelling=spelling,
        registry=registry,
    )
    reports = []
    ruler = _Ruler(tokenizer)
    for name, source in _sources(schemas, options):
        reports.append(_report(name, source, ruler, look_at_parts=parts))
        if not as_json:
            _show(console(), reports[-1], all_keywords=all_keywords)
    if as_json:
        print_json([report.fields() for report in reports])
    elif len(reports) > 1:
        _show_totals(console(), reports)
    finish(ExitCode.YES if all(report.status in _GOOD for report in reports) else ExitCode.NO)


def _sources(arguments: list[str], options: SchemaOptions) -> Iterator[tuple[str, Source | Exception]]:
    for argument in arguments:
        if argument == "-" or _is_schema(argument) or existing_file(argument) is not None:
            source = read_source(argument, Kind.JSON_SCHEMA, options)
            yield source.name, source
        elif argument and Path(argument).is_dir():
            files = sorted(Path(argument).rglob("*.json"))
            if not files:
                raise InvalidArgumentError(f"there is no *.json in {argument}")
            for file in files:
                yield str(file), _read(file, options)
        else:
            raise InvalidArgumentError(f"there is no file or folder {argument[:80]!r}")


def _is_schema(argument: str) -> bool:
    return argument.lstrip().startswith(("{", "[")) or argument.strip() in {"true", "false"}


def _read(file: Path, options: SchemaOptions) -> Source | Exception:
    try:
        return Source(Kind.JSON_SCHEMA, read_text(str(file)), str(file), options)
    except (OSError, UnicodeError, InvalidArgumentError) as error:
        return error


def _report(name: str, source: Source | Exception, ruler: _Ruler, *, look_at_parts: bool) -> _Report:
    if isinstance(source, Exception):
        return _Report(name, "invalid", error=error_fields(source))
    started = time.perf_counter()
    report = _Report(name, "exact")
    try:
        with warnings.catch_warnings():
            # It warns of what is in its findings, which are shown.
            warnings.simplefilter("ignore", SchemaWarning)
            found = check_schema(source.text, **source.options.for_checking)
        # What the spelling gives up as a whole is the same for most schemas, and says nothing about this one.
        report.findings = [finding for finding in found if finding.keyword != SPELLING or finding.pointer]
        outcomes = {finding.outcome for finding in report.findings}
        worst = [one for one in (Outcome.REFUSED, Outcome.WIDENED, Outcome.NARROWED) if one in outcomes]
        report.status = worst[0].value if worst else "exact"
        grammar = None if report.status == "refused" else source.grammar()
        report.milliseconds = (time.perf_counter() - started) * 1e3
        report.outputs = None if grammar is None else ruler.measure(grammar)
    except GrammarError as error:
        report.status, report.error = _status_of(error), error_fields(error)
        report.milliseconds = report.milliseconds or (time.perf_counter() - started) * 1e3
    if look_at_parts and report.status != "invalid":
        report.unsatisfiable = unsatisfiable_parts(source.text, source.options)
    return report


def _status_of(error: GrammarError) -> str:
    if isinstance(error, UnsupportedFeatureError | LimitExceededError):
        return "refused"
    if isinstance(error, JSONSchemaError) and error.message.startswith("no value satisfies"):
        return "unsatisfiable"
    return "invalid"


def _show(out: Console, report: _Report, *, all_keywords: bool) -> None:
    counts = Counter(finding.outcome.value for finding in report.findings)
    counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    out.print(
        f"{_MARKS[report.status]}  [bold]{escape(report.name)}[/]  [dim]{counted or 'no keywords'}, "
        f"{report.milliseconds:.1f} ms[/]"
    )
    if report.outputs is not None:
        out.print(f"  [dim]{report.outputs}[/]")
    if report.error is not None:
        out.print(f"  [red]{escape(_where(report.error))}[/]{escape(report.error['message'])}")
        if "help" in report.error:
            out.print(f"  [dim]help: {escape(report.error['help'])}[/]")
    for part in report.unsatisfiable:
        out.print(f"  [red]no value satisfies[/] {escape(part['pointer'])}: {escape(part['message'])}")
    _show_findings(out, report.findings, all_keywords=all_keywords)


def _where(error: dict[str, Any]) -> str:
    if "pointer" in error:
        return f"at {error['pointer'] or '(the root)'}: "
    return f"in line {error['line']}, column {error['column']}: " if "line" in error else ""


def _show_findings(out: Console, findings: list[Finding], *, all_keywords: bool) -> None:
    dull = {Outcome.EXACT, Outcome.ANNOTATION}
    shown = [one for one in findings if all_keywords or one.outcome not in dull or one.note]
    if not shown:
        return
    table = Table(box=None, padding=(0, 2), show_header=False)
    for finding in shown:
        mark = _MARKS.get(finding.outcome.value, f"[dim]{finding.outcome.value}[/]")
        table.add_row(mark, escape(f"{finding.pointer}/{finding.keyword}"), escape(finding.note))
    out.print(table)


def _show_totals(out: Console, reports: list[_Report]) -> None:
    counts = Counter(report.status for report in reports)
    listed = ", ".join(f"{counts[status]} {mark}" for status, mark in _MARKS.items() if counts[status])
    out.print(f"\n{len(reports)} schemas: {listed}")
