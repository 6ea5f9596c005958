"""``tokenstile generate``: texts of a model that fit a grammar.

One prompt, or a file of them; see `batch` for the latter.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from tokenstile.cli.batch import run_batch
from tokenstile.cli.job import Job, completion_fields
from tokenstile.cli.outcome import (
    ExitCode,
    JsonFlag,
    console,
    escape,
    finish,
    notes,
    print_json,
    tells_errors,
)
from tokenstile.cli.sources import Kind, SpellingName, read_source, read_text
from tokenstile.engine import Engine, FinishReason, SamplingParams
from tokenstile.engine.models.embedded import EMBEDDED_MODEL
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.engine.tracing import TracedToken, trace
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output import StructuredOutputsParams

__all__ = ["ModelOption", "generate"]

_STRUCTURE: Final = "Structure"
_SAMPLING: Final = "Sampling"
_BATCH: Final = "Many prompts"

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help=f"A GGUF file or a folder of HuggingFace's; by default {EMBEDDED_MODEL}."
    ),
]


@tells_errors
def generate(
    prompt: Annotated[str | None, typer.Argument(help="The prompt, or - for the standard input.")] = None,
    schema: Annotated[
        str | None, typer.Option(help="A JSON Schema: a file or the text.", rich_help_panel=_STRUCTURE)
    ] = None,
    regex: Annotated[
        str | None, typer.Option(help="A regular expression.", rich_help_panel=_STRUCTURE)
    ] = None,
    ebnf: Annotated[
        str | None, typer.Option(help="An EBNF grammar: a file or the text.", rich_help_panel=_STRUCTURE)
    ] = None,
    lark: Annotated[
        str | None, typer.Option(help="A Lark grammar: a file or the text.", rich_help_panel=_STRUCTURE)
    ] = None,
    choice: Annotated[
        list[str] | None, typer.Option(help="One of these texts; repeat it.", rich_help_panel=_STRUCTURE)
    ] = None,
    all_of: Annotated[
        str | None,
        typer.Option(
            help="Structures that the text must all have, as a JSON array: a file or the text.",
            rich_help_panel=_STRUCTURE,
        ),
    ] = None,
    any_of: Annotated[
        str | None,
        typer.Option(help="Structures of which it must have one, the same.", rich_help_panel=_STRUCTURE),
    ] = None,
    then: Annotated[
        str | None,
        typer.Option(help="Structures one after the other, the same.", rich_help_panel=_STRUCTURE),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(
            help="A function as OpenAI's API has it: a file or JSON; repeat it.", rich_help_panel=_STRUCTURE
        ),
    ] = None,
    tool_choice: Annotated[
        str, typer.Option(help="auto, required, none, or a function's name.", rich_help_panel=_STRUCTURE)
    ] = "required",
    tool_family: Annotated[
        str,
        typer.Option(help="How the model writes calls: the name of a family.", rich_help_panel=_STRUCTURE),
    ] = "qwen_3",
    max_calls: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            help="The most calls of tools; equal ones are given once.",
            rich_help_panel=_STRUCTURE,
        ),
    ] = 1,
    compact: Annotated[
        bool, typer.Option("--compact", help="JSON without white space.", rich_help_panel=_STRUCTURE)
    ] = False,
    spelling: Annotated[
        SpellingName | None,
        typer.Option(
            help="How values of JSON are written: as programs do, or in any way.", rich_help_panel=_STRUCTURE
        ),
    ] = None,
    model: ModelOption = None,
    system: Annotated[str | None, typer.Option(help="The system message.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="The prompt is for the model as it is, not a chat.")
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", "-s", help="Write tokens as they come, the forced ones coloured.")
    ] = False,
    n: Annotated[int, typer.Option("--n", "-n", min=1, max=64, help="How many texts.")] = 1,
    batch: Annotated[
        Path | None,
        typer.Option(
            help="A file with a prompt on each line, as JSON.", rich_help_panel=_BATCH, dir_okay=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where the texts go; what is there is kept.", rich_help_panel=_BATCH
        ),
    ] = None,
    slots: Annotated[
        int, typer.Option(min=1, max=256, help="Prompts at the same time.", rich_help_panel=_BATCH)
    ] = 4,
    max_tokens: Annotated[int, typer.Option(min=1, help="The most tokens.", rich_help_panel=_SAMPLING)] = 256,
    complete_in_time: Annotated[
        bool,
        typer.Option(
            help="Whether texts with a structure are complete within --max-tokens, or cut off there.",
            rich_help_panel=_SAMPLING,
        ),
    ] = True,
    temperature: Annotated[
        float, typer.Option(min=0, help="0 takes the likeliest token.", rich_help_panel=_SAMPLING)
    ] = 0.0,
    top_p: Annotated[float, typer.Option(min=0, max=1, rich_help_panel=_SAMPLING)] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, rich_help_panel=_SAMPLING)] = 0,
    seed: Annotated[int | None, typer.Option(rich_help_panel=_SAMPLING)] = None,
    stop: Annotated[
        list[str] | None,
        typer.Option(help="A text that ends the output; repeat it.", rich_help_panel=_SAMPLING),
    ] = None,
    context: Annotated[int, typer.Option(min=16, help="The most tokens of prompt and text.")] = 2048,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the model.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Let a model write texts that fit a JSON Schema, a regex, a grammar, one of some choices, or a tool call.

    A text with a structure is complete within --max-tokens, or it is an error that says how many are needed. The exit
    code is 1 if a text was cut off before its end.
    """
    params = SamplingParams(max_tokens, temperature, top_p, top_k, seed, tuple(stop or ()))
    tools = [entry for one in tool or [] for entry in _read_tools(one)]
    structure = _structure(
        schema=schema, regex=regex, ebnf=ebnf, lark=lark, choice=choice, compact=compact, spelling=spelling,
        tag=_tool_tag(tools, tool_family, tool_choice, max_calls), all_of=all_of, any_of=any_of, then=then,
    )  # fmt: skip
    job = Job(params, structure, system, tools, raw, complete_in_time, tool_family)
    _check_usage(prompt, batch, output, stream=stream, n=n)
    if batch is not None and output is not None:
        loaded = load_model(model, num_slots=slots, max_length=context, num_threads=threads)
        code = run_batch(batch, output, loaded, job, as_json=as_json)
    else:
        text = read_text("-") if prompt == "-" else prompt or ""
        loaded = load_model(model, num_slots=min(n, slots), max_length=context, num_threads=threads)
        write = _write_stream if stream else _write_texts
        code = write(loaded, job, text, n, as_json)
    finish(code)


def _check_usage(
    prompt: str | None, batch: Path | None, output: Path | None, *, stream: bool, n: int
) -> None:
    if (prompt is None) == (batch is None):
        raise InvalidArgumentError("give a prompt, or a file of prompts with --batch")
    if (batch is None) != (output is None):
        raise InvalidArgumentError("--batch and --output go together")
    if stream and (batch is not None or n > 1):
        raise InvalidArgumentError("--stream shows one text: it goes neither with --batch nor with --n")
    if batch is not None and n > 1:
        raise InvalidArgumentError("--n is for one prompt: repeat lines of the batch instead")


def _structure(**given: Any) -> StructuredOutputsParams | None:  # noqa: ANN401 - options by name
    """Make one structure of the options; more than one is an error."""
    compact, spelling = given.pop("compact"), given.pop("spelling")
    found: dict[str, Any] = {}
    for option, kind, field in (
        ("schema", Kind.JSON_SCHEMA, "json"),
        ("ebnf", Kind.EBNF, "grammar"),
        ("lark", Kind.LARK, "lark"),
    ):
        if given[option] is not None:
            found[field] = read_source(given[option], kind).text
    found |= {field: given[field] for field in ("regex", "choice") if given[field] is not None}
    for field in ("all_of", "any_of", "then"):
        if given[field] is not None:
            text = given[field]
            found[field] = text if text.lstrip().startswith("[") else read_text(text)
    if given["tag"] is not None:
        found["structural_tag"] = given["tag"]
    if len(found) > 1:
        raise InvalidArgumentError(f"a text has one structure; {' and '.join(sorted(found))} were given")
    if not found:
        return None
    return StructuredOutputsParams(
        **found, disable_any_whitespace=compact, spelling=None if spelling is None else spelling.value
    )


def _read_tools(argument: str) -> list[dict[str, Any]]:
    """Read a tool, or a list of them."""
    text = argument if argument.lstrip().startswith(("{", "[")) else read_text(argument)
    try:
        read = json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"the tool {argument[:40]!r} is not JSON: {error}") from error
    tools = read if isinstance(read, list) else [read]
    if not all(isinstance(tool, dict) for tool in tools):
        raise InvalidArgumentError(f"the tool {argument[:40]!r} is no JSON object")
    return [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools]


def _tool_tag(tools: list[dict[str, Any]], family: str, choice: str, max_calls: int) -> str | None:
    if not tools:
        return None
    import pydantic  # noqa: PLC0415 - only when used

    from tokenstile.tool_calling import get_model_structural_tag  # noqa: PLC0415 - it needs Pydantic
    from tokenstile.tool_calling.ending import end_with_calls  # noqa: PLC0415 - it does too

    wanted: Any = choice
    if choice not in {"auto", "required", "none"}:
        wanted = {"type": "function", "function": {"name": choice}}
    try:
        tag = get_model_structural_tag(
            family, [*tools], wanted, reasoning=False, parallel_tool_calls=max_calls > 1
        )
    except pydantic.ValidationError as error:
        # Of the kinds of tools that it may be, a function is meant.
        wrong = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in wrong["loc"] if part not in {"FunctionToolParam", "function"})
        raise InvalidArgumentError(f"a tool is wrong: {field or 'it'}: {wrong['msg']}") from error
    return end_with_calls(tag, max_calls).model_dump_json()


def _write_texts(loaded: LoadedModel, job: Job, text: str, n: int, as_json: bool) -> ExitCode:
    with Engine(loaded.model, complete_in_time=job.complete_in_time) as engine:
        prompt = job.prompt(loaded, text)
        requests = [
            engine.submit(prompt, _with_seed(job.params, at), structure=job.structure) for at in range(n)
        ]
        answers = [request.result() for request in requests]
    if as_json:
        print_json([completion_fields(answer, job) for answer in answers])
    else:
        for answer in answers:
            typer.echo(job.shown(answer.text))
    is_cut = any(answer.finish_reason is not FinishReason.STOP for answer in answers)
    return _code(is_cut, as_json)


def _with_seed(params: SamplingParams, at: int) -> SamplingParams:
    """Give the parameters of one of several texts: each has a seed of its own."""
    return params if params.seed is None else replace(params, seed=params.seed + at)


def _code(is_cut: bool, as_json: bool) -> ExitCode:
    if is_cut and not as_json:
        notes().print("[yellow]cut off: --max-tokens or --context was reached before the end[/]")
    return ExitCode.NO if is_cut else ExitCode.YES


def _write_stream(loaded: LoadedModel, job: Job, text: str, _: int, as_json: bool) -> ExitCode:
    prompt = job.prompt(loaded, text)
    tokens = trace(loaded.model, prompt, job.params, job.structure, complete_in_time=job.complete_in_time)
    shown = _as_json_lines(tokens) if as_json else _as_coloured_text(tokens)
    last = None
    for last in shown:  # noqa: B007 - the last one is looked at below
        pass
    return _code(last is not None and last.finish_reason is not FinishReason.STOP, as_json)


def _as_json_lines(tokens: Iterator[TracedToken]) -> Iterator[TracedToken]:
    for token in tokens:
        fields = {
            "id": token.token_id,
            "text": token.text,
            "allowed": token.num_allowed,
            "forced": token.is_forced,
            "mask_us": round(token.mask_us, 2),
            "model_ms": round(token.model_ms, 2),
            "finish_reason": token.finish_reason.value if token.finish_reason else None,
        }
        typer.echo(json.dumps(fields, ensure_ascii=False))
        yield token


def _as_coloured_text(tokens: Iterator[TracedToken]) -> Iterator[TracedToken]:
    out = console()
    written = []
    for token in tokens:
        out.print(Text(token.text, "bold cyan" if token.is_forced else ""), end="")
        sys.stdout.flush()
        written.append(token)
        yield token
    out.print()
    notes().print(f"[dim]{escape(_totals(written))}[/]")


def _totals(tokens: list[TracedToken]) -> str:
    masks = sorted(token.mask_us for token in tokens)
    forced = sum(token.is_forced for token in tokens)
    seconds = sum(token.model_ms for token in tokens) / 1e3
    said = f"{len(tokens)} tokens, {seconds:.1f} s in the model"
    if masks and masks[-1]:
        said += f"; {forced} forced; masks {masks[len(masks) // 2]:.0f} µs each, {masks[-1]:.0f} µs at most"
    return said
