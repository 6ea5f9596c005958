"""``tokenstile check``."""

from __future__ import annotations

import json

import pytest


def test_a_schema_that_is_exact(run, person):
    result = run("check", person, "--json")
    assert result.code == 0
    (report,) = result.json
    assert report["status"] == "exact"
    assert {"pointer": "/properties/name", "keyword": "minLength", "outcome": "exact", "note": ""} in report[
        "findings"
    ]


@pytest.mark.parametrize(
    ("schema", "status", "pointer"),
    [
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "unsatisfiable", "/allOf"),
        ({"type": "foo"}, "invalid", "/type"),
        ({"$ref": "http://example.org/other"}, "refused", None),
        ({"type": "string", "pattern": r"(.)\1"}, "refused", None),
    ],
)
def test_schemas_that_are_not(run, schema, status, pointer):
    result = run("check", json.dumps(schema), "--json")
    assert result.code == 1
    assert result.json[0]["status"] == status
    if pointer is not None:
        assert result.json[0]["error"]["pointer"] == pointer
    text = run("check", json.dumps(schema))
    assert text.code == 1
    assert status in text.out


def test_parts_that_no_value_satisfies(run):
    schema = {
        "$id": "https://example.org/x",
        "properties": {
            "a": {"$ref": "#/$defs/none"},
            "b c/d~é": {"type": "string", "minLength": 5, "maxLength": 2},
            "c": False,
            "d": {"type": "string"},
        },
        "$defs": {"none": {"allOf": [{"type": "string"}, {"type": "integer"}]}},
    }
    result = run("check", json.dumps(schema), "--json")
    assert result.code == 0
    found = {part["pointer"] for part in result.json[0]["unsatisfiable"]}
    assert found == {"/properties/a", "/properties/b c~1d~0é", "/$defs/none"}
    assert not run("check", json.dumps(schema), "--json", "--no-parts").json[0]["unsatisfiable"]


def test_lenient(run):
    schema = json.dumps({"type": "string", "pattern": r"(.)\1"})
    result = run("check", schema, "--lenient", "--json")
    assert result.code == 0
    assert result.json[0]["status"] == "widened"


@pytest.mark.usefixtures("person")
def test_a_folder(run, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "broken.json").write_text('{"type":', encoding="utf-8")
    (tmp_path / "sub" / "latin.json").write_bytes(b'"\xe9"')
    result = run("check", tmp_path, "--json")
    assert result.code == 1
    assert [report["status"] for report in result.json] == ["exact", "invalid", "invalid"]
    text = run("check", tmp_path).out
    assert "3 schemas: 1 exact, 2 invalid" in text


def test_an_empty_folder_is_trouble(run, tmp_path):
    assert run("check", tmp_path).code == 2


def test_standard_input(run):
    assert run("check", "-", stdin='{"type": "string"}').code == 0


@pytest.mark.parametrize("text", ['{"a":' * 5000, "[" * 100_000, '{"type": "string"}}', "nul"])
def test_hostile_texts(run, text):
    result = run("check", "-", "--json", stdin=text)
    assert result.code == 1
    assert result.json[0]["status"] in {"invalid", "refused"}


@pytest.mark.parametrize("name", ["", "nowhere.json", "no\0name"])
def test_names_that_are_nothing(run, name):
    result = run("check", name, "--json")
    assert result.code == 2
    assert "no file or folder" in result.json["error"]["message"]


def test_names_that_look_like_keywords(run):
    schema = {"type": "object", "properties": {"a": {"minlength": 3}}, "propertys": {}, "note": 1}
    result = run("check", json.dumps(schema))
    assert result.code == 0
    shown = " ".join(result.out.split())
    assert 'did you mean "minLength"?' in shown
    assert 'did you mean "properties"?' in shown
    assert "note" not in result.out
    assert not result.err
