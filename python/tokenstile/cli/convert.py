"""``tokenstile convert``: any grammar as EBNF, and EBNF as a drawing."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tokenstile.cli.ebnf_tree import parse_rules
from tokenstile.cli.outcome import JsonFlag, escape, notes, print_json, tells_errors
from tokenstile.cli.sources import (
    AnnotateFormats,
    AnyOrder,
    Compact,
    GrammarArgument,
    KindOption,
    Lenient,
    NotStrict,
    RegistryOption,
    SchemaOptions,
    SpellingOption,
    read_source,
)
from tokenstile.exceptions import InvalidArgumentError

__all__ = ["convert"]


class Form(StrEnum):
    """What a grammar is converted to."""

    EBNF = "ebnf"
    SVG = "svg"


@tells_errors
def convert(
    grammar: GrammarArgument,
    to: Annotated[Form | None, typer.Option("--to", help="By default by the output's name, or EBNF.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write.")] = None,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="Draw only this rule; may be repeated.")
    ] = None,
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
    """Write a JSON Schema, regex, Lark grammar or structural tag as EBNF, or any of them as a railroad diagram."""
    options = SchemaOptions(any_order, compact, annotate_formats, lenient, not_strict, spelling, registry)
    source = read_source(grammar, kind, options)
    form = to or (Form.SVG if output is not None and output.suffix == ".svg" else Form.EBNF)
    text = str(source.grammar())
    result = text if form is Form.EBNF else _drawing(text, rule)
    if output is not None:
        output.write_text(result, encoding="utf-8")
    if as_json:
        answer = {"kind": source.kind.value, "to": form.value}
        print_json(answer | ({"output": str(output)} if output else {"text": result}))
    elif output is not None:
        notes().print(f"wrote {escape(str(output))}")
    else:
        typer.echo(result, nl=not result.endswith("\n"))


def _drawing(text: str, wanted: list[str] | None) -> str:
    from tokenstile.cli.railroad import draw  # noqa: PLC0415 - it needs a package of its own

    rules = parse_rules(text)
    missing = set(wanted or []) - {rule.name for rule in rules}
    if missing:
        raise InvalidArgumentError(f"there is no rule {', '.join(sorted(missing))}")
    return draw([rule for rule in rules if not wanted or rule.name in wanted])
