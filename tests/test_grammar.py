"""`Grammar`: front ends, printing, combining, serializing."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import tokenstile as xgr
from tokenstile.testing import _is_grammar_accept_string as accepts


def test_from_ebnf_and_back():
    grammar = xgr.Grammar.from_ebnf('root ::= "a" b*\nb ::= [x-z]{2, 3} | "é"')
    again = xgr.Grammar.from_ebnf(str(grammar))
    for text, expected in [("a", True), ("axy", True), ("aéxyz", True), ("ax", False), ("b", False)]:
        assert accepts(grammar, text) is expected
        assert accepts(again, text) is expected


def test_root_rule_name():
    grammar = xgr.Grammar.from_ebnf('start ::= "a"', root_rule_name="start")
    assert accepts(grammar, "a")
    with pytest.raises(xgr.EBNFError):
        xgr.Grammar.from_ebnf('start ::= "a"')
    assert accepts(xgr.Grammar.from_ebnf(str(grammar)), "a")


def test_from_regex_is_anchored(capsys):
    grammar = xgr.Grammar.from_regex("a|b+", print_converted_ebnf=True)
    assert capsys.readouterr().out.strip() == str(grammar).strip()
    assert accepts(grammar, "bbb")
    assert not accepts(grammar, "xa")
    assert not accepts(grammar, "ax")


def test_builtin_json():
    grammar = xgr.Grammar.builtin_json_grammar()
    assert accepts(grammar, '{"a": [1, -2.5, 1e-07, true, null, "é"], "b": {}}')
    other = '{"a": [-2.5e+3, "\\u0061"]}'
    assert not accepts(grammar, other)
    assert accepts(xgr.Grammar.builtin_json_grammar(spelling="any"), other)
    assert accepts(grammar, "[]")
    for text in ["1", '"a"', "{", "[1,]", "{'a': 1}", "[01]"]:
        assert not accepts(grammar, text)


def test_concat_and_union():
    a, b = xgr.Grammar.from_ebnf('root ::= "a"'), xgr.Grammar.from_regex("b+")
    both, either = xgr.Grammar.concat(a, b), xgr.Grammar.union(a, b)
    assert accepts(both, "abb")
    assert not accepts(both, "a")
    assert accepts(either, "bb")
    assert accepts(either, "a")
    assert not accepts(either, "ab")
    assert accepts(xgr.Grammar.concat(), "")


def test_equality_hash_and_pickle():
    one, two = xgr.Grammar.from_ebnf('root ::= "a"'), xgr.Grammar.from_ebnf('root   ::=   "a"  # same')
    other = xgr.Grammar.from_ebnf('root ::= "b"')
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    assert one != "root"
    assert pickle.loads(pickle.dumps(one)) == one


def test_serialize():
    grammar = xgr.Grammar.from_ebnf('root ::= "a" b\nb ::= [0-9]+')
    document = json.loads(grammar.serialize_json())
    assert document["__VERSION__"] == xgr.get_serialization_version()
    assert xgr.Grammar.deserialize_json(grammar.serialize_json()) == grammar


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", xgr.InvalidJSONError),
        ("{", xgr.InvalidJSONError),
        ("[" * 100_000, xgr.InvalidJSONError),
        ("[]", xgr.DeserializeFormatError),
        ("{}", xgr.DeserializeFormatError),
        ('{"__VERSION__": "v16"}', xgr.DeserializeVersionError),
        ('{"__VERSION__": "%s"}', xgr.DeserializeFormatError),
        ('{"__VERSION__": "%s", "ebnf": 1, "root": "root"}', xgr.DeserializeFormatError),
        ('{"__VERSION__": "%s", "ebnf": "root ::=", "root": "root"}', xgr.DeserializeFormatError),
    ],
)
def test_deserialize_refuses(text, error):
    with pytest.raises(error):
        xgr.Grammar.deserialize_json(text.replace("%s", xgr.get_serialization_version()))


def test_hostile_inputs_are_quick():
    results = []
    for text in ["root ::= " + "(" * 30_000, "root ::= " + "(" * 30_000 + '"a"' + ")" * 30_000]:
        with pytest.raises((xgr.EBNFError, xgr.LimitExceededError)) as caught:
            xgr.Grammar.from_ebnf(text)
        results.append(caught.value)
    assert all(len(str(error)) < 1000 for error in results)


def test_accepts_tells_whether_a_text_is_whole():
    grammar = xgr.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}})
    assert grammar.accepts('{"a": 1}')
    assert grammar.accepts(b"{}")
    assert not grammar.accepts('{"a": ')
    assert not grammar.accepts('{"a": 1} ')
    assert not grammar.accepts('{"b": 1}')
    assert xgr.Grammar.from_regex("é*").accepts("éé")
    assert not xgr.Grammar.from_regex("é*").accepts(b"\xc3")


def test_accepts_knows_no_tokens():
    info = xgr.TokenizerInfo(["a", "<|x|>"], special_token_ids=[1])
    grammar = xgr.Grammar.from_ebnf('root ::= "a" Token("<|x|>")?', tokenizer_info=info)
    with pytest.raises(xgr.InvalidArgumentError, match="names tokens"):
        grammar.accepts("a")


def test_accepts_says_what_cannot_be_compiled_and_read():
    with pytest.raises(xgr.InvalidArgumentError, match="str or bytes"):
        xgr.Grammar.from_regex("a").accepts(3)
    with pytest.raises(UnicodeEncodeError):
        xgr.Grammar.from_regex("a").accepts("\ud800")


def test_accepts_from_many_threads():
    grammar = xgr.Grammar.from_regex("(ab)*")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(grammar.accepts, ["ab" * count for count in range(100)])) == [True] * 100
