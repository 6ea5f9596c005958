"""Documents that references may lead to: the standard meta-schemas without a registry, and a folder as one."""

from __future__ import annotations

import json

import pytest

import tokenstile as xgr


def accepts(schema, value, **options):
    grammar = xgr.Grammar.from_json_schema(schema, strict_mode=False, **options)
    return xgr.testing._is_grammar_accept_string(grammar, json.dumps(value))


@pytest.mark.parametrize(
    "uri",
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_meta_schemas_are_known(uri):
    for schema in ({"$ref": uri}, {"type": "object", "properties": {"schema": {"$ref": uri}}}):
        wrapped = (lambda value: value) if "$ref" in schema else (lambda value: {"schema": value})
        assert accepts(schema, wrapped({"type": "array", "items": {"minLength": 3}}))
        assert not accepts(schema, wrapped({"type": "arrays"}))
        assert not accepts(schema, wrapped({"items": {"minLength": -1}})), "below, too"


def test_parts_of_meta_schemas():
    schema = {"$ref": "http://json-schema.org/draft-07/schema#/definitions/simpleTypes"}
    assert accepts(schema, "integer")
    assert not accepts(schema, "whole")


def test_a_dynamic_meta_schema_is_extended():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "http://x/extended",
        "$dynamicAnchor": "meta",
        "$ref": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"unit": {"enum": ["m", "s"]}},
    }
    assert accepts(schema, {"properties": {"a": {"unit": "m"}}})
    assert not accepts(schema, {"properties": {"a": {"unit": "x"}}})


def test_the_registry_goes_first():
    uri = "http://json-schema.org/draft-07/schema#"
    assert accepts({"$ref": uri}, 1, registry={uri: {"const": 1}})
    assert not accepts({"$ref": uri}, {}, registry={uri: {"const": 1}})


def test_others_are_still_unknown():
    with pytest.raises(xgr.UnsupportedFeatureError, match="not known"):
        xgr.Grammar.from_json_schema({"$ref": "http://json-schema.org/draft-03/schema#"})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "common").mkdir()
    files = {
        "common/size.json": {"type": "integer", "minimum": 1},
        "common/box.json": {"type": "object", "properties": {"size": {"$ref": "size.json"}}},
        "named.json": {"$id": "https://example.com/named", "const": "x"},
    }
    for name, schema in files.items():
        (tmp_path / name).write_text(json.dumps(schema), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no schema", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_folder_is_a_registry(folder, kind):
    registry = kind(folder)
    box = {"$ref": "common/box.json"}
    assert accepts(box, {"size": 3}, registry=registry)
    assert not accepts(box, {"size": 0}, registry=registry)
    assert accepts({"$ref": "https://example.com/named"}, "x", registry=registry)
    assert accepts({"$ref": "named.json"}, "x", registry=registry)
    findings = xgr.check_schema(box, registry=registry)
    assert any(finding.keyword == "minimum" for finding in findings)


def test_what_is_wrong_with_a_folder_is_told(folder):
    with pytest.raises(xgr.InvalidArgumentError, match="path of a folder"):
        accepts(True, 1, registry=folder / "none")
    with pytest.raises(xgr.InvalidArgumentError, match="path of a folder"):
        accepts(True, 1, registry=3)
    (folder / "twin.json").write_text('{"$id": "https://example.com/named"}', encoding="utf-8")
    with pytest.raises(xgr.InvalidArgumentError, match="have the address 'https://example"):
        accepts(True, 1, registry=folder)
    (folder / "twin.json").write_text("{", encoding="utf-8")
    with pytest.raises(xgr.JSONSchemaError, match="is not JSON"):
        accepts(True, 1, registry=folder)
