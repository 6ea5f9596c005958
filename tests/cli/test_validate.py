"""``tokenstile validate``."""

from __future__ import annotations

import pytest


def test_accepted(run, person, tmp_path):
    instance = tmp_path / "ann.json"
    instance.write_text('{\n  "name": "Ann",\n  "age": 30\n}\n', encoding="utf-8")
    result = run("validate", person, instance, "--json")
    assert result.code == 0
    assert result.json == [{"instance": str(instance), "accepted": True}]
    assert run("validate", person, instance, "--exact").code == 1


def test_refused_with_the_byte_and_what_was_allowed(run, person):
    result = run("validate", person, "--text", '{"name": "é", "age": 151}', "--json")
    assert result.code == 1
    refusal = result.json[0]["refusal"]
    # The é has two bytes and is one column.
    assert (refusal["offset"], refusal["line"], refusal["column"]) == (24, 1, 24)
    assert refusal["found"] == "1"
    assert "'0'" in refusal["allowed"]
    assert "'}'" in refusal["allowed"]
    assert "'1'" not in refusal["allowed"]


def test_lines_and_columns(run, person):
    refusal = run("validate", person, "-t", '{\n  "name": 1}', "--json").json[0]["refusal"]
    assert (refusal["offset"], refusal["line"], refusal["column"]) == (12, 2, 11)


def test_an_early_end(run, person):
    result = run("validate", person, "-t", '{"name": "a", "age"', "--json")
    assert result.json[0]["refusal"]["found"] == ""
    assert "ends too early" in run("validate", person, "-t", '{"name"').out


def test_hints(run, person):
    swapped = '{"age": 3, "name": "a"}'
    assert run("validate", person, "-t", swapped, "--json").json[0]["hint"] == "it fits with --any-order"
    assert run("validate", person, "-t", swapped, "--any-order").code == 0


@pytest.mark.parametrize(
    ("kind", "grammar", "good", "bad", "offset"),
    [
        ("regex", "[a-z]+@[a-z]+", "a@b", "a@@", 2),
        ("ebnf", 'root ::= "a" root "b" | ""', "aabb", "aabbb", 4),
        ("lark", 'start: "x" NUMBER\nNUMBER: /[0-9]+/', "x12", "x12y", 3),
    ],
)
def test_other_kinds(run, kind, grammar, good, bad, offset):  # noqa: PLR0917 - a case
    assert run("validate", grammar, "-k", kind, "-t", good).code == 0
    result = run("validate", grammar, "-k", kind, "-t", bad, "--json")
    assert result.code == 1
    assert result.json[0]["refusal"]["offset"] == offset


def test_kinds_by_name(run, tmp_path):
    grammar = tmp_path / "words.lark"
    grammar.write_text('start: "a"+\n', encoding="utf-8")
    assert run("validate", grammar, "-t", "aaa").code == 0
    pattern = tmp_path / "words.regex"
    pattern.write_text("a+\n", encoding="utf-8")
    assert run("validate", pattern, "-t", "aaa").code == 0


def test_lines_of_a_file(run, tmp_path):
    (tmp_path / "many.txt").write_text("1\n\nx\n22\n", encoding="utf-8")
    result = run("validate", "[0-9]+", "-k", "regex", tmp_path / "many.txt", "--lines", "--json")
    assert [answer["accepted"] for answer in result.json] == [True, False, True]
    assert result.json[1]["instance"].endswith(":3")


def test_nothing_to_validate(run, person):
    assert run("validate", person).code == 2
    assert run("validate", person, "nowhere.json").code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "-", "-"),
        ("validate", "[0-9]+", "-k", "regex", "-", "-"),
        ("check", "-", "-"),
        ("generate", "-", "--schema", "-"),
    ],
)
def test_the_standard_input_can_be_read_once(run, arguments):
    result = run(*arguments, "--json", stdin="true")
    assert result.code == 2
    assert "named twice" in result.json["error"]["message"]


def test_a_large_text(run):
    assert run("validate", "[a-z]*", "-k", "regex", "-", stdin="a" * 1_000_000).code == 0
    result = run("validate", "[a-z]*", "-k", "regex", "-", "--json", stdin="a" * 1_000_000 + "!")
    assert result.json[0]["refusal"]["offset"] == 1_000_000


def test_bytes_that_are_no_text(run, tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(b"ab\xff")
    result = run("validate", ".*", "-k", "regex", path, "--json")
    assert result.code == 1
    assert result.json[0]["refusal"]["offset"] == 2


def test_files_without_an_end_are_refused(run):
    assert run("validate", "a", "-k", "regex", "/dev/zero").code == 2
