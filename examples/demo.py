"""A real model writes an invoice as JSON that fits a schema, and beside it the same model without the schema.

    make demo
    python examples/demo.py "Invoice FR-0007 to Ben Hill: one lamp." --model some.gguf

What the grammar forced is coloured. Below are the allowed tokens and the time of the mask for each token.
"""

from __future__ import annotations

import argparse
import time
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tokenstile import Grammar
from tokenstile.cli.refusal import find_refusal
from tokenstile.engine import SamplingParams
from tokenstile.engine.models.loading import load_model
from tokenstile.engine.tracing import TracedToken, trace
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output import StructuredOutputsParams

if TYPE_CHECKING:
    from collections.abc import Iterator

PROMPT = (
    "Extract the invoice as JSON with number, date, customer, items, total, currency. "
    "Invoice number: DE-0042. Date: 2026-03-01. Customer: Ann Miller. "
    "Items: 2 chairs (190.00), 1 table (120.50). Total: 310.50. Currency: EUR."
)
SHORT_TEXT = {"type": "string", "minLength": 1, "maxLength": 24}
AMOUNT = {"type": "number", "minimum": 0, "maximum": 10000}


def record(**properties: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of an object that has just these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA = record(
    number={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
    date={"type": "string", "format": "date"},
    customer=SHORT_TEXT,
    items={"type": "array", "items": record(name=SHORT_TEXT, price=AMOUNT), "minItems": 1, "maxItems": 2},
    total=AMOUNT,
    currency={"enum": ["EUR", "USD", "GBP"]},
)
FORCED = "bold cyan"


def spell(tokens: list[TracedToken]) -> Text:
    """Give a text with its forced parts coloured."""
    text = Text(overflow="fold")
    for token in tokens:
        text.append(token.text, FORCED if token.is_forced else "")
    return text


def verdict(tokens: list[TracedToken]) -> Text:
    """Say whether a text fits the schema, and if not, where it leaves it."""
    if not tokens or tokens[-1].finish_reason is None:
        return Text("writing ...", "dim")
    text = "".join(token.text for token in tokens)
    refusal = find_refusal(Grammar.from_json_schema(SCHEMA, any_order=True), text.encode())
    if refusal is None:
        return Text("fits the schema", "green")
    if refusal.is_early_end:
        return Text(f"does not fit the schema: cut off after {len(tokens)} tokens", "red")
    return Text(f"does not fit the schema from byte {refusal.offset} on: {refusal.found!r}", "red")


def side_by_side(left: list[TracedToken], right: list[TracedToken], width: int) -> Columns:
    """Give both texts, one beside the other where there is room."""
    panels = [
        Panel(
            Group(spell(tokens), Text(), verdict(tokens)),
            title=title,
            subtitle=subtitle,
            width=max(width // 2 - 1, 38),
        )
        for title, subtitle, tokens in (
            ("with the schema", f"[{FORCED}]coloured[/]: what it forced", left),
            ("without", None, right),
        )
    ]
    return Columns(panels)


def write_both(console: Console, both: Iterator[tuple[TracedToken | None, ...]]) -> list[TracedToken]:
    """Show both texts as they grow, and give the tokens of the first."""
    left: list[TracedToken] = []
    right: list[TracedToken] = []
    with Live(console=console, auto_refresh=False, transient=not console.is_terminal) as live:
        for one, other in both:
            left += [one] if one else []
            right += [other] if other else []
            if console.is_terminal:
                live.update(side_by_side(left, right, console.width), refresh=True)
    if not console.is_terminal:
        console.print(side_by_side(left, right, console.width))
    return left


def show_masks(console: Console, tokens: list[TracedToken]) -> None:
    """List the mask of each token."""
    table = Table("token", "allowed", "mask", "model", box=None, padding=(0, 2))
    for column in table.columns[1:]:
        column.justify = "right"
    for token in tokens:
        table.add_row(
            Text(repr(token.text) if token.text else "(the end)", FORCED if token.is_forced else ""),
            f"{token.num_allowed:,}",
            f"{token.mask_us:.0f} µs",
            f"{token.model_ms:.0f} ms",
        )
    console.print(table)
    masks = sorted(token.mask_us for token in tokens)
    forced = sum(token.is_forced for token in tokens)
    model_ms = sum(token.model_ms for token in tokens) / len(tokens)
    console.print(
        f"\n{len(tokens)} tokens, {forced} of them forced. A mask took {masks[len(masks) // 2]:.0f} µs (median), "
        f"{masks[-1]:.0f} µs at most; the model took {model_ms:.0f} ms a token."
    )


def main() -> None:
    """Write, and show."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("prompt", nargs="?", default=PROMPT)
    parser.add_argument(
        "--model", help="a GGUF file or a folder of HuggingFace's (default: the embedded model)"
    )
    parser.add_argument("--max-tokens", type=int, default=120)
    arguments = parser.parse_args()

    console = Console(highlight=False)
    started = time.perf_counter()
    with console.status("loading the model ..."):
        try:
            loaded = load_model(arguments.model, num_slots=2, max_length=1024)
        except (InvalidArgumentError, ImportError) as error:
            raise SystemExit(str(error)) from error
    console.print(f"{loaded.name}, loaded in {time.perf_counter() - started:.1f} s")
    console.print(f"prompt: {arguments.prompt}", style="bold")
    prompt = loaded.prompt(arguments.prompt)
    params = SamplingParams(max_tokens=arguments.max_tokens)
    # Without white space between the parts, which a model could choose, more of the text is forced.
    structure = StructuredOutputsParams(json=SCHEMA, disable_any_whitespace=True)
    with_schema = trace(loaded.model, prompt, params, structure, slot=0)
    without = trace(loaded.model, prompt, params, slot=1)
    show_masks(console, write_both(console, zip_longest(with_schema, without)))


if __name__ == "__main__":
    main()
