"""`tokenstile.testing`: helpers that look into grammars, masks and numbers."""

from __future__ import annotations

import random
import re
from decimal import Decimal

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.testing import (
    GrammarFunctor,
    _generate_float_regex,
    _generate_range_regex,
    _get_allow_empty_rule_ids,
    _get_masked_tokens_from_bitmask,
    _is_grammar_accept_string,
    _is_rule_fsm_accept_string,
    _is_single_token_bitmask,
    _json_schema_to_ebnf,
    _print_grammar_fsms,
    bitmask_to_bool_mask,
    bool_mask_to_bitmask,
)

EBNF = 'root ::= "a" some digits | ""\nsome[capture] ::= "x"*\ndigits ::= [0-9]+\nunused ::= "q"'
FUNCTORS = [name for name in dir(GrammarFunctor) if not name.startswith("_")]


@pytest.mark.parametrize(
    "bounds", [(None, None), (12, 345), (-3, 7), (None, -5), (10, None), (0, 0), (-1050, 99)]
)
def test_expressions_of_whole_numbers(bounds):
    low, high = bounds
    expression = re.compile(_generate_range_regex(low, high))
    grammar = xgr.Grammar.from_regex(_generate_range_regex(low, high))
    for number in [*range(-1200, 1200, 7), low or 0, high or 0, (low or 0) - 1, (high or 0) + 1]:
        inside = (low is None or number >= low) and (high is None or number <= high)
        assert bool(expression.fullmatch(str(number))) == inside, number
        if number % 5 == 0:
            assert _is_grammar_accept_string(grammar, str(number)) == inside, number
    assert not expression.fullmatch("-0")
    assert not expression.fullmatch("007")


def test_expressions_of_decimal_numbers():
    source = random.Random(3)  # noqa: S311 - not for secrets
    for _ in range(300):
        low, high = sorted(round(source.uniform(-20, 20), source.randint(0, 3)) for _ in range(2))
        without = source.random() < 0.5, source.random() < 0.5
        if low == high and any(without):
            continue
        expression = re.compile(_generate_float_regex(low, high, *without))
        for _ in range(40):
            near = Decimal(repr(source.choice([low, high, 0.0])))
            number = near + Decimal(
                repr(round(source.uniform(-2, 2), source.randint(0, 5)))
            ) * source.randint(0, 1)
            text = f"{number:f}"
            below = number > Decimal(repr(low)) or (number == Decimal(repr(low)) and not without[0])
            above = number < Decimal(repr(high)) or (number == Decimal(repr(high)) and not without[1])
            assert bool(expression.fullmatch(text)) == (below and above), (low, high, without, text)


@pytest.mark.parametrize("make", [_generate_range_regex, _generate_float_regex])
@pytest.mark.parametrize(
    "bounds", [(7, 3), ("1", 2), (True, 2), (float("nan"), None), (None, float("inf")), (0, 10**400)]
)
def test_expressions_of_no_numbers(make, bounds):
    with pytest.raises(xgr.InvalidArgumentError):
        make(*bounds)


def test_rules_by_their_place():
    grammar = xgr.Grammar.from_ebnf(EBNF)
    assert [_is_rule_fsm_accept_string(grammar, rule, "12") for rule in range(4)] == [
        False,
        False,
        True,
        False,
    ]
    assert _is_rule_fsm_accept_string(grammar, 0, "ax1")
    with pytest.raises(xgr.InvalidArgumentError, match="4 rules, and no rule 4"):
        _is_rule_fsm_accept_string(grammar, 4, "")
    compiled = xgr.GrammarCompiler(xgr.TokenizerInfo(["a"])).compile_grammar(grammar)
    assert _get_allow_empty_rule_ids(compiled) == [0, 1]


def test_machines_as_text():
    shown = _print_grammar_fsms(xgr.Grammar.from_ebnf('root ::= "(" root ")" | [0-9]'))
    assert "the root" in shown
    assert "may end" in shown
    assert "[0-9]" in shown
    with pytest.raises(xgr.GrammarError, match="generates nothing"):
        _print_grammar_fsms(xgr.Grammar.from_ebnf("root ::= root"))


@pytest.mark.parametrize("name", FUNCTORS)
def test_rewritings_keep_the_language(name):
    tagged = 'root ::= TagDispatch(("<a>", b)) c d\nb ::= "12" "</a>"\nc[lazy] ::= [a-z]* "."\nd ::= "x" d | "y"{2,3}'
    for text, texts in [
        (EBNF, ["", "a1", "axx12", "a", "q"]),
        (tagged, ["t<a>12</a>k.xyy", "<a>1</a>k.yy", "k.yyyy"]),
    ]:
        grammar = xgr.Grammar.from_ebnf(text)
        rewritten = getattr(GrammarFunctor, name)(grammar)
        assert xgr.Grammar.from_ebnf(str(rewritten)) == rewritten
        for sample in texts:
            assert _is_grammar_accept_string(rewritten, sample) == _is_grammar_accept_string(
                grammar, sample
            ), sample


def test_rewritings_do_something():
    grammar = xgr.Grammar.from_ebnf(EBNF)
    assert "unused" not in str(GrammarFunctor.dead_code_eliminator(grammar))
    assert '"a" "x"* [0-9]+' in str(
        GrammarFunctor.rule_inliner(xgr.Grammar.from_ebnf(EBNF.replace("[capture]", "")))
    )
    assert "unused" not in str(GrammarFunctor.grammar_optimizer(grammar))


@pytest.mark.parametrize(
    "style", ["qwen_xml", "minimax_xml", "deepseek_xml", "glm_xml", "cohere_xml", "kimi_k3_xml"]
)
def test_schemas_in_the_styles_of_tags(style):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    content = {"type": "json_schema", "json_schema": schema, "style": style}
    expected = xgr.Grammar.from_structural_tag({"format": content})
    assert _json_schema_to_ebnf(schema, json_format=style) == str(expected)
    with pytest.raises(xgr.UnsupportedFeatureError, match="indent is for JSON"):
        _json_schema_to_ebnf(schema, json_format=style, indent=2)


def test_styles_that_there_are_not():
    with pytest.raises(xgr.InvalidStructuralTagError, match="no style"):
        _json_schema_to_ebnf({"type": "object"}, json_format="yaml")
    with pytest.raises(xgr.JSONSchemaError, match="not JSON"):
        _json_schema_to_ebnf("{", json_format="qwen_xml")


@pytest.mark.parametrize(("size", "index"), [(65, 0), (20, 0), (40, 1), (40, -1), (-1, 0)])
def test_rows_that_a_bitmask_does_not_have(size, index):
    mask = np.array([[5, 0]], dtype=np.int32)
    for look in (_get_masked_tokens_from_bitmask, _is_single_token_bitmask):
        with pytest.raises(xgr.BitmaskError):
            look(mask, size, index)


def test_bitmasks_and_booleans():
    mask = np.array([[5, 0]], dtype=np.int32)
    assert _get_masked_tokens_from_bitmask(mask, 40)[:3] == [1, 3, 4]
    assert _is_single_token_bitmask(np.array([4], dtype=np.int32), 32) == (True, 2)
    booleans = bitmask_to_bool_mask(mask, 33)
    assert booleans.shape == (1, 33)
    assert bool_mask_to_bitmask(booleans)[0].tolist() == [5, -2]
    with pytest.raises(xgr.BitmaskError, match="negative"):
        bitmask_to_bool_mask(mask, -1)
    with pytest.raises(xgr.BitmaskError, match="int32"):
        bitmask_to_bool_mask(mask.astype(np.int64))
