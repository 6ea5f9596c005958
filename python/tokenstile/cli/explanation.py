"""The stages of ``tokenstile explain``, for people."""

from typing import Any

from rich.table import Table

from tokenstile.cli.outcome import console, escape

__all__ = ["show_explanation"]


def show_explanation(stages: dict[str, Any], limit: int) -> None:
    """Print all stages, each with at most ``limit`` lines."""
    _show_values(stages)
    _title("Grammar", f"{stages['source']['kind']}, {stages['source']['bytes']:,} bytes")
    lines = stages["grammar"].splitlines()
    for line in lines[:limit]:
        console().print(f"  {escape(line)}")
    _more(len(lines) - limit, "rules", "tokenstile convert shows them")
    _show_terminals(stages, limit)
    if "refusal" in stages["prefix"]:
        _show_refusal(stages["prefix"])
        return
    _show_configuration(stages)
    _show_mask(stages["mask"])
    _show_decided(stages["mask"]["decided"], limit)
    for answer in stages["tokens"]:
        mark = "[green]fits[/]" if answer["fits"] else "[red]does not fit[/]"
        why = f": {answer['why']}" if answer["why"] else ""
        console().print(f"  token {answer['id']} {escape(answer['text'])} {mark}{escape(why)}")


def _title(text: str, aside: str = "") -> None:
    console().print(f"\n[bold cyan]{text}[/]  [dim]{escape(aside)}[/]")


def _more(count: int, what: str, where: str = "--limit shows more") -> None:
    if count > 0:
        console().print(f"  [dim]... and {count:,} {what} more; {where}[/]")


def _show_values(stages: dict[str, Any]) -> None:
    values = stages.get("values")
    if values is not None:
        keywords = ", ".join(f"{count} {outcome}" for outcome, count in values["keywords"].items())
        _title("Values", f"keywords: {keywords or 'none'}")
        console().print(f"  of type {', '.join(values['types']) or '(none)'}")


def _show_terminals(stages: dict[str, Any], limit: int) -> None:
    machine, terminals = stages["machine"], stages["terminals"]
    _title(
        "Terminals",
        f"{len(terminals)} of them; compiled to {machine['rules']} rules with {machine['nodes']} nodes "
        f"in {machine['compile_us']:.0f} µs",
    )
    shown = [f"{entry['terminal']} [dim]({entry['uses']})[/]" for entry in _escaped(terminals[:limit])]
    console().print(f"  {'  '.join(shown) or '(none)'}")
    _more(len(terminals) - limit, "terminals")


def _escaped(terminals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**entry, "terminal": escape(entry["terminal"])} for entry in terminals]


def _show_refusal(prefix: dict[str, Any]) -> None:
    refusal = prefix["refusal"]
    _title("After the prefix", repr(prefix["text"]))
    console().print(
        f"  [red]the prefix does not fit[/]: at byte {refusal['offset']} {escape(repr(refusal['found']))} came, "
        f"and allowed there is {escape(refusal['allowed'])}"
    )


def _show_configuration(stages: dict[str, Any]) -> None:
    found = stages["configuration"]
    _title("After the prefix", repr(stages["prefix"]["text"]))
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_row("complete", "yes: the text may end here" if found["complete"] else "no")
    table.add_row("next bytes", escape(found["next_bytes"]))
    if found["forced"]:
        table.add_row("forced", escape(repr(found["forced"])))
    table.add_row(
        "made so far",
        f"{found['sets_of_stacks']} sets of stacks, {found['terminal_states']} states of terminals",
    )
    console().print(table)


def _show_mask(mask: dict[str, Any]) -> None:
    _title(
        "Mask",
        f"{mask['tokenizer']}: {mask['first_us']:.1f} µs the first time, {mask['again_us']:.1f} µs from then on",
    )
    share = mask["allowed"] / max(mask["size"], 1)
    stop = ", the end among them" if mask["may_stop"] else ""
    console().print(f"  {mask['allowed']:,} of {mask['size']:,} tokens ({share:.1%}){stop}")
    shown = "  ".join(f"[dim]{entry['id']}[/] {escape(entry['text'])}" for entry in mask["shortest"])
    console().print(f"  {shown}{'  ...' if mask['allowed'] > len(mask['shortest']) else ''}")


def _show_decided(decided: dict[str, Any], limit: int) -> None:
    """Show how many tokens are decided without the context: by the state of a terminal, whatever is on the stack."""
    console().print(
        f"  decided without the context: {decided['share']:.2%} ({decided['taken']:,} fit, "
        f"{decided['refused']:,} do not); with it: {decided['open']:,}"
    )
    terminals = decided["terminals"]
    for terminal in terminals[:limit]:
        ends = " or its end" if terminal["may_end"] else ""
        console().print(
            f"    terminal that takes {escape(terminal['next_bytes'])}{ends}: {terminal['share']:.2%} without "
            f"({terminal['taken']:,} fit), {terminal['open']:,} with"
        )
    _more(len(terminals) - limit, "terminals")
