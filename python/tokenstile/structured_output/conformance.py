"""A test suite for backends: the contract, check by check, for any backend.

>>> from tokenstile.structured_output.conformance import check_backend
>>> from tokenstile.structured_output import TokenstileBackend
>>> [finding.name for finding in check_backend(TokenstileBackend) if not finding.passed]
[]

Each check is a function in `CHECKS`, whose documentation says what the contract asks for. Test suites run them one by
one (`run_check`), so that each is a test of its own. The vocabulary is small and the grammars are tiny: this is about
the corners of the contract, not about languages or speed.
"""

# ruff: noqa: D401 - the checks say what the contract asks for

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tokenstile.structured_output.contract import BackendContext
from tokenstile.structured_output.key import GrammarType
from tokenstile.testing import bitmask_to_bool_mask
from tokenstile.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokenstile.structured_output.contract import StructuredOutputBackend, StructuredOutputGrammar

__all__ = ["CHECKS", "Finding", "Trial", "check_backend", "run_check"]

_WORDS: Final = ["\n", "\t", "ab", "abc", "bc", '{"', '": ', "true", "é", "</s>", "<|end|>"]
_TOKENS: Final = [chr(code) for code in range(32, 127)] + _WORDS
# More logits than tokens, and not a whole number of words.
_VOCAB_SIZE: Final = 140

BackendMaker = Callable[[BackendContext], "StructuredOutputBackend"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found."""

    name: str
    passed: bool
    detail: str
    """What is wrong; empty if nothing is."""


class Trial:
    """A backend on trial, and short ways to use it."""

    stop: Final = _TOKENS.index("</s>")
    """The stop token of the vocabulary."""
    other_stop: Final = _TOKENS.index("<|end|>")
    """A token that ends a text if a request says so."""
    vocab_size: Final = _VOCAB_SIZE
    words: Final = -(-_VOCAB_SIZE // 32)

    def __init__(self, make: BackendMaker) -> None:
        info = TokenizerInfo(_TOKENS, vocab_size=_VOCAB_SIZE, stop_token_ids=[self.stop])
        self.backend = make(BackendContext(info, num_speculative_tokens=8))

    def start(
        self,
        spec: str = "ab*c",
        grammar_type: GrammarType = GrammarType.REGEX,
        stops: Collection[int] | None = None,
    ) -> StructuredOutputGrammar:
        """Compile a grammar; a small regular expression if nothing else is said."""
        return self.backend.compile_grammar(grammar_type, spec, stops)

    @staticmethod
    def ids(text: str) -> list[int]:
        """Return the tokens of a text, a character each."""
        return [_TOKENS.index(character) for character in text]

    def allowed(self, grammar: StructuredOutputGrammar) -> set[int]:
        """Return the tokens that a mask allows."""
        bitmask = self.backend.allocate_token_bitmask(1)
        grammar.fill_bitmask(bitmask, 0)
        return {int(token) for token in np.flatnonzero(bitmask_to_bool_mask(bitmask, self.vocab_size)[0])}

    def takes(self, grammar: StructuredOutputGrammar, text: str, *, whole: bool = True) -> bool:
        """Tell whether a grammar accepts a text, and an end after it."""
        fits = grammar.accept_tokens("trial", self.ids(text))
        return fits and (not whole or grammar.accept_tokens("trial", [self.stop]))


def _expect(condition: object, message: str) -> None:
    if not condition:
        raise AssertionError(message)


# Accepting.


def accepts_and_refuses(trial: Trial) -> None:
    """Tokens that fit are accepted, others are refused, and a refusal changes nothing."""
    grammar = trial.start()
    _expect(grammar.accept_tokens("r", trial.ids("ab")) is True, "tokens that fit were refused")
    before = trial.allowed(grammar)
    _expect(grammar.accept_tokens("r", trial.ids("a")) is False, "a token that does not fit was accepted")
    _expect(trial.allowed(grammar) == before, "a refused token changed the mask")
    _expect(grammar.accept_tokens("r", trial.ids("c")) is True, "after a refusal nothing fits any more")


def accepts_nothing(trial: Trial) -> None:
    """No tokens always fit."""
    grammar = trial.start()
    _expect(grammar.accept_tokens("r", []) is True, "no tokens were refused")
    grammar.accept_tokens("r", [*trial.ids("ac"), trial.stop])
    _expect(grammar.accept_tokens("r", []) is True, "no tokens were refused after termination")


def ignores_what_follows_the_end(trial: Trial) -> None:
    """After termination everything is accepted and ignored, also in the same call."""
    grammar = trial.start()
    tokens = [*trial.ids("ac"), trial.stop, *trial.ids("xyz")]
    _expect(grammar.accept_tokens("r", tokens) is True, "tokens after the stop token were refused")
    _expect(grammar.is_terminated(), "the stop token did not terminate")
    _expect(grammar.accept_tokens("r", trial.ids("a")) is True, "a token after termination was refused")


def refuses_ids_that_no_token_has(trial: Trial) -> None:
    """Ids that are negative or outside of the vocabulary are refused, without an exception."""
    grammar = trial.start("[^x]*")
    for token in (-1, -100, trial.vocab_size, trial.vocab_size + 1000, 2**31 - 1):
        _expect(grammar.accept_tokens("r", [token]) is False, f"the id {token} was accepted")
        _expect(grammar.validate_tokens([token]) == [], f"the id {token} was found valid")
    _expect(grammar.accept_tokens("r", trial.ids("a")) is True, "nothing fits after an unknown id")


# Validating.


def validates_the_longest_prefix(trial: Trial) -> None:
    """`validate_tokens` returns the longest prefix that fits."""
    grammar = trial.start()
    _expect(grammar.validate_tokens(trial.ids("abbx")) == trial.ids("abb"), "the prefix is wrong")
    _expect(grammar.validate_tokens(trial.ids("x")) == [], "the prefix is not empty")
    _expect(grammar.validate_tokens([]) == [], "the prefix of nothing is not nothing")


def validating_moves_nothing(trial: Trial) -> None:
    """`validate_tokens` leaves the state as it was."""
    grammar = trial.start()
    grammar.accept_tokens("r", trial.ids("a"))
    before = trial.allowed(grammar)
    grammar.validate_tokens([*trial.ids("bbc"), trial.stop])
    grammar.validate_tokens(trial.ids("bx"))
    _expect(trial.allowed(grammar) == before, "validating changed the mask")
    _expect(not grammar.is_terminated(), "validating terminated the grammar")


def validates_up_to_the_end(trial: Trial) -> None:
    """The prefix includes a stop token that ends the text, and nothing after it; after termination it is empty."""
    grammar = trial.start()
    tokens = [*trial.ids("ac"), trial.stop]
    _expect(grammar.validate_tokens([*tokens, *trial.ids("a")]) == tokens, "the end is in the wrong place")
    grammar.accept_tokens("r", tokens)
    _expect(grammar.validate_tokens(trial.ids("a")) == [], "something is valid after termination")


# Going back.


def rolls_back(trial: Trial) -> None:
    """`rollback` takes tokens back, one or several."""
    grammar = trial.start()
    start = trial.allowed(grammar)
    grammar.accept_tokens("r", trial.ids("abbb"))
    grammar.rollback(3)
    _expect(grammar.accept_tokens("r", trial.ids("c")), "after going back nothing fits")
    grammar.rollback(2)
    _expect(trial.allowed(grammar) == start, "going back to the start leads elsewhere")


def rolls_back_out_of_termination(trial: Trial) -> None:
    """`rollback` takes back a stop token, and the grammar goes on."""
    grammar = trial.start("ab*")
    grammar.accept_tokens("r", [*trial.ids("ab"), trial.stop])
    grammar.rollback(1)
    _expect(not grammar.is_terminated(), "it is still terminated")
    _expect(grammar.accept_tokens("r", trial.ids("b")), "it does not go on")
    grammar.accept_tokens("r", [trial.stop])
    grammar.rollback(3)
    _expect(grammar.accept_tokens("r", trial.ids("bb")), "going back over a stop token leads elsewhere")


def rolling_back_nothing_does_nothing(trial: Trial) -> None:
    """`rollback` of zero and of less does nothing."""
    grammar = trial.start()
    grammar.accept_tokens("r", trial.ids("a"))
    before = trial.allowed(grammar)
    grammar.rollback(0)
    grammar.rollback(-1)
    _expect(trial.allowed(grammar) == before, "the state has changed")


def resets(trial: Trial) -> None:
    """`reset` goes back to the start, also out of termination."""
    grammar = trial.start()
    start = trial.allowed(grammar)
    grammar.accept_tokens("r", [*trial.ids("abc"), trial.stop])
    grammar.reset()
    _expect(not grammar.is_terminated(), "it is still terminated")
    _expect(trial.allowed(grammar) == start, "the mask is not that of the start")


def begins_anew(trial: Trial) -> None:
    """`fresh` gives a second grammar at the start, and the two move apart."""
    first = trial.start()
    first.accept_tokens("r", trial.ids("ab"))
    second = first.fresh()
    _expect(second.accept_tokens("s", trial.ids("ac")), "the second is not at the start")
    _expect(first.accept_tokens("r", trial.ids("bc")), "the first has moved")
    _expect(not second.is_terminated(), "the second is terminated")


# Masks.


def masks_agree_with_accepting(trial: Trial) -> None:
    """A bit is set if and only if the token would be accepted, at each step and for each id."""
    grammar = trial.start("(ab|a[b-d]{2}|é)*x?")
    for token in (*trial.ids("ab"), _TOKENS.index("é"), _TOKENS.index("abc"), *trial.ids("x")):
        allowed = trial.allowed(grammar)
        valid = {one for one in range(trial.vocab_size) if grammar.validate_tokens([one])}
        _expect(allowed == valid, f"masked wrongly: {sorted(allowed ^ valid)}")
        _expect(grammar.accept_tokens("r", [token]), f"token {token} was refused")


def fills_the_whole_row(trial: Trial) -> None:
    """A row is overwritten whole, whatever was in it, and no other row is touched."""
    grammar = trial.start()
    results = []
    for stale in (0, -1, 0x5A5A5A5A):
        bitmask = trial.backend.allocate_token_bitmask(3)
        np.asarray(bitmask)[:] = stale
        grammar.fill_bitmask(bitmask, 1)
        rows = np.asarray(bitmask)
        _expect((rows[[0, 2]] == stale).all(), "another row was written")
        results.append(bitmask_to_bool_mask(rows[1:2], trial.vocab_size).tolist())
    _expect(results[0] == results[1] == results[2], "something of the old row was left")


def masks_padding(trial: Trial) -> None:
    """Logits without a token are never allowed."""
    grammar = trial.start(".*")
    high = [token for token in trial.allowed(grammar) if token >= len(_TOKENS)]
    _expect(not high, f"ids without a token are allowed: {high}")


def allocates_bitmasks(trial: Trial) -> None:
    """A bitmask is int32, in the memory of the CPU, with a row for each request and ceil(vocab / 32) words."""
    for rows in (1, 7):
        bitmask = trial.backend.allocate_token_bitmask(rows)
        array = np.asarray(bitmask)
        _expect(array.shape == (rows, trial.words), f"the shape is {array.shape}")
        _expect(array.dtype == np.int32, f"the elements are {array.dtype}")


def fills_in_threads(trial: Trial) -> None:
    """Rows of one bitmask can be filled by several threads at once."""
    grammars = [trial.start(f"[ab]{{{count}}}c") for count in range(1, 33)]
    for grammar in grammars:
        grammar.accept_tokens("r", trial.ids("a"))
    alone = trial.backend.allocate_token_bitmask(len(grammars))
    for row, grammar in enumerate(grammars):
        grammar.fill_bitmask(alone, row)
    together = trial.backend.allocate_token_bitmask(len(grammars))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda row: grammars[row].fill_bitmask(together, row), range(len(grammars))))
    first = bitmask_to_bool_mask(alone, trial.vocab_size)
    second = bitmask_to_bool_mask(together, trial.vocab_size)
    _expect((first == second).all(), "rows differ")


# The end.


def terminates_by_a_stop_token_only(trial: Trial) -> None:
    """A complete text is not terminated before a stop token comes, and asking changes nothing."""
    grammar = trial.start("ab")
    grammar.accept_tokens("r", trial.ids("ab"))
    before = trial.allowed(grammar)
    answers = [grammar.is_terminated() for _ in range(3)]
    _expect(answers == [False] * 3, "it is terminated without a stop token")
    _expect(trial.allowed(grammar) == before == {trial.stop}, "the mask is not that of the stop token alone")
    _expect(grammar.accept_tokens("r", [trial.stop]), "the stop token was refused")
    _expect([grammar.is_terminated() for _ in range(3)] == [True] * 3, "it is not terminated")


def masks_stop_tokens_until_the_end(trial: Trial) -> None:
    """A stop token is masked and refused until the text can end."""
    grammar = trial.start()
    _expect(trial.stop not in trial.allowed(grammar), "the stop token is allowed at the start")
    _expect(not grammar.accept_tokens("r", [trial.stop]), "the stop token was accepted at the start")
    grammar.accept_tokens("r", trial.ids("ac"))
    _expect(trial.stop in trial.allowed(grammar), "the stop token is masked at the end")


def honours_stop_tokens_of_a_request(trial: Trial) -> None:
    """The stop tokens of a request replace the tokenizer's: any of them ends the text, and only where it can end."""
    grammar = trial.start("ab*", stops={trial.other_stop})
    _expect(trial.other_stop not in trial.allowed(grammar), "it is allowed at the start")
    grammar.accept_tokens("r", trial.ids("a"))
    _expect(trial.other_stop in trial.allowed(grammar), "it is masked where the text can end")
    _expect(grammar.accept_tokens("r", [trial.other_stop]), "it was refused")
    _expect(grammar.is_terminated(), "it did not terminate")
    both = trial.start("a", stops={trial.stop, trial.other_stop})
    both.accept_tokens("r", trial.ids("a"))
    _expect(trial.allowed(both) == {trial.stop, trial.other_stop}, "not both are allowed")
    second = both.fresh({trial.other_stop})
    second.accept_tokens("r", trial.ids("a"))
    _expect(trial.allowed(second) == {trial.other_stop}, "a fresh grammar has the stop tokens of the old one")


# Compiling.


def refuses_what_is_wrong(trial: Trial) -> None:
    """What cannot be compiled raises, and the backend goes on."""
    wrong = [
        (GrammarType.REGEX, "(("),
        (GrammarType.JSON, "{not json"),
        (GrammarType.GRAMMAR, 'root ::= "a" undefined'),
        (GrammarType.STRUCTURAL_TAG, "{}"),
    ]
    for grammar_type, spec in wrong:
        try:
            trial.start(spec, grammar_type)
        except Exception:  # noqa: BLE001, S112 - which one is the backend's to say
            continue
        raise AssertionError(f"{spec!r} was compiled as {grammar_type.value}")
    _expect(trial.takes(trial.start(), "abc"), "nothing compiles any more")


def compiles_in_threads(trial: Trial) -> None:
    """Grammars can be compiled from many threads at once."""

    def work(number: int) -> bool:
        grammar = trial.start(f"a{{{number % 8 + 1}}}b")
        return trial.takes(grammar, "a" * (number % 8 + 1) + "b")

    with ThreadPoolExecutor(8) as pool:
        _expect(all(pool.map(work, range(64))), "a grammar is wrong")


def _decides(trial: Trial, grammar_type: GrammarType, spec: str, good: list[str], bad: list[str]) -> None:
    for text in good:
        _expect(trial.takes(trial.start(spec, grammar_type), text), f"{text!r} was refused")
    for text in bad:
        _expect(not trial.takes(trial.start(spec, grammar_type), text), f"{text!r} was accepted")


_SCHEMA: Final = json.dumps(
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", None]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
)


def compiles_json(trial: Trial) -> None:
    """JSON Schemas."""
    good, bad = ['{"a": 1, "b": "x"}', '{"a": -20, "b": null}'], ['{"a": "x"}', '{"a": 1}', "1"]
    _decides(trial, GrammarType.JSON, _SCHEMA, good, bad)


def compiles_json_object(trial: Trial) -> None:
    """Any JSON object, and nothing else."""
    good, bad = ["{}", '{"a": [1, {"b": null}]}'], ["[]", "1", '"a"', "{", '{"a"}']
    _decides(trial, GrammarType.JSON_OBJECT, "", good, bad)


def compiles_regex(trial: Trial) -> None:
    """Regular expressions, the empty one too."""
    _decides(trial, GrammarType.REGEX, "a|b{2,3}[^c]", ["a", "bbx", "bbbb"], ["b", "bbc", "aa"])
    _decides(trial, GrammarType.REGEX, "", [""], ["a"])


def compiles_choice(trial: Trial) -> None:
    """One of several texts, also with quotes, backslashes and line feeds."""
    texts = ["yes", "no", 'say "\\"', "two\nlines", "yes and no"]
    _decides(trial, GrammarType.CHOICE, json.dumps(texts), texts, ["y", "yesno", 'say "', "two"])


def compiles_ebnf(trial: Trial) -> None:
    """Grammars as EBNF, with recursion."""
    spec = 'root ::= "(" root ")" | "x"+'
    _decides(trial, GrammarType.GRAMMAR, spec, ["x", "((xx))"], ["(x", "x)", "()"])


def compiles_lark(trial: Trial) -> None:
    """Grammars as Lark: as kind LARK, and as kind GRAMMAR without ``::=``."""
    spec = 'start: "a" NUMBER ("," NUMBER)*\nNUMBER: /[0-9]+/'
    for grammar_type in (GrammarType.LARK, GrammarType.GRAMMAR):
        _decides(trial, grammar_type, spec, ["a1", "a12,3"], ["a", "a1,", "1"])


def compiles_structural_tags(trial: Trial) -> None:
    """Structural tags."""
    tag = {
        "type": "tag",
        "begin": "<f>",
        "content": {"type": "json_schema", "json_schema": {"type": "integer"}},
    }
    spec = json.dumps({"type": "structural_tag", "format": {**tag, "end": "</f>"}})
    _decides(trial, GrammarType.STRUCTURAL_TAG, spec, ["<f>12</f>"], ["<f>a</f>", "12", "<f>12"])


def compiles_older_structural_tags(trial: Trial) -> None:
    """Structural tags of the older form, with ``structures`` and ``triggers``."""
    structure = {"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}
    spec = json.dumps({"type": "structural_tag", "structures": [structure], "triggers": ["<f"]})
    _decides(trial, GrammarType.STRUCTURAL_TAG, spec, ["", "x<f>12</f>y"], ["<f>a</f>", "<fx"])


CHECKS: Final[dict[str, Callable[[Trial], None]]] = {
    check.__name__: check
    for check in (
        accepts_and_refuses,
        accepts_nothing,
        ignores_what_follows_the_end,
        refuses_ids_that_no_token_has,
        validates_the_longest_prefix,
        validating_moves_nothing,
        validates_up_to_the_end,
        rolls_back,
        rolls_back_out_of_termination,
        rolling_back_nothing_does_nothing,
        resets,
        begins_anew,
        masks_agree_with_accepting,
        fills_the_whole_row,
        masks_padding,
        allocates_bitmasks,
        fills_in_threads,
        terminates_by_a_stop_token_only,
        masks_stop_tokens_until_the_end,
        honours_stop_tokens_of_a_request,
        refuses_what_is_wrong,
        compiles_in_threads,
        compiles_json,
        compiles_json_object,
        compiles_regex,
        compiles_choice,
        compiles_ebnf,
        compiles_lark,
        compiles_structural_tags,
        compiles_older_structural_tags,
    )
}
"""All checks by their names; the documentation of each says what the contract asks for."""


def run_check(name: str, make: BackendMaker) -> Finding:
    """Run one check on a new backend. Exceptions of the backend are findings, not errors of the suite."""
    trial = Trial(make)
    try:
        CHECKS[name](trial)
    except Exception as error:  # noqa: BLE001 - whatever the backend raises
        return Finding(name, False, f"{type(error).__name__}: {error}")
    finally:
        trial.backend.destroy()
    return Finding(name, True, "")


def check_backend(make: BackendMaker) -> list[Finding]:
    """Run all checks on the backends that ``make`` makes."""
    return [run_check(name, make) for name in CHECKS]
