"""``tokenstile cache``: the vocabularies on disk."""

from typing import Annotated, Any

import typer
from rich.table import Table

from tokenstile.cli.outcome import JsonFlag, console, escape, notes, print_json, tells_errors
from tokenstile.cli.vocabularies import Reader, find_reader
from tokenstile.disk_cache import CACHE_VARIABLE, DiskCache, Entry
from tokenstile.exceptions import InvalidArgumentError

__all__ = ["cache"]

cache = typer.Typer(
    no_args_is_help=True,
    help="""List, warm or clear the vocabularies that are kept on disk.

    Those of GGUF files and of encodings of tiktoken are kept when a command or the server first reads them, because
    another library has to do it. Other sources are read as fast as the cache is, and not kept.
    """,
)


@cache.command("list")
@tells_errors
def list_entries(as_json: JsonFlag = False) -> None:
    """Show what is kept, its size, and when it was last used."""
    kept = DiskCache()
    entries = kept.entries()
    if as_json:
        print_json({"folder": _folder(kept), "entries": [_fields(entry) for entry in entries]})
        return
    table = Table(box=None, padding=(0, 2), show_header=bool(entries))
    for heading in ("vocabulary", "tokens", "size", "last used"):
        table.add_column(heading, justify="left" if heading == "vocabulary" else "right")
    for entry in entries:
        table.add_row(
            escape(entry.name), f"{entry.num_tokens:,}", _size(entry.num_bytes), f"{_age(entry.age)} ago"
        )
    if entries:
        console().print(table)
    total = _size(sum(entry.num_bytes for entry in entries))
    console().print(f"{len(entries)} kept, {total}, in {escape(_folder(kept) or 'no folder')}")


@cache.command("warm")
@tells_errors
def warm(
    tokenizers: Annotated[
        list[str] | None,
        typer.Argument(
            help="GGUF files, or encodings of tiktoken; the embedded model's where none is named."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read vocabularies, and keep them for later starts."""
    kept = DiskCache()
    if kept.folder is None:
        raise InvalidArgumentError(f"there is no cache: {CACHE_VARIABLE} is empty")
    readers = [find_reader(name) for name in tokenizers] if tokenizers else [find_reader(None)]
    answers = [_warm(kept, reader) for reader in readers]
    if as_json:
        print_json({"folder": _folder(kept), "vocabularies": answers})
        return
    for answer in answers:
        console().print(f"{answer['outcome']}  {escape(answer['name'])}  {answer['num_tokens']:,} tokens")


def _warm(kept: DiskCache, reader: Reader) -> dict[str, Any]:
    found = None if reader.key is None else kept.load(reader.key)
    if found is not None:
        return {"name": reader.name, "outcome": "was kept", "num_tokens": found.vocab_size}
    info = reader.read()
    if reader.key is None:
        outcome = "read directly"
        notes().print(
            f"[dim]{escape(reader.name)} is read as fast as it would be from the cache: nothing is kept[/]"
        )
    elif kept.store(reader.key, reader.name, info):
        outcome = "kept"
    else:
        raise OSError(f"nothing could be written to {kept.folder}")
    return {"name": reader.name, "outcome": outcome, "num_tokens": info.vocab_size}


@cache.command("clear")
@tells_errors
def clear(as_json: JsonFlag = False) -> None:
    """Remove everything that is kept."""
    kept = DiskCache()
    size = sum(entry.num_bytes for entry in kept.entries())
    count = kept.clear()
    if as_json:
        print_json({"folder": _folder(kept), "removed": count, "bytes": size})
    else:
        console().print(f"removed {count}, {_size(size)}, from {escape(_folder(kept) or 'no folder')}")


def _folder(kept: DiskCache) -> str | None:
    return None if kept.folder is None else str(kept.folder)


def _fields(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "num_tokens": entry.num_tokens,
        "bytes": entry.num_bytes,
        "age_seconds": round(entry.age, 1),
        "path": str(entry.path),
    }


def _size(count: int) -> str:
    return f"{count / 1024:,.0f} KiB" if count < 1 << 20 else f"{count / (1 << 20):,.1f} MiB"


def _age(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
