"""``tokenstile validate``: does a grammar have these texts, and if not, where do they leave it."""

from typing import Annotated, Any

import typer
from rich.console import Console

from tokenstile.cli.outcome import ExitCode, JsonFlag, console, escape, finish, print_json, tells_errors
from tokenstile.cli.refusal import Refusal, find_refusal
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
    existing_file,
    read_bytes,
    read_source,
)
from tokenstile.exceptions import GrammarError, InvalidArgumentError

__all__ = ["validate"]


@tells_errors
def validate(
    grammar: GrammarArgument,
    instances: Annotated[
        list[str] | None, typer.Argument(help="Files with a text each, or - for the standard input.")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", "-t", help="A text itself, in place of a file; may be repeated."),
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Each line of a file is a text.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="White space around a text counts; otherwise it is taken off.")
    ] = False,
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
    """Tell whether a grammar has these texts; if not, at which byte they leave it, and what was allowed there.

    The exit code is 1 if any text does not fit.
    """
    options = SchemaOptions(any_order, compact, annotate_formats, lenient, not_strict, spelling, registry)
    source = read_source(grammar, kind, options)
    read = source.grammar()
    answers = []
    for name, instance in _texts(instances or [], text or [], lines=lines):
        refusal = find_refusal(read, instance if exact else _bare(instance, source.kind))
        hint = _hint(source, instance) if refusal is not None and not refusal.is_early_end else None
        answers.append(_answer(name, refusal, hint))
        if not as_json:
            _show(console(), name, refusal, hint)
    if as_json:
        print_json(answers)
    finish(ExitCode.YES if all(answer["accepted"] for answer in answers) else ExitCode.NO)


def _texts(files: list[str], texts: list[str], *, lines: bool) -> list[tuple[str, bytes]]:
    if not files and not texts:
        raise InvalidArgumentError("there is nothing to validate: name files, -, or texts with --text")
    found = []
    for file in files:
        if file != "-" and existing_file(file) is None:
            raise InvalidArgumentError(f"there is no file {file!r}; a text itself is given with --text")
        content = read_bytes(file)
        if lines:
            found += [
                (f"{file}:{at}", line) for at, line in enumerate(content.split(b"\n"), 1) if line.strip()
            ]
        else:
            found.append((file, content))
    # Bytes of an argument that are no UTF-8 are passed on as they are.
    return found + [
        (f"text {at}", text.encode("utf-8", "surrogateescape")) for at, text in enumerate(texts, 1)
    ]


def _bare(text: bytes, kind: Kind) -> bytes:
    """Take off what editors put around a text: the last line break, and white space around JSON."""
    return (
        text.strip(b" \t\r\n") if kind is Kind.JSON_SCHEMA else text.removesuffix(b"\n").removesuffix(b"\r")
    )


def _hint(source: Source, instance: bytes) -> str | None:
    """Say which option would let the text in, if one alone does."""
    if source.kind is not Kind.JSON_SCHEMA:
        return None
    text = _bare(instance, source.kind)
    for option, changed in (("--any-order", {"any_order": True}), ("--no-strict", {"not_strict": True})):
        options = SchemaOptions(**{**vars(source.options), **changed})
        if options != source.options and _fits(source, options, text):
            return f"it fits with {option}"
    return None


def _fits(source: Source, options: SchemaOptions, text: bytes) -> bool:
    try:
        return find_refusal(Source(source.kind, source.text, source.name, options).grammar(), text) is None
    except GrammarError:
        # With these options the schema is refused.
        return False


def _answer(name: str, refusal: Refusal | None, hint: str | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"instance": name, "accepted": refusal is None}
    if refusal is not None:
        answer |= {"refusal": refusal.fields(), "hint": hint}
    return answer


def _show(out: Console, name: str, refusal: Refusal | None, hint: str | None) -> None:
    if refusal is None:
        out.print(f"[green]accepted[/]  {escape(name)}")
        return
    place = f"byte {refusal.offset}, line {refusal.line}, column {refusal.column}"
    what = "the text ends too early" if refusal.is_early_end else f"{refusal.found!r} does not fit"
    out.print(f"[red]refused[/]   {escape(name)}: {escape(what)} at {place}")
    before = repr(refusal.before)[1:-1]
    found = "" if refusal.is_early_end else repr(refusal.found)[1:-1]
    out.print(f"    {escape(before)}[bold red]{escape(found) or '(the end)'}[/]")
    out.print(f"    {' ' * len(before)}^")
    out.print(f"    allowed there: {escape(refusal.allowed)}{', or the end' if refusal.may_end else ''}")
    if refusal.forced:
        out.print(f"    expected: {escape(repr(refusal.forced))}")
    if hint:
        out.print(f"    [dim]{hint}[/]")
