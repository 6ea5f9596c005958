"""``tokenstile tokenizer``: what a vocabulary is like, and what is odd about it."""

from collections import Counter, defaultdict
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from tokenstile.cli.outcome import JsonFlag, console, escape, print_json, tells_errors
from tokenstile.cli.vocabularies import load_vocabulary, spell_token
from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["tokenizer"]

_SHOWN: Final = 8
_DELETE: Final = 0x7F
_KINDS: Final = {
    "RAW": "tokens are bytes as they are",
    "BYTE_FALLBACK": "a byte that is no text is written like <0x0A>",
    "BYTE_LEVEL": "each byte is written as a letter",
}


@tells_errors
def tokenizer(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A GGUF file, tokenizer.json, folder, .tiktoken file, encoding of tiktoken, or bytes."
        ),
    ] = None,
    find: Annotated[
        list[str] | None,
        typer.Option("--find", "-f", help="List the tokens with this in them; may be repeated."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show a vocabulary: its kind and size, the tokens that end a text, those without a text, and odd ones."""
    vocabulary = load_vocabulary(name)
    info, names = vocabulary.info, vocabulary.read_names()
    answer = {
        "tokenizer": vocabulary.name,
        "kind": info.vocab_type.name,
        "size": info.vocab_size,
        "fingerprint": info.fingerprint,
        "adds_prefix_space": info.add_prefix_space,
        "longest_token_bytes": info.max_token_bytes,
        "stop_tokens": _entries(info, info.stop_token_ids, names),
        "without_text": len(info.special_token_ids),
        "control_tokens": _entries(info, sorted(names), names),
        "odd": {what: _summary(info, tokens) for what, tokens in _odd_tokens(info).items()},
        "missing_bytes": _missing_bytes(info),
    }
    if find:
        answer["found"] = {text: _entries(info, _with_text(info, names, text), names) for text in find}
    if as_json:
        print_json(answer)
    else:
        _show(answer)


def _entries(info: TokenizerInfo, tokens: list[int], names: dict[int, str]) -> list[dict[str, Any]]:
    return [{"id": token, "text": names.get(token) or spell_token(info, token)} for token in tokens]


def _summary(info: TokenizerInfo, tokens: list[int]) -> dict[str, Any]:
    return {"count": len(tokens), "examples": _entries(info, tokens[:_SHOWN], {})}


def _with_text(info: TokenizerInfo, names: dict[int, str], text: str) -> list[int]:
    wanted = text.encode()
    return [
        token
        for token, data in enumerate(info.decoded_vocab)
        if wanted in data or text in names.get(token, "")
    ]


def _odd_tokens(info: TokenizerInfo) -> dict[str, list[int]]:
    """Sort out tokens that surprise people who write grammars."""
    vocab = info.decoded_vocab
    seen = Counter(data for data in vocab if data)
    odd: dict[str, list[int]] = defaultdict(list)
    for token, data in enumerate(vocab):
        if not data:
            continue
        text = _text(data)
        if text is None:
            odd["parts of characters"].append(token)
        elif text.isspace() and len(text) > 1:
            odd["white space of several characters"].append(token)
        elif any((ord(char) < ord(" ") and char not in "\t\n\r") or ord(char) == _DELETE for char in text):
            odd["control characters"].append(token)
        if seen[data] > 1:
            odd["the same bytes as another token"].append(token)
        if data.startswith(b"<") and data.endswith(b">") and len(data) > 2:  # noqa: PLR2004 - not just brackets
            odd["marks in angle brackets"].append(token)
    longest = sorted(range(len(vocab)), key=lambda token: -len(vocab[token]))
    odd["the longest"] = [token for token in longest[:_SHOWN] if vocab[token]]
    return odd


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _missing_bytes(info: TokenizerInfo) -> list[str]:
    """Give the bytes that no token can write alone: a grammar that needs one of them may get stuck."""
    single = {data for data in info.decoded_vocab if len(data) == 1}
    # These bytes are in no UTF-8 text.
    possible = set(range(256)) - {0xC0, 0xC1} - set(range(0xF5, 0x100))
    return [f"0x{byte:02X}" for byte in sorted(possible) if bytes([byte]) not in single]


def _show(answer: dict[str, Any]) -> None:
    out = console()
    stops = ", ".join(f"{entry['id']} {entry['text']}" for entry in answer["stop_tokens"])
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column()
    table.add_column(overflow="fold")
    table.add_row("tokenizer", escape(answer["tokenizer"]))
    table.add_row("kind", f"{answer['kind']}: {_KINDS[answer['kind']]}")
    table.add_row("size", f"{answer['size']:,} tokens, {answer['without_text']:,} without a text")
    table.add_row("ends a text", escape(stops) or "[red]nothing: the model can never stop[/]")
    table.add_row("longest token", f"{answer['longest_token_bytes']} bytes")
    table.add_row("prefix space", "added by the tokenizer" if answer["adds_prefix_space"] else "no")
    missing = answer["missing_bytes"]
    table.add_row(
        "single bytes", f"[yellow]without {len(missing)}[/]: {_some(missing)}" if missing else "all"
    )
    table.add_row("fingerprint", answer["fingerprint"])
    out.print(table)
    if answer["control_tokens"]:
        out.print("\n[bold]marks without a text, by name[/]")
        _show_entries(answer["control_tokens"][: 4 * _SHOWN], len(answer["control_tokens"]))
    for what, summary in answer["odd"].items():
        out.print(f"\n[bold]{what}[/] ({summary['count']:,})")
        _show_entries(summary["examples"], summary["count"])
    for text, entries in answer.get("found", {}).items():
        out.print(f"\n[bold]with {escape(repr(text))}[/] ({len(entries):,})")
        _show_entries(entries[: 4 * _SHOWN], len(entries))


def _some(values: list[str]) -> str:
    return ", ".join(values[:_SHOWN]) + (", ..." if len(values) > _SHOWN else "")


def _show_entries(entries: list[dict[str, Any]], count: int) -> None:
    shown = "  ".join(f"[dim]{entry['id']}[/] {escape(entry['text'])}" for entry in entries)
    console().print(f"  {shown}{'  ...' if count > len(entries) else ''}")
