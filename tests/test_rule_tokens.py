"""Rules that may take so many tokens, in every front end, with a real vocabulary."""

import pytest

import tokenstile as xgr

VOCABULARY = ["<think>", "</think>", "a", "b", "ab", " ", "yes", "no", "a</think>", "</s>"]


@pytest.fixture(scope="module")
def compiler():
    return xgr.GrammarCompiler(xgr.TokenizerInfo(VOCABULARY, stop_token_ids=[9]))


def choices(matcher):
    bitmask = xgr.allocate_token_bitmask(1, len(VOCABULARY))
    matcher.fill_next_token_bitmask(bitmask)
    fits = xgr.testing.bitmask_to_bool_mask(bitmask, len(VOCABULARY))[0]
    allowed = [VOCABULARY[token] for token in range(len(VOCABULARY)) if fits[token]]
    assert allowed == [text for at, text in enumerate(VOCABULARY) if matcher.validate_tokens([at]) == 1]
    return allowed


def along(matcher, *tokens):
    for token in tokens:
        assert matcher.accept_token(VOCABULARY.index(token)), token
    return choices(matcher)


EBNF = """
root ::= "<think>" thought "</think>" answer
thought[max_tokens=2] ::= [ab ]*
answer ::= "yes" | "no"
"""
LARK = """
start: "<think>" thought "</think>" answer
thought[max_tokens=2]: /[ab ]*/
answer: "yes" | "no"
"""
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {
                "type": "tag",
                "begin": "<think>",
                "content": {"type": "any_text", "max_tokens": 2, "excludes": ["yes", "no", "<think>"]},
                "end": "</think>",
            },
            {"type": "or", "elements": [{"type": "const_string", "value": text} for text in ("yes", "no")]},
        ],
    },
}


@pytest.mark.parametrize(
    "grammar",
    [
        xgr.Grammar.from_ebnf(EBNF),
        xgr.Grammar.from_ebnf(str(xgr.Grammar.from_ebnf(EBNF))),
        xgr.Grammar.from_lark(LARK),
        xgr.Grammar.from_structural_tag(TAG),
        xgr.Grammar.deserialize_json(xgr.Grammar.from_ebnf(EBNF).serialize_json()),
    ],
    ids=["ebnf", "printed", "lark", "structural tag", "serialised"],
)
def test_a_thought_ends_in_time(compiler, grammar):
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(grammar))
    inside = {"</think>", "a", "b", "ab", " ", "a</think>"}
    assert set(along(matcher, "<think>")) >= inside
    assert set(along(matcher, "ab")) >= inside
    assert along(matcher, " ") == ["</think>"]
    assert along(matcher, "</think>") == ["yes", "no"]
    matcher.rollback(2)
    assert set(choices(matcher)) >= inside
    assert along(matcher, "a</think>") == ["yes", "no"]
    assert along(matcher, "no") == ["</s>"]


def test_strings_do_not_count(compiler):
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(EBNF))
    assert matcher.accept_string("<think>ababab ababab")
    assert "a" in along(matcher, "a")
    assert along(matcher, "b") == ["</think>"]


def test_drafts_are_counted(compiler):
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(EBNF))
    draft = [VOCABULARY.index(text) for text in ("<think>", "a", "b", "ab", "</think>")]
    assert matcher.validate_tokens(draft) == 3
    assert matcher.validate_tokens([*draft[:3], *draft[4:]]) == 4


def test_a_rule_that_cannot_end_goes_on(compiler):
    grammar = 'root ::= word " "?\nword[max_tokens=1] ::= "aab" | "ab"'
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(grammar))
    assert along(matcher, "a") == ["a", "b", "ab"]
    assert along(matcher, "a") == ["b"]
    assert along(matcher, "b") == [" ", "</s>"]


def test_what_cannot_be_kept_is_refused(compiler):
    with pytest.raises(
        xgr.UnsupportedFeatureError, match=r"max_tokens.*calls itself before anything is read"
    ):
        compiler.compile_grammar('root[max_tokens=4] ::= root "a" root | "b"')


@pytest.mark.parametrize(
    "grammar",
    [xgr.Grammar.from_ebnf(EBNF), xgr.Grammar.from_lark(LARK), xgr.Grammar.from_structural_tag(TAG)],
    ids=["ebnf", "lark", "structural tag"],
)
def test_a_thought_within_a_budget_of_the_whole(compiler, grammar):
    compiled = compiler.compile_grammar(grammar)
    with pytest.raises(xgr.TokenBudgetError) as caught:
        xgr.GrammarMatcher(compiled, max_tokens=0)
    assert caught.value.tokens_needed == 4  # <think>, </think>, an answer, the stop token
    # The budget of the whole leaves less to the thought than it has of its own.
    matcher = xgr.GrammarMatcher(compiled, max_tokens=5)
    assert "ab" in along(matcher, "<think>")
    assert along(matcher, "ab") == ["</think>", "a</think>"]
    assert along(matcher, "a</think>") == ["yes", "no"]
    assert (matcher.tokens_left, matcher.tokens_needed) == (2, 2)
    # The budget of the whole leaves more.
    matcher = xgr.GrammarMatcher(compiled, max_tokens=50)
    assert "ab" in along(matcher, "<think>", "ab")
    assert along(matcher, "ab") == ["</think>"]
    fork = matcher.fork()
    matcher.rollback(1)
    assert "ab" in choices(matcher)
    assert along(fork, "</think>", "no") == ["</s>"]
    assert (fork.tokens_left, matcher.tokens_left) == (45, 48)


def test_many_occurrences_share_masks(compiler):
    compiled = compiler.compile_grammar('root ::= (word " ")*\nword[max_tokens=3] ::= [ab]+')
    matcher = xgr.GrammarMatcher(compiled)
    for _ in range(300):
        assert "a" in along(matcher, "a")
        assert along(matcher, "b", "ab") == [" "]
        along(matcher, " ")
    assert compiled.memory_size_bytes < 8_000_000
