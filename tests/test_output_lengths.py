"""The least and the most tokens of outputs: beside all outputs of small grammars, and of schemas by hand."""

import pytest

import tokenstile as xgr

VOCABULARY = ["a", "b", "c", "ab", "abc", "<", ">", "<a", ",", "</s>"]
STOP = VOCABULARY.index("</s>")


@pytest.fixture(scope="module")
def compiler():
    return xgr.GrammarCompiler(xgr.TokenizerInfo(VOCABULARY, stop_token_ids=[STOP]))


def all_lengths(compiled, most=14):
    """Return the numbers of tokens of all outputs, by trying them; None if one goes on."""
    lengths, open_ones = set(), [xgr.GrammarMatcher(compiled)]
    for count in range(1, most + 1):
        after = []
        for matcher in open_ones:
            for token in range(len(VOCABULARY)):
                if matcher.validate_tokens([token]):
                    fork = matcher.fork()
                    assert fork.accept_token(token)
                    after.append(fork)
        lengths |= {count for matcher in after if matcher.is_terminated()}
        open_ones = [matcher for matcher in after if not matcher.is_terminated()]
        assert len(open_ones) < 30_000
    return None if open_ones else lengths


FINITE = [
    'root ::= "abc"',
    'root ::= "a" | "ab" | "<abc>"',
    'root ::= "<" [ab]{1,4} ">"?',
    'root ::= "<" [abc]{0,3} ("," [abc]{1,2}){0,2}',
    "root ::= AtMost([ab]*, 3)",
    'root ::= Members(("a", true, "c"), ("b", false, "c"), order="any", separator=",") | "ab"',
    "root ::= Token(4) Token(0, 1)?",
    'root ::= ("a" | "b" | "") ("c" | "<a")',
    'root ::= list\nlist ::= "<" item? ">"\nitem ::= "a" ("," "b"){0,2}',
    'root ::= "<" text ">"\ntext[max_tokens=3] ::= [abc]*',
    'root ::= "<" text ">"\ntext[max_tokens=2] ::= ("ab" ",")*',
    'root ::= text "c"\ntext[max_tokens=2, lazy] ::= [^]* "ab"',
    'root[max_tokens=3] ::= "<" root ">" | "a" | "b"',
]


@pytest.mark.parametrize("grammar", FINITE)
def test_they_are_those_of_all_outputs(compiler, grammar):
    compiled = compiler.compile_grammar(grammar)
    lengths = all_lengths(compiled)
    if lengths is None:
        assert compiled.longest_output() is None
        return
    assert compiled.longest_output() is not None
    # Some grammars take more as far as is known: where a character that no token spells would be in the way.
    assert compiled.longest_output() >= max(lengths)
    assert compiled.shortest_output() >= min(lengths)
    assert xgr.GrammarMatcher(compiled, max_tokens=compiled.shortest_output()).tokens_needed


@pytest.mark.parametrize(
    "grammar",
    [grammar for grammar in FINITE if "[^]" not in grammar and "root[max_tokens" not in grammar],
)
def test_the_most_is_that_of_the_longest_output(grammar):
    """Where each byte is a token, and each rule with tokens of its own can end after any."""
    letters = ["a", "b", "c", "<", ">", ",", '"', ":", "1", "</s>"]
    if "Token(" in grammar or ("text[" in grammar and '","' in grammar):
        pytest.skip("its tokens are named, or it cannot end after each")
    info = xgr.TokenizerInfo(letters, stop_token_ids=[9])
    compiled = xgr.GrammarCompiler(info).compile_grammar(grammar)
    lengths, front = set(), [xgr.GrammarMatcher(compiled)]
    for count in range(1, 16):
        after = []
        for matcher in front:
            for token in range(len(letters)):
                if matcher.validate_tokens([token]):
                    fork = matcher.fork()
                    assert fork.accept_token(token)
                    after.append(fork)
        lengths |= {count for matcher in after if matcher.is_terminated()}
        front = [matcher for matcher in after if not matcher.is_terminated()]
        assert len(front) < 30_000
    assert not front
    assert compiled.longest_output() == max(lengths)
    assert compiled.shortest_output() == min(lengths)


@pytest.mark.parametrize(
    ("schema", "longest"),
    [
        ({"enum": ["yes", "no"]}, 5),
        ({"type": "boolean"}, 5),
        ({"type": "string"}, None),
        ({"type": "integer", "minimum": 0, "maximum": 1000}, 4),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 4}, 2 + 4 * 4 + 3),
        ({"type": "array", "items": {"type": "null"}}, None),
        # Twelve bytes for each pair of surrogates.
        ({"type": "string", "maxLength": 3}, 2 + 36),
        ({"type": "string", "maxLength": 3, "pattern": "^[a-z]*$"}, 5),
        ({"type": "string", "maxLength": 30_000, "pattern": "^[a-z]*$"}, 30_002),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "boolean"}, "b": {"enum": [1, 22]}},
                "required": ["a"],
                "additionalProperties": False,
            },
            len('{"a":false,"b":22}'),
        ),
        ({"type": "object", "additionalProperties": {"type": "null"}}, None),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}, None),
    ],
)
def test_schemas_in_bytes(schema, longest):
    info = xgr.TokenizerInfo([*(bytes([byte]) for byte in range(256)), b"</s>"], stop_token_ids=[256])
    compiled = xgr.GrammarCompiler(info).compile_json_schema(
        schema, any_whitespace=False, separators=(",", ":")
    )
    assert compiled.longest_output() == (None if longest is None else longest + 1)
    matcher = xgr.GrammarMatcher(compiled, max_tokens=compiled.shortest_output())
    assert matcher.tokens_needed == compiled.shortest_output()


def test_a_bound_of_thoughts_bounds_the_output():
    info = xgr.TokenizerInfo([*(bytes([byte]) for byte in range(256)), b"</s>"], stop_token_ids=[256])
    compiler = xgr.GrammarCompiler(info)
    compiled = compiler.compile_lark(
        'start: thought "yes"\nthought[max_tokens=20, suffix="</t>"]: /(.|\\n)*/'
    )
    # Twenty tokens, of which the last may begin a character of four bytes; the answer, and the stop token.
    assert compiled.longest_output() == 20 + 3 + 3 + 1
    free = compiler.compile_lark('start: thought "yes"\nthought[suffix="</t>"]: /(.|\\n)*/')
    assert free.longest_output() is None
