"""`GrammarMatcher`: accepting, masks, rollback, fork, termination."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.testing import _get_masked_tokens_from_bitmask, _is_single_token_bitmask, bitmask_to_bool_mask


def allowed(matcher, size):
    mask = np.zeros(xgr.get_bitmask_shape(1, size), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    return set(np.flatnonzero(bitmask_to_bool_mask(mask, size)[0]).tolist())


def state(matcher, size):
    return (
        allowed(matcher, size),
        matcher.is_completed(),
        matcher.is_terminated(),
        matcher.find_jump_forward_string(),
    )


def test_a_short_walk(match, tiny):
    matcher = match('root ::= "a" "b"*', tokenizer_info=tiny)
    assert allowed(matcher, 4) == {0, 2}
    assert matcher.accept_token(2)
    assert matcher.is_completed()
    assert not matcher.is_terminated()
    assert allowed(matcher, 4) == {1, 3}
    assert not matcher.accept_token(0)
    assert matcher.accept_token(3)
    assert matcher.is_terminated()
    assert not matcher.accept_token(1)
    assert not matcher.accept_token(3)


def test_after_the_stop_token(match, tiny):
    matcher = match('root ::= "a"', tokenizer_info=tiny)
    assert matcher.accept_token(0)
    assert matcher.accept_token(3)
    with pytest.raises(RuntimeError, match="terminated"):
        matcher.fill_next_token_bitmask(np.zeros((1, 1), dtype=np.int32))
    with pytest.raises(RuntimeError, match="terminated"):
        matcher.find_jump_forward_string()
    assert not matcher.accept_string("")
    matcher.rollback()
    assert not matcher.is_terminated()
    assert allowed(matcher, 4) == {3}


@pytest.mark.parametrize(
    "token", [-1, 4, 31, 32, 2**31, 2**32, 2**63, 2**70, -(2**70), np.int64(-5), np.uint8(200)]
)
def test_tokens_out_of_range_do_not_fit(match, tiny, token):
    matcher = match('root ::= "a"', tokenizer_info=tiny)
    assert matcher.accept_token(token) is False
    assert matcher.validate_tokens([token]) == 0
    assert allowed(matcher, 4) == {0}


def test_token_types(match, tiny):
    matcher = match("root ::= [a]*", tokenizer_info=tiny)
    assert matcher.accept_token(np.int32(0))
    assert matcher.accept_token(np.array(0))
    assert matcher.accept_token(False)
    for wrong in ("a", 0.0, None, [0]):
        with pytest.raises(TypeError):
            matcher.accept_token(wrong)


def test_accept_string(match, vocab):
    matcher = match('root ::= "é" [a-z]* "."')
    assert not matcher.accept_string("éa-")
    assert allowed(matcher, len(vocab)) >= {vocab.index("é")}
    assert matcher.accept_string("é".encode()[:1])
    assert matcher.accept_string("é".encode()[1:] + b"ab")
    assert matcher.accept_string("")
    matcher.rollback(1)
    assert matcher.accept_string(".")
    assert matcher.is_completed()
    for wrong in (3, None, ["a"], bytearray(b"a")):
        with pytest.raises(RuntimeError):
            matcher.accept_string(wrong)
        with pytest.raises(TypeError):
            matcher.accept_string(wrong)


def test_rollback(match, vocab):
    matcher = match("root ::= [a-z]+")
    states = [state(matcher, len(vocab))]
    for text in ("a", "bc", "d"):
        assert matcher.accept_string(text)
        states.append(state(matcher, len(vocab)))
    matcher.rollback(0)
    assert state(matcher, len(vocab)) == states[3]
    matcher.rollback(2)
    assert state(matcher, len(vocab)) == states[1]
    matcher.rollback()
    assert state(matcher, len(vocab)) == states[0]


@pytest.mark.parametrize("count", [-1, -5, 2, 100, 2**62])
def test_rollback_of_a_wrong_count_is_an_error_and_changes_nothing(match, vocab, count):
    matcher = match("root ::= [a-z]+")
    assert matcher.accept_string("a")
    before = state(matcher, len(vocab))
    with pytest.raises(RuntimeError):
        matcher.rollback(count)
    assert state(matcher, len(vocab)) == before


def test_fork_and_reset(match, vocab):
    matcher = match('root ::= "a" ("b" | "c") "d"')
    assert matcher.accept_string("a")
    other = matcher.fork()
    assert isinstance(other, xgr.GrammarMatcher)
    assert matcher.accept_string("b")
    assert other.accept_string("cd")
    assert other.is_completed()
    assert not matcher.is_completed()
    other.rollback(2)
    assert state(other, len(vocab))[3] == "a"
    matcher.reset()
    assert state(matcher, len(vocab)) == state(other, len(vocab))
    with pytest.raises(RuntimeError):
        matcher.rollback()


def test_jump_forward(match):
    matcher = match('root ::= "{\\"name\\": \\"" [a-z]+ "\\", \\"é" "日"? "\\"}"')
    assert matcher.find_jump_forward_string() == '{"name": "'
    assert matcher.accept_string('{"name": "')
    assert matcher.find_jump_forward_string() == ""
    assert matcher.accept_string('x"')
    assert matcher.find_jump_forward_string() == ', "é'


def test_jump_forward_ends_at_a_whole_character(match):
    # é and è share their first byte, which alone is no string.
    matcher = match('root ::= "a" ("é" | "è")')
    assert matcher.find_jump_forward_string() == "a"


def test_validate_tokens(match, vocab, stop):
    matcher = match('root ::= "abc" [0-9]')
    a, b, ab, c, one = (vocab.index(text) for text in ("a", "b", "ab", "c", "1"))
    before = state(matcher, len(vocab))
    assert matcher.validate_tokens([a, b, c, one, stop]) == 5
    assert matcher.validate_tokens([ab, c, c]) == 2
    assert matcher.validate_tokens([ab, c, one, stop, a]) == 4
    assert matcher.validate_tokens([b]) == 0
    assert matcher.validate_tokens([]) == 0
    assert matcher.validate_tokens(np.array([ab, c, one])) == 3
    assert matcher.validate_tokens(iter([ab, -1, c])) == 1
    assert state(matcher, len(vocab)) == before
    with pytest.raises(TypeError):
        matcher.validate_tokens(["a"])


def test_the_mask_and_accept_agree(match, vocab):
    matcher = match('root ::= "a" [b-d]{2,4} ("true" | "éx" | "日")? "ab"*')
    for text in ("", "a", "b", "c", "\xe9", "a"):
        if text:
            matcher.accept_string(text)
        fits = {token for token in range(len(vocab)) if matcher.validate_tokens([token])}
        assert allowed(matcher, len(vocab)) == fits


@pytest.mark.parametrize("free", ['root ::= (.|"\\n")*', "root ::= [a-c]*", "root ::= .{0,2}"])
@pytest.mark.parametrize("vocab_size", [3, 5, 31, 32, 33, 64, 70])
@pytest.mark.parametrize("special", [[], [1]])
def test_the_mask_needs_no_apply_if_and_only_if_every_id_is_allowed(free, vocab_size, special):
    tokens = ["a", "b", "</s>"] + ["c" * count for count in range(1, vocab_size - 2)]
    for size in (vocab_size, vocab_size + 40):
        info = xgr.TokenizerInfo(tokens, vocab_size=size, stop_token_ids=[2], special_token_ids=special)
        matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar(free))
        for _ in range(3):
            mask = np.full((1, (size + 31) // 32), 7, dtype=np.int32)
            needs_apply = matcher.fill_next_token_bitmask(mask)
            bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:size]
            assert needs_apply is not bool(bits.all())
            matcher.accept_string("a")
    assert size > vocab_size


def test_free_text_needs_no_apply_without_control_tokens():
    info = xgr.TokenizerInfo(["a", "\n", "\u00e9", "</s>"])
    for text in ('root ::= (.|"\\n")*', 'root ::= TagDispatch(("<t>", t))\nt ::= "x"'):
        matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar(text))
        assert matcher.fill_next_token_bitmask(np.zeros((1, 1), dtype=np.int32)) is False


def test_needs_apply(tiny):
    everything = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "b", "ab"], stop_token_ids=[2])).compile_grammar(
        "root ::= [a-z]*"
    )
    mask = np.zeros((1, 1), dtype=np.int32)
    assert xgr.GrammarMatcher(everything).fill_next_token_bitmask(mask) is False
    assert mask[0, 0] & 0b111 == 0b111
    some = xgr.GrammarCompiler(tiny).compile_grammar('root ::= "a"')
    assert xgr.GrammarMatcher(some).fill_next_token_bitmask(mask) is True
    assert mask[0, 0] & 0b1111 == 0b1


def test_the_whole_row_is_written(match, tiny):
    mask = np.full((1, 1), -1, dtype=np.int32)
    match('root ::= "a"', tokenizer_info=tiny).fill_next_token_bitmask(mask)
    assert mask[0, 0] == 1


def test_terminate_without_stop_token(match, tiny):
    matcher = match('root ::= "a"+', tokenizer_info=tiny, terminate_without_stop_token=True)
    assert not matcher.is_terminated()
    assert matcher.accept_token(0)
    assert matcher.is_completed()
    assert matcher.is_terminated()
    assert not matcher.accept_token(3)


def test_override_stop_tokens(match, tiny):
    matcher = match('root ::= "a"', tokenizer_info=tiny, override_stop_tokens=[1])
    assert matcher.stop_token_ids == [1]
    assert matcher.accept_token(0)
    assert allowed(matcher, 4) == {1}
    assert not matcher.accept_token(3)
    assert matcher.accept_token(1)
    assert matcher.is_terminated()
    assert match("root ::= [a]", tokenizer_info=tiny, override_stop_tokens=2).stop_token_ids == [2]
    assert match("root ::= [a]", tokenizer_info=tiny).stop_token_ids == [3]
    for wrong in ([], [4], [-1], [2**40]):
        with pytest.raises(RuntimeError):
            match("root ::= [a]", tokenizer_info=tiny, override_stop_tokens=wrong)


def test_a_stop_token_that_is_also_a_terminal(match, tiny):
    inside = match('root ::= "a" Token(3) "b"', tokenizer_info=tiny)
    assert inside.accept_token(0)
    assert allowed(inside, 4) == {3}
    assert inside.accept_token(3)
    assert not inside.is_terminated()
    assert allowed(inside, 4) == {1}
    assert inside.accept_token(1)
    assert inside.is_completed()
    assert inside.accept_token(3)
    assert inside.is_terminated()

    at_the_end = match('root ::= "a" "</s>"', tokenizer_info=tiny)
    assert at_the_end.accept_token(0)
    assert allowed(at_the_end, 4) == {3}
    assert at_the_end.accept_token(3)
    assert at_the_end.is_terminated()


def test_constructor(tiny):
    compiled = xgr.GrammarCompiler(tiny).compile_grammar('root ::= "a"')
    for wrong in (None, "root", tiny):
        with pytest.raises(ValueError, match="CompiledGrammar"):
            xgr.GrammarMatcher(wrong)
    with pytest.warns(DeprecationWarning, match="max_rollback_tokens"):
        matcher = xgr.GrammarMatcher(compiled, max_rollback_tokens=200)
    assert matcher.max_rollback_tokens == -1
    assert matcher.compiled_grammar is compiled
    for wrong in (-0.5, math.nan, math.inf):
        with pytest.raises(ValueError, match="default_temperature"):
            xgr.GrammarMatcher(compiled, default_temperature=wrong)


def test_temperature(match):
    assert match('root ::= "a"').temperature is None
    matcher = match('root ::= "x" hot "y"\nhot[temperature=0.75] ::= [a-z]+ "."', default_temperature=0.25)
    assert matcher.temperature == 0.25
    assert matcher.accept_string("x")
    assert matcher.temperature == 0.75
    assert matcher.accept_string("abc.")
    assert matcher.temperature == 0.25


def test_captures(match):
    matcher = match('root ::= name "=" value\nname[capture] ::= [a-z]+\nvalue[capture="v"] ::= [0-9]+')
    assert matcher.accept_string("ab=12")
    assert matcher.get_captures() == [("name", b"ab"), ("v", b"12")]
    assert len(matcher.get_captures(deduplicate=False)) >= 2


def test_debug_arguments(match, tiny, capfd):
    matcher = match('root ::= "a"', tokenizer_info=tiny)
    assert matcher.fill_next_token_bitmask(np.zeros((1, 1), dtype=np.int32), debug_print=True)
    assert not matcher.accept_string("b", debug_print=True)
    assert matcher.accept_token(0, debug_print=True)
    filled, refused, accepted = capfd.readouterr().err.splitlines()
    assert "some tokens are forbidden; steps: 0" in filled
    assert "accept_string('b'): refused" in refused
    assert "accept_token(0): accepted; steps: 1, completed: true" in accepted
    assert isinstance(matcher._debug_print_internal_state(), str)
    assert "GrammarMatcher" in repr(matcher)


def test_testing_helpers(match, tiny):
    mask = np.zeros((2, 1), dtype=np.int32)
    match('root ::= "a"', tokenizer_info=tiny).fill_next_token_bitmask(mask, 1)
    assert _is_single_token_bitmask(mask, 4, 1) == (True, 0)
    assert _is_single_token_bitmask(mask, 4, 0) == (False, -1)
    assert _get_masked_tokens_from_bitmask(mask, 4, 1) == [1, 2, 3]


def test_subclasses(tiny):
    class Mine(xgr.GrammarMatcher):
        extra = 1

    matcher = Mine(xgr.GrammarCompiler(tiny).compile_grammar('root ::= "a"'))
    matcher.note = "kept"
    assert matcher.accept_token(0)


@pytest.mark.parametrize(
    ("pattern", "text"), [("xcxa", "xcxa"), (r"\r\r\n", "\r\r\n"), (r"\)\)\)\)\)\n", ")))))\n")]
)
def test_tokens_that_hold_another_in_their_middle(pattern, text):
    texts = ["xa", "xcxa", "\r\n", "\r\r\n", "\r", "\n", ")", ")))", ")))))\n", "))", "</s>"]
    compiled = xgr.GrammarCompiler(xgr.TokenizerInfo(texts)).compile_regex(pattern)
    matcher = xgr.GrammarMatcher(compiled)
    fits = {token for token in range(len(texts)) if matcher.validate_tokens([token])}
    assert texts.index(text) in fits
    assert allowed(matcher, len(texts)) == fits


@pytest.mark.parametrize(
    ("grammar", "read"),
    [
        ('root ::= "a" [^\\n]+', "a"),
        ("root ::= [^x]{2,40}", "a"),
        ('root ::= "a" ("</s>" | [^x]{4})+', "a"),
    ],
)
def test_a_stop_token_is_no_free_text(match, tiny, grammar, read):
    """Servers strip the stop token, so that the text without it would not be one of the grammar."""
    for options in ({}, {"max_tokens": 50}):
        matcher = match(grammar, tokenizer_info=tiny, **options)
        assert matcher.accept_string(read)
        stop = tiny.stop_token_ids[0]
        mask = xgr.allocate_token_bitmask(1, tiny.vocab_size)
        matcher.fill_next_token_bitmask(mask)
        assert not xgr.testing.bitmask_to_bool_mask(mask, tiny.vocab_size)[0][stop]
        assert not matcher.accept_token(stop)
        assert not matcher.is_terminated()
