"""Railroad diagrams of grammars, as one SVG with a drawing for each rule.

A macro is a box with its text, but for the two that grammars of JSON Schemas are made of: a list of members is drawn
member by member, and the text of a JSON string by what it may hold.
"""

import io
from typing import Any, Final

from tokenstile.cli.ebnf_tree import (
    Alternatives,
    Argument,
    Call,
    Complement,
    Conjunction,
    Leaf,
    Name,
    Node,
    Repeat,
    Rule,
    Sequence,
)
from tokenstile.exceptions import InvalidArgumentError

try:
    import railroad
except ImportError as error:
    raise ImportError("diagrams need the package railroad-diagrams: pip install 'tokenstile[cli]'") from error

__all__ = ["draw"]

_LONGEST_LABEL: Final = 60
_MOST_RULES: Final = 1_000
_MOST_ALTERNATIVES: Final = 60
_GAP: Final = 12


def draw(rules: list[Rule]) -> str:
    """Give the SVG of these rules, one below the other."""
    if len(rules) > _MOST_RULES:
        raise InvalidArgumentError(
            f"the grammar has {len(rules)} rules, and at most {_MOST_RULES} are drawn: choose some with --rule"
        )
    try:
        return _stack([_diagram(rule) for rule in rules])
    except RecursionError:
        raise InvalidArgumentError("the grammar is nested too deep to be drawn") from None


def _diagram(rule: Rule) -> Any:  # noqa: ANN401 - the library has no types
    title = f"{rule.name}{_cut(rule.options)}"
    return railroad.Diagram(railroad.Start("simple", title), _item(rule.body), railroad.End("simple"))


def _stack(diagrams: list[Any]) -> str:
    """Put drawings one below the other."""
    body = io.StringIO()
    top, width = float(_GAP), 0.0
    for diagram in diagrams:
        diagram.format(20)
        width = max(width, float(diagram.attrs["width"]))
        diagram.attrs["y"] = str(top)
        top += float(diagram.attrs["height"]) + _GAP
        diagram.writeSvg(body.write)
        body.write("\n")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{top:g}" '
        f'viewBox="0 0 {width:g} {top:g}">\n'
        f"<style>{railroad.DEFAULT_STYLE}</style>\n"
        f'<rect width="100%" height="100%" fill="hsl(30,20%,95%)"/>\n{body.getvalue()}</svg>\n'
    )


def _item(node: Argument) -> Any:  # noqa: ANN401, PLR0911 - one case a line
    match node:
        case Leaf(text):
            return railroad.Terminal(_cut(text))
        case Name(name):
            return railroad.NonTerminal(_cut(name))
        case Sequence(items):
            return railroad.Sequence(*map(_item, items)) if items else railroad.Skip()
        case Alternatives(items):
            return _choice(items)
        case Conjunction(items):
            return railroad.Group(_choice(items), "all of these at once")
        case Complement(item):
            return railroad.Group(_item(item), "anything but")
        case Repeat():
            return _repeat(node)
        case Call():
            return _call(node)
        case _:
            return railroad.NonTerminal(_cut(str(node)))


def _choice(items: tuple[Node, ...]) -> Any:  # noqa: ANN401 - the library has no types
    shown = [_item(item) for item in items[:_MOST_ALTERNATIVES]]
    if len(items) > len(shown):
        shown.append(railroad.Comment(f"and {len(items) - len(shown)} more"))
    return railroad.Choice(0, *shown)


def _repeat(node: Repeat) -> Any:  # noqa: ANN401 - the library has no types
    item = _item(node.item)
    match node.low, node.high:
        case 0, 1:
            return railroad.Optional(item)
        case 0, None:
            return railroad.ZeroOrMore(item)
        case 1, None:
            return railroad.OneOrMore(item)
        case low, high:
            often = f"{low} or more" if high is None else f"{low}" if low == high else f"{low} to {high}"
            return railroad.OneOrMore(item, railroad.Comment(f"{often} times"))


def _call(node: Call) -> Any:  # noqa: ANN401 - the library has no types
    if node.name == "Members" and node.arguments:
        return railroad.Group(_members(node), _members_label(node))
    if node.name == "JsonText":
        return railroad.Group(_item(node.arguments[0]), "as JSON text")
    return railroad.NonTerminal(_cut(node.source))


def _members(node: Call) -> Any:  # noqa: ANN401 - the library has no types
    entries = []
    for entry in node.arguments:
        parts = (
            [part for part in entry if part not in (Name("true"), Name("false"))]
            if isinstance(entry, tuple)
            else []
        )
        drawn = railroad.Sequence(*map(_item, parts)) if parts else _item(entry)
        is_required = isinstance(entry, tuple) and Name("true") in entry
        entries.append(drawn if is_required else railroad.Optional(drawn))
    return railroad.Stack(*entries) if len(entries) > 1 else entries[0]


def _members_label(node: Call) -> str:
    order = node.options.get("order")
    in_order = "in any order" if order == Leaf('"any"') else "in this order"
    more = ", then others" if node.options.get("others") else ""
    return f"members {in_order}, separated{more}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else f"{text[:_LONGEST_LABEL]}…"
