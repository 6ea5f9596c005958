"""Many prompts from a file, to a file that can be gone on with.

A line of the input is a prompt as a JSON string, or an object with ``prompt`` and, if wanted, ``id``. A line of the
output has its number in ``index``, the ``prompt``, and the text or the error; a line of the input that is no prompt has
an error in its place. Lines are written as they are done, in order. When the command is run again, lines that are there
are not done again; those that failed, or that broke off when the process was ended, are. An output that belongs to
another input, or that was written under another structure, is refused, and so is a file that is no output of this
command.
"""

import hashlib
import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tokenstile.cli.job import Job, completion_fields
from tokenstile.cli.outcome import ExitCode, error_fields, notes, print_json
from tokenstile.engine import Engine, FinishReason, GenerationRequest
from tokenstile.engine.models.loading import LoadedModel
from tokenstile.exceptions import InvalidArgumentError, TokenstileError

__all__ = ["run_batch"]

_AHEAD: Final = 4
"""How many prompts for each slot are in the engine's hands."""


def run_batch(source: Path, target: Path, loaded: LoadedModel, job: Job, *, as_json: bool) -> ExitCode:
    """Write a text for each line that has none yet."""
    if target.exists() and target.samefile(source):
        raise InvalidArgumentError(f"{target} has the prompts: give another file for the texts")
    lines = _read_lines(source)
    mark = _mark(job)
    done = _read_done(target, lines, mark)
    _rewrite(target, done)
    todo = [at for at in range(len(lines)) if at not in done]
    written: list[dict[str, Any]] = []
    engine = Engine(loaded.model, complete_in_time=job.complete_in_time)
    with engine, target.open("a", encoding="utf-8") as file, _progress() as progress:
        task = progress.add_task("texts", total=len(lines), completed=len(done))
        for answer in _answers(engine, loaded, job, lines, todo):
            answer["job"] = mark
            file.write(json.dumps(answer, ensure_ascii=False) + "\n")
            file.flush()
            written.append(answer)
            progress.advance(task)
    failed = sum("error" in answer for answer in written)
    cut = sum(
        answer.get("finish_reason") == FinishReason.LENGTH.value for answer in [*done.values(), *written]
    )
    if as_json:
        print_json(
            {"total": len(lines), "resumed": len(done), "written": len(written), "failed": failed, "cut": cut}
        )
    else:
        notes().print(
            f"{len(lines)} texts in {target}: {len(written)} new, {len(done)} from before, "
            f"{failed} failed, {cut} cut off"
        )
    return ExitCode.NO if failed or cut else ExitCode.YES


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=notes())


def _read_lines(source: Path) -> list[dict[str, Any]]:
    lines = []
    for number, line in enumerate(source.read_text(encoding="utf-8").split("\n"), 1):
        if line.strip():
            lines.append(_read_line(line, number))
    if not lines:
        raise InvalidArgumentError(f"there is no prompt in {source}")
    return lines


def _read_line(line: str, number: int) -> dict[str, Any]:
    """Read a prompt; what is none has no prompt, and an error in its place."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _no_prompt(f"line {number} is not JSON: {error}")
    entry = {"prompt": read} if isinstance(read, str) else read
    if not isinstance(entry, dict) or not isinstance(entry.get("prompt"), str):
        return _no_prompt(f'line {number} is neither a JSON string nor an object with a text as its "prompt"')
    return {name: entry[name] for name in ("prompt", "id") if name in entry}


def _no_prompt(message: str) -> dict[str, Any]:
    return {"prompt": None, "error": InvalidArgumentError(message)}


def _mark(job: Job) -> str:
    """Return what tells the options of a job from those of another."""
    return hashlib.sha256(repr(job).encode()).hexdigest()[:16]


def _read_done(target: Path, lines: list[dict[str, Any]], mark: str) -> dict[int, dict[str, Any]]:
    """Read the lines that need not be done again."""
    done = {}
    written = target.read_text(encoding="utf-8").split("\n") if target.exists() else [""]
    # What stands behind the last line break is a line that broke off.
    for number, line in enumerate(written[:-1], 1):
        try:
            answer = json.loads(line)
            index, prompt, job = answer["index"], answer["prompt"], answer["job"]
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidArgumentError(
                f"{target}, line {number}, is not what this command writes: give another file, or remove it"
            ) from error
        if job != mark:
            raise InvalidArgumentError(
                f"{target} was written with other options, line {number}: give another file, or remove it"
            )
        if not isinstance(index, int) or not 0 <= index < len(lines) or lines[index]["prompt"] != prompt:
            raise InvalidArgumentError(
                f"{target} belongs to another batch: its line with index {index} does not fit"
            )
        if "error" not in answer:
            done[index] = answer
    return done


def _rewrite(target: Path, done: dict[int, dict[str, Any]]) -> None:
    """Leave nothing but what is done, in one stroke."""
    part = target.with_name(target.name + ".part")
    kept = "".join(json.dumps(done[at], ensure_ascii=False) + "\n" for at in sorted(done))
    part.write_text(kept, encoding="utf-8")
    part.replace(target)


def _answers(
    engine: Engine, loaded: LoadedModel, job: Job, lines: list[dict[str, Any]], todo: list[int]
) -> Iterator[dict[str, Any]]:
    """Keep the engine busy, and give the answers in order."""
    waiting: deque[tuple[int, GenerationRequest | Exception]] = deque()
    left = deque(todo)
    while left or waiting:
        while left and len(waiting) < _AHEAD * loaded.model.num_slots:
            at = left.popleft()
            waiting.append((at, lines[at].get("error") or _submit(engine, loaded, job, lines[at]["prompt"])))
        at, request = waiting.popleft()
        yield _answer(at, lines[at], request, job)


def _submit(engine: Engine, loaded: LoadedModel, job: Job, prompt: str) -> GenerationRequest | Exception:
    try:
        return engine.submit(job.prompt(loaded, prompt), job.params, structure=job.structure)
    except TokenstileError as error:
        return error


def _answer(
    index: int, line: dict[str, Any], request: GenerationRequest | Exception, job: Job
) -> dict[str, Any]:
    answer: dict[str, Any] = {"index": index, "prompt": line["prompt"]}
    if "id" in line:
        answer["id"] = line["id"]
    try:
        if isinstance(request, Exception):
            raise request
        return answer | completion_fields(request.result(), job)
    except TokenstileError as error:
        return answer | {"error": error_fields(error)}
