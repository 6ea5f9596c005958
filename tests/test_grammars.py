"""The shelf of ready grammars, each beside a real reader of its format.

What a grammar lets through is made by random walks over its masks and given to the reader, which must take it; texts
that are known to be right must be accepted, and those known to be wrong refused.
"""

from __future__ import annotations

import ast
import csv
import datetime as dt
import io
import json
import random
import re
import sqlite3
from email.headerregistry import Address
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile import grammars
from tokenstile.grammars import Element

WALKS = 60
STEPS = 80
CLOSERS = b")]}\"'>/;0a1e=:, \n"


def accepts(grammar, text):
    return xgr.testing._is_grammar_accept_string(grammar, text)


class Walker:
    """Walks over masks at random, and home by the bytes that tend to close things when it has gone far enough."""

    def __init__(self, grammar, words=(), closers=CLOSERS):
        self.closers = closers
        tokens = [bytes([byte]) for byte in range(256)] + [word.encode() for word in words]
        info = xgr.TokenizerInfo(tokens, stop_token_ids=[])
        self.tokens = tokens
        self.compiled = xgr.GrammarCompiler(info).compile_grammar(grammar)
        self.mask = np.zeros((1, (len(tokens) + 31) // 32), dtype=np.int32)

    def allowed(self, matcher):
        matcher.fill_next_token_bitmask(self.mask)
        bits = xgr.testing.bitmask_to_bool_mask(self.mask, len(self.tokens))[0]
        return bits.nonzero()[0].tolist()

    def walk(self, dice):
        matcher = xgr.GrammarMatcher(self.compiled)
        text = b""
        for step in range(20 * STEPS):
            tokens = self.allowed(matcher)
            if matcher.is_completed() and (not tokens or step > STEPS or dice.random() < 0.1):
                return text.decode()
            assert tokens, f"a dead end after {text!r}"
            token = self.way_home(tokens, dice) if step > STEPS else self.any_way(tokens, dice)
            assert matcher.accept_token(token)
            text += self.tokens[token]
        return None

    def any_way(self, tokens, dice):
        words = [token for token in tokens if token >= 256]
        plain = [token for token in tokens if token < 128]
        pool = dice.choice([words or tokens, plain or tokens, tokens])
        return dice.choice(pool)

    def way_home(self, tokens, dice):
        if dice.random() < 0.3:
            return dice.choice([token for token in tokens if token < 128] or tokens)
        return min(
            tokens,
            key=lambda token: self.closers.find(token) if token < 256 and token in self.closers else 99,
        )


def texts_of(grammar, words=(), closers=CLOSERS):
    walker, dice = Walker(grammar, words, closers), random.Random(7)  # noqa: S311 - a walk
    texts = [text for text in (walker.walk(dice) for _ in range(WALKS)) if text is not None]
    assert len(texts) > WALKS // 2, "most walks come home"
    return texts


def test_json():
    grammar = grammars.json()
    for text in texts_of(grammar, ['"a"', "true", "[", "{"]):
        json.loads(text)
    for text in ["1", '"é\\u00e9"', "null", '{"a": [1, {}]}', "[ ]", "-1.5e+3"]:
        assert accepts(grammars.json(spelling="any"), text), text
    for text in ["1", '"é\\u00e9"', "null", '{"a": [1, {}]}', "[ ]", "-1.5e+30"]:
        assert accepts(grammar, text), text
    for text in ["", "01", "{'a': 1}", "[1,]", " 1", "NaN", '"\n"']:
        assert not accepts(grammar, text), text
    assert not accepts(grammars.json("object"), "[]")
    assert accepts(grammars.json("container"), "[]")
    with pytest.raises(ValueError, match="root"):
        grammars.json("string")


def test_json_lines():
    for text in texts_of(grammars.json_lines(), ['{"a": 1}\n', "null\n"]):
        for line in text.splitlines(keepends=True)[:-1]:
            assert line.endswith("\n")
        for line in text.split("\n")[:-1]:
            json.loads(line)
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    grammar = grammars.json_lines(schema, min_lines=1, max_lines=2)
    assert accepts(grammar, '{"a": 1}\n{"a": 2}\n')
    for text in ["", '{"a": 1}', '{"a": 1}\n\n', '{"a": 1}\n' * 3, '{"a": "x"}\n']:
        assert not accepts(grammar, text), text


def test_json_lines_in_both_spellings():
    spelled = {"canonical": False, "any": True}
    for spelling, takes_escapes in spelled.items():
        any_value = grammars.json_lines(spelling=spelling)
        of_schema = grammars.json_lines({"enum": ["ab", 1]}, spelling=spelling)
        for text in ('{"a": [1, "x"]}\n{"b":[1,"x"]}\n', "null\n", ""):
            assert accepts(any_value, text)
        assert accepts(of_schema, '"ab"\n1\n')
        assert accepts(any_value, '"\\u0061"\n') is takes_escapes
        assert accepts(any_value, "[1 ,\t2]\n") is takes_escapes
        assert accepts(of_schema, '"\\u0061b"\n') is takes_escapes
        assert not accepts(any_value, '{"a":\n1}\n')
    assert str(grammars.json_lines()) == str(grammars.json_lines(spelling="canonical"))


@pytest.fixture
def database():
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE people (name TEXT, age INTEGER, "home town" TEXT)')
    connection.execute('CREATE TABLE "order" (id INTEGER, price REAL)')
    yield connection
    connection.close()


TABLES = {"people": ["name", "age", "home town"], "order": ["id", "price"]}


def test_sql_over_known_tables(database):
    grammar = grammars.sql_select(TABLES)
    words = ["SELECT ", " FROM ", " WHERE ", "name", "age", " ORDER BY ", " GROUP BY ", "COUNT(", " AND "]
    for text in texts_of(grammar, words):
        database.execute(text).fetchall()
    for text in [
        "SELECT * FROM people",
        "SELECT name, age + 1 FROM people WHERE age >= 18 AND name LIKE 'A%' ORDER BY age DESC LIMIT 5",
        'SELECT DISTINCT "home town" FROM people WHERE NOT (age IS NULL OR age BETWEEN 1 AND 2)',
        'SELECT COUNT(*), AVG(price) FROM "order" GROUP BY id HAVING COUNT(*) > 1',
        "SELECT name FROM people WHERE name IN ('O''Hara', 'x')",
    ]:
        assert accepts(grammar, text), text
        database.execute(text).fetchall()
    for text in [
        "SELECT price FROM people",
        "SELECT * FROM secrets",
        "DROP TABLE people",
        "SELECT * FROM people; DROP TABLE people",
        "SELECT name FROM people WHERE name = 'a'b'",
        "SELECT * FROM people WHERE COUNT(*) > 1",
    ]:
        assert not accepts(grammar, text), text


def test_sql_over_any_table(database):
    grammar = grammars.sql_select()
    assert accepts(grammar, "SELECT a_b FROM t1 WHERE x = 1")
    assert not accepts(grammar, "SELECT select FROM t1")
    assert not accepts(grammar, "SELECT a FROM From")
    for text in texts_of(grammar, ["SELECT ", " FROM ", " WHERE ", "select", "x "]):
        with pytest.raises(sqlite3.OperationalError, match="no such"):
            database.execute(text)


@pytest.mark.parametrize("columns", [["a"], ["a", "b c", 'd,"e"']])
@pytest.mark.parametrize("header", [True, False])
def test_csv(columns, header):
    grammar = grammars.csv(columns, header=header)
    for text in texts_of(grammar, ['"', ",", "\n"]):
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        if header:
            assert rows.pop(0) == columns
        assert all(len(row) == len(columns) for row in rows), text


def test_csv_of_typed_columns():
    year = xgr.Grammar.from_regex("[0-9]{4}")
    grammar = grammars.csv({"year": year, "note": None}, delimiter=";", min_rows=1, max_rows=2)
    assert accepts(grammar, 'year;note\n2024;"a;""b"""\n1999;')
    for text in ["year;note\n", "year;note\n24;x", "year;note\n2024;a;b", "year;note" + "\n2024;" * 3]:
        assert not accepts(grammar, text), text


@pytest.mark.parametrize("names", [{}, {"variables": ["x", "rate"], "functions": ["sin", "max"]}])
def test_arithmetic(names):
    grammar = grammars.arithmetic(**names)
    for text in texts_of(grammar, ["**", "(", "1.5", " + "]):
        ast.parse(text, mode="eval")
    assert accepts(grammar, "-(1 + 2.5)*3**-2/4")
    assert accepts(grammar, "max(x, 2) - sin(rate)") == bool(names)
    for text in ["", "1 +", "01", "(1", "1  + 2", "x y", "sin()"]:
        assert not accepts(grammar, text), text


def test_dates():
    for text in texts_of(grammars.iso_date()):
        dt.date.fromisoformat(text)
    for text in texts_of(grammars.iso_time()):
        dt.time.fromisoformat(text)
    for text in texts_of(grammars.iso_datetime(offset=True)):
        assert dt.datetime.fromisoformat(text).tzinfo
    grammar = grammars.iso_date()
    day = dt.date(1899, 1, 1)
    while day.year < 1905:
        assert accepts(grammar, day.isoformat())
        day += dt.timedelta(days=1)
    for text in [
        "1900-02-29",
        "2023-02-29",
        "2024-02-30",
        "2024-04-31",
        "2024-13-01",
        "2024-00-10",
        "0000-01-01",
    ]:
        assert not accepts(grammar, text), text
    for text in ["2000-02-29", "2024-02-29", "9999-12-31", "0001-01-01"]:
        assert accepts(grammar, text), text
    assert accepts(grammars.iso_datetime(), "2024-02-29T23:59:59.123456+05:30")
    assert not accepts(grammars.iso_datetime(offset=False), "2024-02-29T23:59:59Z")
    assert not accepts(grammars.iso_time(), "24:00:00")


def test_email():
    grammar = grammars.email()
    for text in texts_of(grammar, ["@", ".com", "-"]):
        address = Address(addr_spec=text)
        assert f"{address.username}@{address.domain}" == text
    for text in ["a@b.co", "ann.lee+news@mail.example.org", "x@a-b.c-d.museum"]:
        assert accepts(grammar, text), text
    for text in [
        "a@b",
        "a..b@c.de",
        ".a@c.de",
        "a@-b.de",
        "a@b-.de",
        "a b@c.de",
        "a@b.c1",
        "a" * 65 + "@b.de",
    ]:
        assert not accepts(grammar, text), text


def parse_version(text):
    """Read a semantic version by hand."""
    rest, plus, build = text.partition("+")
    core, minus, before = rest.partition("-")
    numbers = core.split(".")
    assert len(numbers) == 3
    assert all(re.fullmatch("[0-9]+", number) and (number == "0" or number[0] != "0") for number in numbers)
    parts = (before.split(".") if minus else []) + (build.split(".") if plus else [])
    assert all(re.fullmatch("[0-9A-Za-z-]+", part) for part in parts)
    assert not any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in before.split("."))


def test_semantic_version():
    grammar = grammars.semantic_version()
    for text in texts_of(grammar, ["1.0.0", "-", "+"]):
        parse_version(text)
    for text in ["0.0.0", "1.4.0-rc.1+build.05", "1.0.0--", "1.0.0-0a", "10.20.30+-"]:
        parse_version(text)
        assert accepts(grammar, text), text
    for text in ["1.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "v1.0.0", "1.0.0-a..b"]:
        assert not accepts(grammar, text), text


def test_python_call():
    grammar = grammars.python_call({"move": ["x", "speed", "to"], "log": None, "stop": []})
    for text in texts_of(grammar, ["move(", "x=", ", ", "log(", "'", "[", "{"]):
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        assert call.func.id in {"move", "log", "stop"}
        for value in [*call.args, *(keyword.value for keyword in call.keywords)]:
            ast.literal_eval(value)
    for text in [
        "move()",
        "move(x=1, to='a')",
        "move(to=(1,))",
        "log(1, [2, {'a': None}])",
        "stop()",
        "log(-1.5e3)",
    ]:
        assert accepts(grammar, text), text
    for text in [
        "move(1)",
        "move(to=1, x=2)",
        "move(x=1, x=2)",
        "stop(1)",
        "other()",
        "log(x)",
        "log(1,)",
        "move(,x=1)",
    ]:
        assert not accepts(grammar, text), text
    with pytest.raises(ValueError, match="function"):
        grammars.python_call(["a b"])


def split_row(line):
    """Split a row of a table into its cells, at the bars that no backslash stands before."""
    assert line.startswith("| ")
    assert line.endswith(" |")
    return [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]


def test_markdown_table():
    columns = ["name", "a|b"]
    grammar = grammars.markdown_table(columns, align=[None, "right"])
    for text in texts_of(grammar, ["| ", " | ", " |\n", "\\|"], b"\n| "):
        assert text.endswith("\n")
        head, dashes, *rows = text[:-1].split("\n")
        assert head == "| name | a\\|b |"
        assert dashes == "| --- | ---: |"
        assert all(len(split_row(row)) == len(columns) for row in rows), text
    assert accepts(grammar, "| name | a\\|b |\n| --- | ---: |\n| x y | \\| |\n|  | 2 |\n")
    for row in ["| x |\n", "| x | y | z |\n", "| x | \\ |\n", "x | y\n"]:
        assert not accepts(grammar, "| name | a\\|b |\n| --- | ---: |\n" + row), row


SHAPE = Element(
    "order",
    ["id"],
    [
        Element("item", ["sku", "n"], min_count=0, max_count=None),
        Element("note", min_count=0),
        Element("end", text=False),
    ],
)


@pytest.mark.parametrize("declaration", [True, False])
def test_xml(declaration):
    grammar = grammars.xml(SHAPE, declaration=declaration)
    for text in texts_of(grammar, ["<item", "</item>", "&lt;", '">', "\n", "<end/>", "</order>"]):
        # The reader refuses a declaration in a text that is decoded already only for other encodings.
        root = ET.fromstring(text.encode())  # noqa: S314 - our own text
        assert root.tag == "order"
        assert list(root.attrib) == ["id"]
        tags = [child.tag for child in root]
        assert tags == sorted(tags, key=["item", "note", "end"].index)
        assert tags.count("end") == 1
    text = '<order id="1 &amp; 2"><item sku="a" n="1">x &lt; y</item>\n  <end/></order>'
    prolog = '<?xml version="1.0" encoding="UTF-8"?>\n' if declaration else ""
    assert accepts(grammar, prolog + text)
    for wrong in [
        "<order><end/></order>",
        '<order id="1"></order>',
        '<order id="<"><end/></order>',
        '<order id="1"><end/>',
    ]:
        assert not accepts(grammar, prolog + wrong), wrong
    with pytest.raises(ValueError, match="cannot be a name"):
        grammars.xml(Element("a b"))


def test_they_can_be_put_together():
    line = (
        grammars.iso_date()
        + xgr.Grammar.from_ebnf('root ::= " "')
        + (grammars.email() | grammars.semantic_version())
    )
    assert accepts(line, "2024-02-29 a@b.de")
    assert accepts(line, "2024-02-29 1.0.0")
    assert not accepts(line, "2023-02-29 1.0.0")


@pytest.mark.parametrize(
    "make",
    [
        lambda: grammars.csv("abc"),
        lambda: grammars.csv(5),
        lambda: grammars.csv(["a", 1]),
        lambda: grammars.csv(["a"], min_rows=2**64),
        lambda: grammars.csv(["a"], max_rows=1.5),
        lambda: grammars.csv(["a"], delimiter=3),
        lambda: grammars.csv({"a": "[0-9]"}),
        lambda: grammars.sql_select("abc"),
        lambda: grammars.sql_select(["a"]),
        lambda: grammars.sql_select({"t": "abc"}),
        lambda: grammars.sql_select({"t": [1]}),
        lambda: grammars.sql_select({"t": None}),
        lambda: grammars.sql_select({1: ["a"]}),
        lambda: grammars.sql_select({}),
        lambda: grammars.iso_time(offset="yes"),
        lambda: grammars.iso_datetime(offset=[]),
        lambda: grammars.json([]),
        lambda: grammars.json(None),
        lambda: grammars.json_lines(min_lines=-1),
        lambda: grammars.json_lines(max_lines=2**70),
        lambda: grammars.json_lines(min_lines="1"),
        lambda: grammars.markdown_table("abc"),
        lambda: grammars.markdown_table(["a", "b"], align="lr"),
        lambda: grammars.markdown_table(["a"], align=[["left"]]),
        lambda: grammars.markdown_table(["a"], min_rows=None),
        lambda: grammars.python_call("f"),
        lambda: grammars.python_call([1]),
        lambda: grammars.python_call({"f": "ab"}),
        lambda: grammars.python_call({"f": 3}),
        lambda: grammars.arithmetic(variables="xy"),
        lambda: grammars.arithmetic(functions=7),
        lambda: grammars.arithmetic(variables=[None]),
        lambda: grammars.xml("a"),
        lambda: grammars.xml(grammars.Element(3)),
        lambda: grammars.xml(grammars.Element("")),
        lambda: grammars.xml(grammars.Element("a", attributes="bc")),
        lambda: grammars.xml(grammars.Element("a", children="bc")),
        lambda: grammars.xml(grammars.Element("a", children=["b"])),
        lambda: grammars.xml(
            grammars.Element("a", children=[grammars.Element("b", min_count=2**40, max_count=None)])
        ),
    ],
)
def test_arguments_of_the_wrong_kind(make):
    with pytest.raises(xgr.InvalidArgumentError):
        make()


def test_elements_that_hold_themselves():
    children = []
    element = grammars.Element("a", children=children)
    children.append(element)
    with pytest.raises(xgr.InvalidArgumentError, match="more than"):
        grammars.xml(element)


def test_keywords_are_no_names():
    for wrong in (lambda: grammars.python_call(["lambda"]), lambda: grammars.arithmetic(variables=["class"])):
        with pytest.raises(xgr.InvalidArgumentError, match="cannot be the name"):
            wrong()
