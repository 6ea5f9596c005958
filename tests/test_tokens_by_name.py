"""Tokens that a grammar names by their text: in EBNF, through a compiler and without one."""

from __future__ import annotations

import pytest

import tokenstile as xgr

INFO = xgr.TokenizerInfo(["a", "b", "<|im_end|>", "<think>", "\n", "é", "</s>"])
END, THINK, STOP = 2, 3, 6


def allowed(matcher):
    mask = xgr.allocate_token_bitmask(1, INFO.vocab_size)
    matcher.fill_next_token_bitmask(mask)
    forbidden = xgr.testing._get_masked_tokens_from_bitmask(mask, INFO.vocab_size)
    return sorted(set(range(INFO.vocab_size)) - set(forbidden))


@pytest.mark.parametrize(
    ("by_name", "by_id"),
    [
        ('Token("<|im_end|>")', "Token(2)"),
        ('Token("<think>", 0, "\\n")', "Token(0, 3, 4)"),
        ('ExcludeToken("é", "</s>")', "ExcludeToken(5, 6)"),
        ("<think>", "Token(3)"),
        ("!<think>", "ExcludeToken(3)"),
    ],
)
def test_names_are_ids(by_name, by_id):
    expected = xgr.Grammar.from_ebnf(f"root ::= {by_id}")
    assert xgr.Grammar.from_ebnf(f"root ::= {by_name}", tokenizer_info=INFO) == expected
    compiled = xgr.GrammarCompiler(INFO).compile_grammar(f"root ::= {by_name}")
    assert compiled.grammar == expected


def test_masks():
    compiler = xgr.GrammarCompiler(INFO)
    matcher = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a" Token("<|im_end|>", "\\n")'))
    assert allowed(matcher) == [0]
    assert matcher.accept_token(0)
    assert allowed(matcher) == [END, 4]
    assert matcher.accept_token(END)
    assert allowed(matcher) == [STOP]


def test_dispatch_by_name():
    text = 'root ::= TokenTagDispatch(("<think>", t), excludes=("b",))\nt ::= "a"'
    by_id = 'root ::= TokenTagDispatch((3, t), excludes=(1,))\nt ::= "a"'
    assert xgr.Grammar.from_ebnf(text, tokenizer_info=INFO) == xgr.Grammar.from_ebnf(by_id)


def test_in_structural_tags():
    tag = {"format": {"type": "grammar", "grammar": 'root ::= "a" Token("<|im_end|>")'}}
    by_id = {"format": {"type": "grammar", "grammar": 'root ::= "a" Token(2)'}}
    found = xgr.Grammar.from_structural_tag(tag, tokenizer_info=INFO)
    assert found == xgr.Grammar.from_structural_tag(by_id)


def test_tokens_without_a_text_have_no_name():
    info = xgr.TokenizerInfo(["a", "", "</s>"], vocab_size=5)
    with pytest.raises(xgr.EBNFError, match="no token ``"):
        xgr.Grammar.from_ebnf('root ::= Token("")', tokenizer_info=info)


@pytest.mark.parametrize("written", ['Token("nope")', 'ExcludeToken(1, "nope")', "<nope>"])
def test_names_that_there_are_not(written):
    for read in (
        lambda text: xgr.Grammar.from_ebnf(text, tokenizer_info=INFO),
        xgr.GrammarCompiler(INFO).compile_grammar,
    ):
        with pytest.raises(xgr.EBNFError, match=r"the vocabulary has no token `<?nope>?`") as caught:
            read(f'root ::= "a"\n  {written}')
        assert caught.value.line == 2


def test_names_without_a_tokenizer():
    with pytest.raises(xgr.EBNFError, match="only with a tokenizer") as caught:
        xgr.Grammar.from_ebnf('root ::= Token("a")')
    assert "tokenizer_info" in caught.value.help
    assert (caught.value.line, caught.value.column) == (1, 16)


@pytest.mark.parametrize("written", ["Token(-1)", "Token(4294967296)", "Token(true)", "Token(a)", "Token()"])
def test_what_is_no_token(written):
    with pytest.raises(xgr.EBNFError, match=r"a token is|at least one token"):
        xgr.Grammar.from_ebnf(f"root ::= {written}\na ::= 'x'".replace("'", '"'), tokenizer_info=INFO)


def test_other_tokenizers_are_refused():
    with pytest.raises(ValueError, match="okenizer"):
        xgr.Grammar.from_ebnf('root ::= "a"', tokenizer_info="a tokenizer")
