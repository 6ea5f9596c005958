"""``tokenstile convert``: EBNF that means the same, and drawings."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import tokenstile
from tokenstile.cli.ebnf_tree import Call, Leaf, Name, Repeat, parse_rules, walk
from tokenstile.cli.railroad import draw

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": "<a>",
        "content": {"type": "regex", "pattern": "[0-9]+"},
        "end": "</a>",
    },
}


@pytest.mark.parametrize(
    ("kind", "grammar", "text"),
    [
        ("json-schema", '{"enum": ["a", 1]}', '"a"'),
        ("regex", "[ab]{2,3}", "aba"),
        ("lark", 'start: "x" y*\ny: "z" | "w"', "xzw"),
        ("structural-tag", json.dumps(TAG), "<a>12</a>"),
        ("ebnf", 'root ::= "a" & ~"b"', "a"),
    ],
)
def test_to_ebnf(run, kind, grammar, text):
    result = run("convert", grammar, "--kind", kind)
    assert result.code == 0
    assert tokenstile.testing._is_grammar_accept_string(result.out, text)


def test_kinds_are_recognised(run):
    assert run("convert", json.dumps(TAG), "--json").json["kind"] == "structural-tag"
    assert run("convert", '{"type": "null"}', "--json").json["kind"] == "json-schema"
    assert run("convert", 'root ::= "a"', "--json").json["kind"] == "ebnf"


def texts_of(svg):
    return [element.text for element in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - our own


def test_drawing(run, tmp_path):
    target = tmp_path / "grammar.svg"
    result = run("convert", 'root ::= "<a&b>" word{2,3} | [0-9]+\nword ::= "x"?', "-o", target)
    assert result.code == 0
    texts = texts_of(target.read_text(encoding="utf-8"))
    assert {"root", '"<a&b>"', "word", "2 to 3 times", "[0-9]", '"x"'} <= set(texts)


def test_drawing_of_one_rule(run):
    grammar = 'root ::= word word word word\nword ::= "x" other\nother ::= "a" | "b" root'
    svg = run("convert", grammar, "--to", "svg", "--rule", "word").out
    assert '"x"' in texts_of(svg)
    assert run("convert", grammar, "--to", "svg", "--rule", "nobody").code == 2


def test_drawing_of_a_schema_names_its_members(run, person):
    texts = texts_of(run("convert", person, "--to", "svg").out)
    assert {'"name"', '"age"', "as JSON text"} <= set(texts)


def test_everything_that_is_printed_can_be_drawn():
    """All grammars of the test data, as the library prints them."""
    import tomllib

    drawn = 0
    for path in sorted(ROOT.glob("testdata/**/*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8")).get("test", []):
            grammar = read_case(case)
            if grammar is not None and len(str(grammar)) < 20_000:
                rules = parse_rules(str(grammar))
                assert len(rules) == str(grammar).count(" ::= ") or " ::= " in str(case), case
                ET.fromstring(draw(rules))  # noqa: S314 - our own
                drawn += 1
    assert drawn > 150


@pytest.mark.parametrize("body", ["JsonText(* x)", "JsonText(x", "Members((* x))", "x | ", "x & & y", "()"])
def test_what_no_grammar_prints_is_refused(body):
    with pytest.raises(tokenstile.InvalidArgumentError, match="cannot be drawn"):
        parse_rules(f"root ::= {body}")


def test_an_expression_in_a_macro_may_begin_with_a_parenthesis():
    (rule,) = parse_rules('root ::= JsonText(("a"* "b"*)* & [^]+)')
    assert '"b"' in texts_of(draw([rule]))


def read_case(case):
    readers = {
        "grammar": tokenstile.Grammar.from_ebnf,
        "regex": tokenstile.Grammar.from_regex,
        "schema": tokenstile.Grammar.from_json_schema,
    }
    for key, read in readers.items():
        if isinstance(case.get(key), str):
            try:
                return read(case[key])
            except tokenstile.TokenstileError:
                return None
    return None


def test_trees():
    text = 'root ::= "a(" (Members(("k", true, part, ("x", 0)), order="any", separator=part) | other){2,}\n'
    (rule,) = parse_rules(text)
    found = list(walk(rule.body))
    assert Leaf('"a("') in found
    assert Name("other") in found
    (repeat,) = [node for node in found if isinstance(node, Repeat)]
    assert (repeat.low, repeat.high) == (2, None)
    (call,) = [node for node in found if isinstance(node, Call)]
    assert call.options["order"] == Leaf('"any"')
    assert len(call.arguments) == 1
