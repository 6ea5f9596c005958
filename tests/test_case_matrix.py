"""Every format, style and family has cases of every kind: this fails, and says what is missing, where one has not.

A case is a text that is accepted, rejected, or alive and not complete. For what takes a schema there are tools of one
parameter, of several, of none, with nested values, and with hostile names.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from tests.tool_calling_cases import cases
from tokenstile import structural_tag as models
from tokenstile.tool_calling import families
from tokenstile.tool_calling.names import in_attribute, in_json, in_xml

FOLDER = Path(__file__).parent.parent / "testdata" / "structural_tag"
OUTCOMES = ("accept", "partial", "reject")
SHAPES = {"none", "one", "several", "nested", "hostile"}
FORMATS = sorted(
    model.model_fields["type"].default
    for name, model in vars(models).items()
    if name in models.__all__ and "type" in getattr(model, "model_fields", {}) and name != "StructuralTag"
)


def outcomes(case):
    """Which kinds of texts a case has."""
    return {kind for kind in OUTCOMES if any(case.get(f"{kind}{form}") for form in ("", "_hex", "_tokens"))}


def formats_in(value):
    """All objects of a structural tag, schemas aside."""
    if isinstance(value, list):
        for item in value:
            yield from formats_in(item)
    elif isinstance(value, dict):
        yield value
        for key, item in value.items():
            if key != "json_schema":
                yield from formats_in(item)


def shapes_of(name, schema):
    """What is particular about a schema: how many properties it has, whether they nest, whether a name is hostile."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    shapes = {["none", "one", "several"][min(len(properties), 2)]}
    if any(
        "properties" in inner or "items" in inner for inner in properties.values() if isinstance(inner, dict)
    ):
        shapes.add("nested")
    names = "".join([name, *properties])
    if re.search(r"[\"'<]", names) and not names.isascii():
        shapes.add("hostile")
    return shapes


@cache
def tag_cases():
    return list(read_tag_cases())


def read_tag_cases():
    for path in sorted(FOLDER.glob("*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["test"]:
            try:
                yield case, list(formats_in(json.loads(case["structural_tag"]).get("format")))
            except (ValueError, AttributeError):
                assert "error" in case, "only what is refused may be no JSON"


def test_the_formats_are_those_of_xgrammar():
    assert len(FORMATS) == 21


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name):
    found = set()
    for case, formats in tag_cases():
        if any(each.get("type") == name for each in formats):
            found |= outcomes(case)
    assert found == set(OUTCOMES)


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_refused_with_their_place(name):
    # That a field is missing, of the wrong type or unknown is refused for all alike; here is what each has of its own.
    alike = {"exclude_token", "plus", "qwen_xml_parameter"}
    refused = {
        each.get("type")
        for case, formats in tag_cases()
        if "error" in case and "path" in case
        for each in formats
    }
    assert name in refused | alike


@pytest.mark.parametrize("style", get_args(models.JSONSchemaStyle))
def test_styles(style):
    found = {}
    for case, formats in tag_cases():
        for each in formats:
            if each.get("type") == "json_schema" and each.get("style", "json") == style:
                for shape in shapes_of("", each["json_schema"]):
                    found.setdefault(shape, set()).update(outcomes(case))
    # Nothing is not a part of anything, where it is all that a style writes.
    wanted = {shape: set(OUTCOMES) for shape in SHAPES}
    if style not in {"json", "gemma"}:
        wanted["none"] = {"accept", "reject"}
    missing = {shape: kinds - found.get(shape, set()) for shape, kinds in wanted.items()}
    assert not {shape: kinds for shape, kinds in missing.items() if kinds}


def kinds_of(arguments):
    """What a case of a family asks for."""
    choice = arguments.get("tool_choice", "auto")
    choice = (
        choice if isinstance(choice, str) else "named" if choice["type"] == "function" else choice["type"]
    )
    one = "" if arguments.get("parallel_tool_calls", True) else ", one at most"
    return {f"{choice}{one}", f"reasoning {arguments.get('reasoning', 'enabled')}"}


@cache
def family_cases():
    return [(path.stem, case) for path, case in cases()]


def cases_of(family):
    return [case for name, case in family_cases() if name == family]


@pytest.mark.parametrize("family", families.__all__)
def test_families_have_every_choice(family):
    found = {}
    for case in cases_of(family):
        for kind in kinds_of(json.loads(case["arguments"])):
            found.setdefault(kind, set()).update(outcomes(case))
    template = getattr(getattr(families, family), "TEMPLATE", None)
    thinks = template is None or template.thinking is not None
    wanted = {
        "auto",
        "auto, one at most",
        "required",
        "required, one at most",
        "named",
        "none",
        "allowed_tools",
    }
    modes = {"reasoning disabled"} | ({"reasoning enabled"} if thinks else set())
    # Thinking is a channel like others for harmony, whether the model has to or may.
    modes |= {"reasoning auto"} if thinks and family != "harmony" else set()
    assert {kind: set(OUTCOMES) - found.get(kind, set()) for kind in wanted | modes} == {
        kind: set() for kind in wanted | modes
    }


def is_called(name, case):
    spellings = {name, in_json(name), in_attribute(name), in_xml(name)}
    return any(spelling in text for text in case.get("accept", []) for spelling in spellings)


@pytest.mark.parametrize("family", families.__all__)
def test_families_call_tools_of_every_shape(family):
    called = set()
    for case in cases_of(family):
        for tool in json.loads(case["arguments"]).get("tools", []):
            function = tool.get("function")
            if function and is_called(function["name"], case):
                called |= shapes_of(function["name"], function.get("parameters", {}))
    assert called == SHAPES
