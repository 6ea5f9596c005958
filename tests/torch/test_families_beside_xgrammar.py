"""The families beside XGrammar's own, where that is installed: the same tags, but for what is listed here.

What is listed is on the page of differences, each with its reason. Two tags are the same if they are the same tree of
formats, once sequences are flat and what says the same is written the same way; that is more than the same language.
Where the trees differ, texts are asked in their place.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from pathlib import Path

import pytest

import tokenstile as xgr

xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
pytest.importorskip("torch", reason="torch is not installed")

FOLDER = Path(__file__).parents[2] / "testdata" / "tool_calling"
FAMILIES = sorted(xgrammar.builtin_structural_tag._structural_tag_registry)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {key: {"type": kind}}, "required": [key]},
        },
    }
    for name, key, kind in (("one", "city", "string"), ("two", "n", "integer"))
]
CHOICES = {
    "auto": {},
    "none": {"tool_choice": "none"},
    "no tools": {"tools": []},
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": {"type": "function", "function": {"name": "one"}}},
    "allowed": {
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [TOOLS[1] | {"function": {"name": "two"}}]},
        }
    },
}
OPTIONS = {
    "": {},
    "one at most": {"parallel_tool_calls": False},
    "marks in texts": {"exclude_special_tokens": False},
    "any order": {"any_order": True, "max_whitespace_cnt": 2},
}


def differs_on_purpose(family, choice, option):
    """What is another tree here: see docs/differences-from-xgrammar.md."""
    return (
        family == "harmony"
        or (family == "minimax_m3" and choice == "required")
        or (family == "deepseek_v4_1" and choice in {"none", "no tools"} and option == "marks in texts")
    )


DEFAULTS = {
    "any_order": False,
    "at_least_one": False,
    "stop_after_first": False,
    "style": "json",
    "excludes": [],
}


def plain(value):
    """A tree of formats in one of the ways to write it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {
        key: plain(item) for key, item in value.items() if item is not None and DEFAULTS.get(key) != item
    }
    if "excludes" in fields:
        fields["excludes"] = sorted(fields["excludes"])
    if fields.get("type") == "regex":
        fields["pattern"] = fields["pattern"].replace(r"\d", "[0-9]")
    is_once = fields.get("type") == "tags_with_separator" and len(fields["tags"]) == 1
    if is_once and fields.get("at_least_one") and fields.get("stop_after_first"):
        return fields["tags"][0]
    parts = flat(fields)
    return parts[0] if len(parts) == 1 else {"type": "sequence", "elements": parts}


def flat(fields):
    """A format as what comes one after the other in it."""
    if fields.get("type") == "sequence":
        parts = [part for element in fields["elements"] for part in flat(element)]
    elif fields.get("type") == "tag" and fields["content"].get("type") not in {"any_text", "triggered_tags"}:
        ends = [{"type": "const_string", "value": fields[key]} for key in ("begin", "end")]
        parts = [ends[0], *flat(fields["content"]), ends[1]]
    else:
        return [fields]
    joined = []
    for is_text, group in itertools.groupby(parts, lambda part: part.get("type") == "const_string"):
        found = list(group)
        text = "".join(part["value"] for part in found) if is_text else ""
        joined += [{"type": "const_string", "value": text}] if text else [] if is_text else found
    return joined


def tree(package, family, arguments):
    return plain(
        json.loads(package.get_model_structural_tag(family, **arguments).model_dump_json())["format"]
    )


def test_all_families_of_xgrammar_are_here():
    assert set(FAMILIES) <= set(xgr.tool_calling.model_names())
    assert len(FAMILIES) == 18


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_tags(family):
    found = set()
    for (choice, more), (option, options) in itertools.product(CHOICES.items(), OPTIONS.items()):
        for reasoning in ("enabled", "disabled", "auto"):
            arguments = {"tools": TOOLS, "reasoning": reasoning, **more, **options}
            if tree(xgr, family, arguments) != tree(xgrammar, family, arguments):
                found.add((choice, option))
    expected = {
        (choice, option)
        for choice, option in itertools.product(CHOICES, OPTIONS)
        if differs_on_purpose(family, choice, option)
    }
    assert found == expected


def matcher_of(package, family, arguments):
    tag = package.get_model_structural_tag(family, **arguments).model_dump_json()
    compiler = package.GrammarCompiler(package.TokenizerInfo([]), max_threads=1, cache_enabled=False)
    compiled = compiler.compile_grammar(package.Grammar.from_structural_tag(tag))
    return package.GrammarMatcher(compiled, terminate_without_stop_token=True)


def says(matcher, text):
    matcher.reset()
    alive = matcher.accept_string(text)
    return alive, alive and matcher.is_completed()


def texts_of(family):
    for case in tomllib.loads((FOLDER / f"{family}.toml").read_text(encoding="utf-8"))["test"]:
        arguments = json.loads(case["arguments"])
        # A name that needs an escape is written as it is by XGrammar.
        if "日" not in json.dumps(arguments.get("tool_choice"), ensure_ascii=False):
            texts = [text for kind in ("accept", "partial", "reject") for text in case.get(kind, [])]
            yield case["name"], arguments, [text for text in texts if "日" not in text]


NO_ARGUMENTS = "<function=none>\n</function>"
LOOSE = "parameters-that-may-be-left-out"


def differs_in_text(family, case, arguments, text):
    """Texts about which the two may disagree."""
    if family in {"qwen_3_5", "qwen_3_coder"}:
        return NO_ARGUMENTS in text or case == LOOSE or "<function=none>" in text
    if family == "harmony":
        choice = arguments.get("tool_choice", "auto")
        return xgr.normalize_tool_choice(arguments["tools"], choice)[2] != "auto"
    return family == "minimax_m3" and case == "required"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_texts(family):
    for case, arguments, texts in texts_of(family):
        theirs, ours = (matcher_of(package, family, arguments) for package in (xgrammar, xgr))
        for text in texts:
            if not differs_in_text(family, case, arguments, text):
                assert says(ours, text) == says(theirs, text), (case, text)


def test_what_qwen_writes_without_arguments_is_refused_by_xgrammar():
    # Its template has one line break there. If this fails, the row can leave the page of differences.
    tools = [
        {"type": "function", "function": {"name": "none", "parameters": {"type": "object", "properties": {}}}}
    ]
    arguments = {"tools": tools, "tool_choice": "required", "reasoning": "disabled"}
    text = f"<tool_call>\n{NO_ARGUMENTS}\n</tool_call>"
    assert says(matcher_of(xgr, "qwen_3_5", arguments), text) == (True, True)
    assert says(matcher_of(xgrammar, "qwen_3_5", arguments), text) == (False, False)
