"""What the benchmarks run: grammars, and texts of their languages.

The texts are made by small generators from a fixed seed, so every run and every engine sees the same ones.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

GRAMMARS = Path(__file__).parent / "grammars"
WORDS = [
    "order",
    "customer",
    "invoice",
    "total",
    "price",
    "name",
    "address",
    "city",
    "country",
    "status",
    "created",
    "updated",
    "count",
    "value",
    "item",
    "product",
    "quantity",
    "discount",
    "shipping",
    "payment",
    "account",
    "balance",
    "limit",
    "offset",
    "result",
    "error",
    "message",
    "level",
    "index",
    "width",
    "height",
    "depth",
    "color",
    "size",
    "weight",
    "length",
    "node",
    "parent",
    "child",
    "left",
    "right",
    "first",
    "last",
    "next",
    "previous",
    "buffer",
    "cache",
    "token",
    "vocab",
    "grammar",
    "matcher",
    "config",
    "state",
    "stack",
    "frame",
    "mask",
    "table",
    "row",
    "column",
    "key",
    "query",
    "user",
    "group",
]
PHRASES = (
    "The quick brown fox jumps over the lazy dog",
    "Größe und Gewicht der Lieferung",
    "东京都千代田区",
    "It's 5 o'clock somewhere — isn't it?",
    "line one\nline two\ttabbed",
    'she said "hello" and left',
    "naïve café, 50% off! 🎉",
    "",
)


@dataclass(frozen=True)
class Workload:
    """A grammar (none: the built-in JSON grammar) and texts of its language."""

    name: str
    grammar: str | None
    texts: tuple[str, ...]


def json_value(rng: random.Random, depth: int) -> object:
    kind = rng.randrange(7 if depth else 5)
    if kind == 0:
        return rng.choice(PHRASES)
    if kind == 1:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))
    if kind == 2:
        return rng.randint(-1000, 10**6)
    if kind == 3:
        return round(rng.uniform(-1, 1) * 10 ** rng.randint(-3, 6), 3)
    if kind == 4:
        return rng.choice([True, False, None])
    if kind == 5:
        return [json_value(rng, depth - 1) for _ in range(rng.randint(0, 5))]
    return json_object(rng, depth)


def json_object(rng: random.Random, depth: int) -> dict[str, object]:
    keys = rng.sample(WORDS, rng.randint(1, 7))
    return {key: json_value(rng, depth - 1) for key in keys}


def json_text(rng: random.Random) -> str:
    indent = rng.choice([None, None, 2, 4])
    return json.dumps(json_object(rng, 4), ensure_ascii=rng.random() < 0.2, indent=indent)


def sql_name(rng: random.Random) -> str:
    return "_".join(rng.sample(WORDS, rng.randint(1, 2)))


def sql_expression(rng: random.Random, depth: int = 2) -> str:
    kind = rng.randrange(8 if depth else 4)
    if kind < 2:
        return sql_name(rng)
    if kind == 2:
        return str(rng.randint(0, 9999))
    if kind == 3:
        return "'" + rng.choice(PHRASES).replace("'", "''").replace("\n", " ").replace("\t", " ") + "'"
    if kind == 4:
        return f"{rng.choice(['COUNT', 'SUM', 'AVG', 'LOWER'])}({sql_expression(rng, depth - 1)})"
    if kind == 5:
        return f"({sql_expression(rng, depth - 1)} {rng.choice('+-*/')} {sql_expression(rng, depth - 1)})"
    return f"{sql_name(rng)}.{sql_name(rng)}"


def sql_condition(rng: random.Random, depth: int = 2) -> str:
    if depth and rng.random() < 0.4:
        joined = f" {rng.choice(['AND', 'OR'])} ".join(sql_condition(rng, depth - 1) for _ in range(2))
        return f"({joined})" if rng.random() < 0.3 else joined
    if rng.random() < 0.2:
        return f"{sql_name(rng)} IS {rng.choice(['', 'NOT '])}NULL"
    return (
        f"{sql_expression(rng, 1)} {rng.choice(['=', '<', '>', '<=', '<>', 'LIKE'])} {sql_expression(rng, 1)}"
    )


def sql_select(rng: random.Random, depth: int) -> str:
    columns = ", ".join(
        sql_expression(rng) + (f" AS {sql_name(rng)}" if rng.random() < 0.3 else "")
        for _ in range(rng.randint(1, 5))
    )
    nested = depth and rng.random() < 0.2
    source = f"({sql_select(rng, depth - 1)}) AS {sql_name(rng)}" if nested else sql_name(rng)
    text = f"SELECT {columns} FROM {source}"
    for _ in range(rng.randrange(3)):
        text += f" LEFT JOIN {sql_name(rng)} ON {sql_condition(rng, 0)}"
    if rng.random() < 0.8:
        text += f" WHERE {sql_condition(rng)}"
    if rng.random() < 0.4:
        text += f" GROUP BY {sql_name(rng)}, {sql_name(rng)}.{sql_name(rng)}"
    if rng.random() < 0.4:
        text += f" ORDER BY {sql_name(rng)} {rng.choice(['ASC', 'DESC'])}"
    return text + (f" LIMIT {rng.randint(1, 500)}" if rng.random() < 0.5 else "")


def sql_text(rng: random.Random) -> str:
    return sql_select(rng, 2) + ";"


def c_name(rng: random.Random) -> str:
    return rng.choice(["_", "", "", ""]) + "".join(
        word.capitalize() if at and rng.random() < 0.5 else word
        for at, word in enumerate(rng.sample(WORDS, rng.randint(1, 2)))
    )


def c_expression(rng: random.Random, depth: int = 3) -> str:
    kind = rng.randrange(9 if depth else 3)
    if kind == 0:
        return str(rng.randint(0, 999))
    if kind < 3:
        return c_name(rng)
    if kind < 6:
        operator = rng.choice(["+", "-", "*", "/", "==", "!=", "<", "&&", "||"])
        return f"{c_expression(rng, depth - 1)} {operator} {c_expression(rng, depth - 1)}"
    if kind == 6:
        arguments = ", ".join(c_expression(rng, depth - 1) for _ in range(rng.randrange(4)))
        return f"{c_name(rng)}({arguments})"
    if kind == 7:
        return f"({c_expression(rng, depth - 1)})"
    indexed = f"{c_name(rng)}[{c_expression(rng, depth - 1)}]"
    return rng.choice([indexed, f"{c_name(rng)}->{c_name(rng)}", '"%d items\\n"'])


def c_block(rng: random.Random, depth: int, indent: str) -> str:
    inner = indent + "    "
    lines = [inner + c_statement(rng, depth, inner) for _ in range(rng.randint(1, 5))]
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def c_statement(rng: random.Random, depth: int, indent: str) -> str:
    kind = rng.randrange(8 if depth else 4)
    if kind == 0:
        return f"{rng.choice(['int', 'char', 'double', 'struct node'])} {c_name(rng)} = {c_expression(rng)};"
    if kind == 1:
        return f"{c_name(rng)} {rng.choice(['=', '+='])} {c_expression(rng)};"
    if kind == 2:
        return f"return {c_expression(rng)};"
    if kind == 3:
        return rng.choice([f"{c_name(rng)}({c_expression(rng)});", "/* look again, it is *not* over */"])
    if kind < 6:
        return f"if ({c_expression(rng)}) {c_block(rng, depth - 1, indent)}"
    if kind == 6:
        return f"while ({c_expression(rng)}) {c_block(rng, depth - 1, indent)}"
    name = c_name(rng)
    head = f"for (int {name} = 0; {name} < {c_expression(rng, 1)}; {name}++)"
    return f"{head} {c_block(rng, depth - 1, indent)}"


def c_text(rng: random.Random) -> str:
    parameters = ", ".join(f"int {c_name(rng)}" for _ in range(rng.randrange(3)))
    return f"int {c_name(rng)}({parameters}) {c_block(rng, 3, '')}\n"


def arithmetic_text(rng: random.Random, depth: int = 6) -> str:
    kind = rng.randrange(8) if depth else rng.randrange(2)
    if kind == 0:
        return str(rng.randint(0, 10**5)) + rng.choice(["", ".25", ".5"])
    if kind == 1:
        return rng.choice(WORDS)
    if kind < 6:
        return arithmetic_text(rng, depth - 1) + rng.choice("+-*/^") + arithmetic_text(rng, depth - 1)
    if kind == 6:
        return f"({arithmetic_text(rng, depth - 1)})"
    return f"{rng.choice(WORDS)}({arithmetic_text(rng, depth - 1)}, {arithmetic_text(rng, depth - 1)})"


def texts(make: Callable[[random.Random], str], count: int) -> tuple[str, ...]:
    rng = random.Random(20240229)
    return tuple(make(rng) for _ in range(count))


def workloads() -> list[Workload]:
    """All of them, with enough text for ten thousand masks or so each."""

    def read(name: str) -> str:
        return (GRAMMARS / f"{name}.ebnf").read_text(encoding="utf-8")

    return [
        Workload("json", None, texts(json_text, 80)),
        Workload("sql", read("sql"), texts(sql_text, 150)),
        Workload("c_like", read("c_like"), texts(c_text, 40)),
        Workload("arithmetic", read("arithmetic"), texts(arithmetic_text, 250)),
    ]
