"""Rules that wait for a marker, and whose tokens are counted: when they have had these they close without it."""

import functools
import itertools
import random
import re

import pytest

import tokenstile as xgr

ANY = r"/(.|\n)*/"
VOCABULARY = ["x", "<", ">", "a!", "b!", "a", "b", "!", "</s>"]
STOP = VOCABULARY.index("</s>")


def compiled(grammar, vocabulary=VOCABULARY, stop=None, **options):
    stops = [vocabulary.index("</s>")] if stop is None else stop
    info = xgr.TokenizerInfo(vocabulary, stop_token_ids=stops, **options)
    return xgr.GrammarCompiler(info).compile_grammar(grammar)


def choices(matcher):
    vocabulary = matcher_vocabulary(matcher)
    bitmask = xgr.allocate_token_bitmask(1, len(vocabulary))
    matcher.fill_next_token_bitmask(bitmask)
    fits = xgr.testing.bitmask_to_bool_mask(bitmask, len(vocabulary))[0]
    allowed = [text for text, is_set in zip(vocabulary, fits, strict=True) if is_set]
    assert allowed == [text for at, text in enumerate(vocabulary) if matcher.validate_tokens([at]) == 1]
    return allowed


_VOCABULARIES = {}


def matcher_vocabulary(matcher):
    return _VOCABULARIES[id(matcher)][1]


def start(grammar, vocabulary=VOCABULARY, **options):
    matcher = xgr.GrammarMatcher(compiled(grammar, vocabulary), **options)
    _VOCABULARIES[id(matcher)] = (matcher, vocabulary)
    return matcher


def along(matcher, *tokens):
    vocabulary = matcher_vocabulary(matcher)
    for token in tokens:
        assert matcher.accept_token(vocabulary.index(token)), token
    return [] if matcher.is_terminated() else choices(matcher)


THINK = ["<think>", "</think>", "so", " and", "x", "</", "think>", "y", "\n", "</s>"]


@pytest.mark.parametrize(
    "grammar",
    [
        xgr.Grammar.from_lark(f'start: t "y"\nt[max_tokens=3, suffix="</think>"]: {ANY}'),
        xgr.Grammar.from_lark(f'start: t "y"\nt[max_tokens=3, stop="</think>"]: {ANY}'),
        xgr.Grammar.from_lark(f'start: t "y"\nt[max_tokens=3, capture, stop="</think>"]: {ANY}'),
        xgr.Grammar.from_lark(f'start: t "y"\nt[max_tokens=3, capture, suffix=/<\\/think>|<end>/]: {ANY}'),
        xgr.Grammar.from_lark('start: t "y"\nt[max_tokens=3, lazy]: /(.|\\n)*<\\/think>/'),
        xgr.Grammar.from_lark(f'start: t "y"\nt[max_tokens=3, lazy]: TEXT "</think>"\nTEXT: {ANY}'),
        xgr.Grammar.from_ebnf('root ::= t "y"\nt[max_tokens=3, lazy] ::= [^]* "</think>"'),
        xgr.Grammar.from_ebnf('root ::= t "y"\nt[max_tokens=3, lazy, capture] ::= [^]* "</think>"'),
    ],
    ids=["suffix", "stop", "captured", "regex", "lazy regex", "lazy", "ebnf", "ebnf captured"],
)
@pytest.mark.parametrize("form", ["as it is", "printed", "serialised"])
def test_the_rule_closes_at_its_bound(grammar, form):
    if form == "printed":
        grammar = xgr.Grammar.from_ebnf(str(grammar))
    if form == "serialised":
        grammar = xgr.Grammar.deserialize_json(grammar.serialize_json())
    matcher = start(grammar, THINK)
    assert along(matcher, "so", " and") == THINK[:-1]
    assert along(matcher, "x") == ["y"]
    assert not matcher.accept_token(THINK.index("so"))
    fork = matcher.fork()
    _VOCABULARIES[id(fork)] = (fork, THINK)
    matcher.rollback(1)
    # With the marker it ends as it does without a bound.
    assert along(matcher, "</think>") == ["y"]
    assert along(matcher, "y") == along(fork, "y") == ["</s>"]
    matcher.reset()
    # A marker that was begun is not waited for.
    assert along(matcher, "so", " and", "</") == ["y"]
    # Nor does text that comes as a string count.
    matcher.reset()
    assert matcher.accept_string("so and so and so")
    assert along(matcher, "so", "so") == THINK[:-1]
    assert along(matcher, "so") == ["y"]


@pytest.mark.parametrize("attribute", ["suffix", "stop"])
def test_captures_of_what_closed(attribute):
    grammar = xgr.Grammar.from_lark(
        'start[capture="all"]: value ">"\n'
        f'value[max_tokens=2, capture="body", {attribute}="!", stop_capture="marker"]: /[ab]*/'
    )
    matcher = start(grammar)
    assert along(matcher, "a!") == [">"]
    assert along(matcher, ">") == ["</s>"]
    assert {*matcher.get_captures()} >= {("marker", b"!"), ("body", b"a")}
    matcher.reset()
    # Without the marker nothing is captured of it.
    assert along(matcher, "a", "b") == [">"]
    assert along(matcher, ">", "</s>") == []
    assert matcher.get_captures() == [("body", b"ab"), ("all", b"ab>")]
    matcher.rollback(3)
    assert along(matcher, "b!", ">", "</s>") == []
    assert {*matcher.get_captures()} >= {("body", b"ab"), ("marker", b"!")}


def test_captures_know_where_a_rule_closed():
    """What follows may be any text, so that a rule that closed anywhere would leave any span."""
    grammar = xgr.Grammar.from_lark(
        f'start: value rest\nvalue[max_tokens=2, capture="body", suffix="!"]: {ANY}\nrest: {ANY}'
    )
    matcher = start(grammar)
    along(matcher, "a", "b", "x", "a", "</s>")
    assert matcher.get_captures() == [("body", b"ab")]
    matcher.reset()
    along(matcher, "a!", "b", "x", "a!", "</s>")
    assert matcher.get_captures() == [("body", b"a")]


def test_a_marker_in_pieces_is_waited_for_where_the_body_cannot_end():
    grammar = xgr.Grammar.from_lark(
        'start: value ">"\nvalue[max_tokens=1, capture="body", suffix=END]: /[ab]*/\nEND: /!!+/'
    )
    matcher = start(grammar)
    assert along(matcher, "a!") == ["!"]
    assert along(matcher, "!") == [">"]
    matcher.reset()
    assert along(matcher, "a") == [">"]


@pytest.mark.parametrize("attribute", ["suffix", "stop"])
def test_a_rule_around_it_that_has_had_its_tokens_ends_too(attribute):
    grammar = xgr.Grammar.from_lark(
        'start: outer "b"\nouter[max_tokens=1]: inner | inner "a"\n'
        f'inner[max_tokens=1, {attribute}="!"]: /x*/'
    )
    assert along(start(grammar), "x") == ["b"]


def test_a_marker_that_is_a_special_token_ends_the_rule():
    vocabulary = ["so", "</think>", "</", "think>", "y", "</s>"]
    grammar = xgr.Grammar.from_lark(f'start: t "y"\nt[max_tokens=2, suffix="</think>"]: {ANY}')
    matcher = xgr.GrammarMatcher(compiled(grammar, vocabulary, special_token_ids=[1]))
    _VOCABULARIES[id(matcher)] = (matcher, vocabulary)
    assert "</think>" in along(matcher, "so")
    assert along(matcher, "</think>") == ["y"]
    matcher.reset()
    assert along(matcher, "so", "so") == ["y"]


def test_nothing_is_forced_where_the_rule_may_close():
    """After `ab` the marker would have to come, if the rule could not close there."""
    grammar = xgr.Grammar.from_lark('start: t "x"\nt[max_tokens=1, suffix="!"]: "ab"')
    vocabulary = ["ab", "a", "b", "!", "x", "</s>"]
    matcher = start(grammar, vocabulary)
    assert matcher.find_jump_forward_string() == "ab"
    assert along(matcher, "ab") == ["x"]
    assert matcher.find_jump_forward_string() == "x"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ('[a-z]* "!"', r"max_tokens.*lazy rule `t`.*could not end it"),
        ('([a-z]+ "-")* "!"', r"max_tokens.*lazy rule `t`.*could not end it"),
    ],
)
def test_lazy_rules_whose_bound_could_not_end_them_are_refused(rule, reason):
    with pytest.raises(xgr.UnsupportedFeatureError, match=reason):
        compiled(f'root ::= t "y"\nt[max_tokens=3, lazy] ::= {rule}')


BODIES = {"/(.|\\n)*/": "(?s:.)*", "/[ab]*/": "[ab]*", "/[ab]{2,3}/": "[ab]{2,3}", "/(ab)*/": "(ab)*"}
MARKERS = {'"!"': "!", '"!!"': "!!", "/!+b/": "!+b", '"ab"': "ab"}
RESTS = {'">"': ">", "/[ab!]*/": "[ab!]*"}
TEXTS = ["".join(text) for length in range(8) for text in itertools.product("ab!>", repeat=length)]


@functools.cache
def matching(pattern):
    """The short texts that a pattern matches."""
    return {text for text in TEXTS if re.fullmatch(pattern, text)}


class Model:
    """What a rule with a marker and a bound, and something behind it, takes: by trying all short texts."""

    def __init__(self, body, marker, rest, most):
        self.body, self.rest, self.most = re.compile(BODIES[body]), re.compile(RESTS[rest]), most
        self.ended = matching(f"(?:{BODIES[body]})(?:{MARKERS[marker]})")
        first = [text for text in self.ended if not any(text[:end] in self.ended for end in range(len(text)))]
        self.begun = {text[:end] for text in first for end in range(len(text))}
        self.going = {text[:end] for text in matching(RESTS[rest]) for end in range(len(text) + 1)}
        self.parses = {("rule", "")}

    def after(self, token, count):
        """The parses after a token, the last of so many."""
        parses = self.parses
        for char in token:
            moved = set()
            for kind, before in parses:
                text = before + char
                if kind == "rule" and text in self.ended:
                    moved.add(("rest", ""))
                elif text in (self.begun if kind == "rule" else self.going):
                    moved.add((kind, text))
            parses = moved
        if count >= self.most:
            inside = {text for kind, text in parses if kind == "rule"}
            others = {parse for parse in parses if parse[0] == "rest"}
            if any(self.body.fullmatch(text) for text in inside):
                others.add(("rest", ""))
            parses = others or parses
        return parses

    def allowed(self, count):
        fits = [token for token in TOKENS if self.after(token, count + 1)]
        return fits + (
            ["</s>"]
            if any(kind == "rest" and self.rest.fullmatch(text) for kind, text in self.parses)
            else []
        )


TOKENS = ["a", "b", "!", ">", "ab", "!b", "b!", "a!"]


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("body", BODIES)
def test_masks_are_those_of_a_model(body, marker):
    """Texts of at most five characters, so that all that are tried are long enough."""
    dice = random.Random(f"{body} {marker}")  # noqa: S311 - a test
    vocabulary = [*TOKENS, "</s>"]
    for rest, most in itertools.product(RESTS, (1, 2, 3)):
        grammar = xgr.Grammar.from_lark(
            f"start: t rest\nt[max_tokens={most}, suffix={marker}]: {body}\nrest: {rest}"
        )
        for _ in range(6):
            matcher, model = start(grammar, vocabulary), Model(body, marker, rest, most)
            text, count = "", 0
            while len(text) < 4:
                # The marker and one more token still fit into the texts that were tried.
                fits = model.allowed(count)
                assert choices(matcher) == fits, (body, marker, rest, most, text)
                left = [text for text in fits if text != "</s>"]
                if not left:
                    break
                token = dice.choice(left)
                count += 1
                model.parses = model.after(token, count)
                assert matcher.accept_token(vocabulary.index(token))
                text += token


@pytest.mark.parametrize("body", BODIES)
def test_a_budget_of_the_whole_holds_as_well(body):
    dice = random.Random(body)  # noqa: S311 - a test
    vocabulary = [*TOKENS, "</s>"]
    for marker, rest, most in itertools.product(MARKERS, RESTS, (1, 2, 4)):
        grammar = xgr.Grammar.from_lark(
            f'start: t rest ("," t rest)*\nt[max_tokens={most}, suffix={marker}]: {body}\nrest: {rest}'
        )
        whole = compiled(grammar, [*vocabulary, ","], [8])
        with pytest.raises(xgr.TokenBudgetError) as least:
            xgr.GrammarMatcher(whole, max_tokens=0)
        for margin in (0, 1, 2, 5, 12):
            matcher = xgr.GrammarMatcher(whole, max_tokens=least.value.tokens_needed + margin)
            _VOCABULARIES[id(matcher)] = (matcher, [*vocabulary, ","])
            for _ in range(least.value.tokens_needed + margin):
                fits = choices(matcher)
                assert fits, (body, marker, rest, most, margin)
                assert matcher.accept_token([*vocabulary, ","].index(dice.choice(fits)))
                if matcher.is_terminated():
                    break
            assert matcher.is_terminated()
