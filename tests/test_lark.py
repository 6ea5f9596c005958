"""Lark through Python: arguments, errors, caching, and the grammars of the peers' own documents."""

from __future__ import annotations

import inspect
import json
import random

import pytest

import tokenstile as xgr
from tokenstile.lark import lark_to_ebnf


def accepts(grammar, text):
    return xgr.testing._is_grammar_accept_string(grammar, text)


def test_signatures():
    expected = ["lark_string", "tokenizer_info", "named_grammars"]
    assert list(inspect.signature(xgr.Grammar.from_lark).parameters)[:3] == expected
    parameters = inspect.signature(xgr.GrammarCompiler.compile_lark).parameters
    assert list(parameters)[:3] == ["self", "lark_string", "named_grammars"]


def test_a_grammar_is_a_grammar():
    grammar = xgr.Grammar.from_lark('start: "a" b\nb: "b"+')
    assert grammar == xgr.Grammar.from_ebnf(str(grammar))
    assert accepts(grammar, "abb")
    assert lark_to_ebnf('start: "a" b\nb: "b"+') == str(grammar)


def test_errors_have_their_place():
    with pytest.raises(xgr.LarkError) as caught:
        xgr.Grammar.from_lark('start: "a"\n  | missing')
    assert (caught.value.line, caught.value.column) == (2, 5)
    assert "missing" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(xgr.UnsupportedFeatureError, match="priority"):
        xgr.Grammar.from_lark("start: A\nA.1: /a/")
    with pytest.raises(xgr.LimitExceededError):
        xgr.Grammar.from_lark('start: "a"', limits=xgr.Limits(max_source_bytes=3))


def test_named_grammars():
    schema = xgr.Grammar.from_json_schema({"type": "integer"})
    source = "start: @number @tail"
    named = {"number": schema, "tail": 'start: "!" | "(" @tail ")"'}
    assert accepts(xgr.Grammar.from_lark(source, named_grammars=named), "12((!))")
    info = xgr.TokenizerInfo(["1", "!"])
    compiler = xgr.GrammarCompiler(info)
    compiled = compiler.compile_lark(source, named_grammars=named)
    assert compiler.compile_lark(source, named_grammars=dict(named)) == compiled
    assert compiler.get_stats()["compilations"] == 1
    other = compiler.compile_lark(source, named_grammars={**named, "tail": 'start: "?"'})
    assert not xgr.GrammarMatcher(other).accept_string("1!")
    for wrong in [[], {1: "start: "}, {"x": 1}]:
        with pytest.raises(TypeError):
            xgr.Grammar.from_lark(source, named_grammars=wrong)
        with pytest.raises(TypeError):
            compiler.compile_lark(source, named_grammars=wrong)


def test_tokens_by_their_text():
    info = xgr.TokenizerInfo(["a", "<|tool|>", "b", "</s>"])
    grammar = xgr.Grammar.from_lark('start: <|tool|> "a"', tokenizer_info=info)
    assert "Token(1)" in str(grammar)
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_lark('start: <|tool|> "a"'))
    assert not matcher.accept_token(0)
    assert matcher.accept_token(1)
    assert matcher.accept_token(0)
    with pytest.raises(xgr.LarkError, match="only with a tokenizer"):
        xgr.Grammar.from_lark("start: <|tool|>")
    with pytest.raises(xgr.LarkError, match="no token"):
        xgr.Grammar.from_lark("start: <|other|>", tokenizer_info=info)


def test_text_and_tool_calls():
    grammar = xgr.Grammar.from_lark(r"""
        start: tool* tail
        tail: TEXT
        head[lazy]: TEXT "<call>"
        tool: head arguments "</call>"
        arguments[capture]: %json {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
        TEXT: /(\n|.)*/
    """)
    assert accepts(grammar, "no call at all, a partial one <cal")
    assert accepts(grammar, 'so <call>{"x": 1}</call> and <call>{"x": 2}</call>')
    assert not xgr.testing._is_grammar_accept_string(grammar, "<call>x", require_termination=False)
    matcher = xgr.testing._get_matcher_from_grammar(grammar)
    assert matcher.accept_string('a<call>{"x": 1}</call>b')
    assert matcher.get_captures() == [("arguments", b'{"x": 1}')]


PYTHON_LIKE = r"""
    start: statement+
    statement: NAME "=" sum ";"
    sum: product | sum "+" product
    product: atom | product "*" atom
    atom: NUMBER | NAME | "(" sum ")"
    %import common.CNAME -> NAME
    %import common.NUMBER
    %import common.WS
    %import common.SH_COMMENT
    %ignore WS
    %ignore SH_COMMENT
"""


def test_a_small_language():
    grammar = xgr.Grammar.from_lark(PYTHON_LIKE)
    assert accepts(grammar, "x = 1 + 2*(y+3); # done\ny = x ;\n")
    assert not accepts(grammar, "x = 1 +;")
    assert not accepts(grammar, "x y = 1;")


def first_marker(text, markers):
    """Return where the first marker in a text ends, and the longest of those that end there."""
    for end in range(1, len(text) + 1):
        found = [marker for marker in markers if text[:end].endswith(marker)]
        if found:
            return end, max(found, key=len)
    return None, ""


@pytest.mark.parametrize("body", [r"/(.|\n)*/", "/[a-c]*/"])
def test_captures_before_random_markers(body):
    chance = random.Random(body)  # noqa: S311 - a test
    info = xgr.TokenizerInfo([bytes([byte]) for byte in range(256)])
    compiler = xgr.GrammarCompiler(info, max_threads=1)
    for _ in range(60):
        markers = ["".join(chance.choices("ab", k=chance.randint(1, 4))) for _ in range(chance.randint(1, 4))]
        listed = " | ".join(f'"{marker}"' for marker in markers)
        stop = chance.choice(["STOP", "/" + "|".join(markers) + "/"])
        head = f'start: "-" text "!"\ntext[stop={stop}, capture, stop_capture="end"]: {body}\n'
        compiled = compiler.compile_lark(f"{head}STOP: {listed}\n")
        for _ in range(12):
            text = "".join(chance.choices("abc", k=chance.randint(0, 7)))
            end, marker = first_marker(text, markers)
            matcher = xgr.GrammarMatcher(compiled)
            fits = matcher.accept_string(f"-{text}!") and matcher.is_completed()
            assert fits == (end == len(text)), (markers, text)
            if end == len(text):
                before = text.removesuffix(marker).encode()
                assert dict(matcher.get_captures()) == {"text": before, "end": marker.encode()}, markers


def many_stops(count, body):
    words = "|".join(f"<{at}{'x' * at}>" for at in range(count))
    return f"start: text\ntext[stop=/{words}/, capture]: {body}"


def test_captures_before_markers_of_many_lengths():
    """One automaton for all of them, or an error: not one for each."""
    sizes = [len(str(xgr.Grammar.from_lark(many_stops(count, r"/(.|\n)*/")))) for count in (50, 100)]
    assert sizes[1] < 5 * sizes[0]
    xgr.Grammar.from_lark(many_stops(15, "/[a-z<>]*/"))
    with pytest.raises(xgr.UnsupportedFeatureError, match="few lengths or few bytes") as caught:
        xgr.Grammar.from_lark(many_stops(100, "/[a-z<>]*/"))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("schema", "canonical"),
    [
        ({"type": "integer"}, False),
        ({"type": "number"}, True),
        ({"type": "integer", "minimum": -5}, False),
        ({"type": "number", "minimum": -1}, True),
        ({"type": "number", "multipleOf": 2}, False),
        ({"enum": [0]}, False),
    ],
)
def test_minus_zero_is_a_matter_of_spelling(schema, canonical):
    for spelling, has_it in (("canonical", canonical), ("any", True)):
        grammar = xgr.Grammar.from_lark(f"start: %json {json.dumps(schema)}", spelling=spelling)
        assert xgr.testing._is_grammar_accept_string(grammar, "-0") is has_it
        assert xgr.testing._is_grammar_accept_string(grammar, "0")
