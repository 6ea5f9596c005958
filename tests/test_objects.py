"""The objects as objects: subclasses, attributes, weak references, equality, copies, pickles, what they print."""

from __future__ import annotations

import copy
import pickle
import weakref

import pytest

import tokenstile as xgr
from tokenstile.base import XGRObject

CLASSES = [
    xgr.Grammar,
    xgr.CompiledGrammar,
    xgr.GrammarCompiler,
    xgr.GrammarMatcher,
    xgr.BatchGrammarMatcher,
    xgr.TokenizerInfo,
]


@pytest.fixture
def objects(info):
    grammar = xgr.Grammar.from_ebnf('root ::= "a" "b"')
    compiler = xgr.GrammarCompiler(info)
    compiled = compiler.compile_grammar(grammar)
    return [grammar, compiled, compiler, xgr.GrammarMatcher(compiled), xgr.BatchGrammarMatcher(1), info]


@pytest.mark.parametrize("base", CLASSES, ids=lambda base: base.__name__)
def test_every_class_has_subclasses(base, objects):
    derived = type("Derived", (base,), {"more": lambda self: f"more of {type(self).__name__}"})
    assert issubclass(derived, base)
    assert issubclass(derived, XGRObject)
    plain = objects[CLASSES.index(base)]
    assert isinstance(plain, base)
    assert not isinstance(plain, derived)


def test_subclasses_work_where_their_bases_do(vocab):
    class Info(xgr.TokenizerInfo):
        pass

    class Compiler(xgr.GrammarCompiler):
        def compile_word(self, word):
            return self.compile_regex(word)

    class Matcher(xgr.GrammarMatcher):
        def __new__(cls, compiled, label):
            made = super().__new__(cls, compiled)
            made.label = label
            return made

    compiler = Compiler(Info(vocab))
    compiled = compiler.compile_word("ab")
    assert isinstance(compiled.tokenizer_info, Info)
    matcher = Matcher(compiled, "mine")
    assert matcher.label == "mine"
    assert matcher.accept_string("ab")
    assert xgr.BatchGrammarMatcher.batch_rollback([matcher], 1) is None
    assert isinstance(matcher.fork(), xgr.GrammarMatcher)


def test_static_methods_of_a_subclass_make_the_base_as_in_xgrammar():
    class Own(xgr.Grammar):
        pass

    assert type(Own.from_ebnf('root ::= "a"')) is xgr.Grammar
    assert isinstance(xgr.Grammar.concat(Own.from_regex("a"), Own.from_regex("b")), xgr.Grammar)


@pytest.mark.parametrize("place", range(len(CLASSES)), ids=[each.__name__ for each in CLASSES])
def test_attributes_and_weak_references(objects, place):
    each = objects[place]
    each.label = "mine"
    assert each.label == "mine"
    assert weakref.ref(each)() is each


def test_a_weak_reference_does_not_keep_an_object():
    grammar = xgr.Grammar.from_regex("a")
    reference = weakref.ref(grammar)
    del grammar
    assert reference() is None


def test_equality(objects, info):
    grammar, compiled, compiler, matcher, batch, _ = objects
    assert grammar == xgr.Grammar.from_ebnf('root ::= "a" "b"')
    assert grammar != xgr.Grammar.from_ebnf('root ::= "b"')
    assert compiled == compiler.compile_grammar(grammar), "out of the cache"
    assert matcher != matcher.fork()
    for each in objects:
        assert each != 1
        assert each is not None
        assert isinstance(hash(each), int)
    assert batch != xgr.BatchGrammarMatcher(1)
    assert compiler != xgr.GrammarCompiler(info)


def test_compiled_grammars_are_equal_if_they_print_alike_and_have_equal_tokenizers(objects, info):
    _, compiled, compiler, *_ = objects
    again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), info)
    assert again == compiled
    assert hash(again) == hash(compiled)
    for schema in ({"type": "object"}, {"type": "array", "items": {"pattern": "^a+$"}, "maxItems": 3}):
        first = compiler.compile_json_schema(schema)
        assert xgr.CompiledGrammar.deserialize_json(first.serialize_json(), info) == first
        assert first != compiled
    other = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "b", "c", "d"]))
    assert other.compile_grammar(compiled.grammar) != compiled


def test_pickles_and_copies(objects):
    grammar, compiled, compiler, matcher, batch, info = objects
    for each in (grammar, info):
        for made in (pickle.loads(pickle.dumps(each)), copy.copy(each), copy.deepcopy(each)):
            assert made == each
    again = pickle.loads(pickle.dumps(compiled))
    assert again.grammar == compiled.grammar
    assert xgr.GrammarMatcher(again).accept_string("ab")
    for each in (compiler, matcher, batch):
        for make in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="pickle"):
                make(each)


def test_what_is_printed(objects):
    for each in objects:
        assert type(each).__name__ in repr(each)
    assert str(objects[0]) == 'root ::= "ab"\n' or '"a"' in str(objects[0])


def test_a_subclass_may_call_the_init_of_its_class():
    info = xgr.TokenizerInfo(["a", "b", "</s>"])

    class Compiler(xgr.GrammarCompiler):
        def __init__(self, tokenizer_info, **options):
            super().__init__(tokenizer_info, **options)
            self.count = 0

    class Matcher(xgr.GrammarMatcher):
        def __init__(self, compiled_grammar):
            super().__init__(compiled_grammar)
            self.compiled = compiled_grammar

    class Batch(xgr.BatchGrammarMatcher):
        def __init__(self, max_threads):
            super().__init__(max_threads)
            self.threads = max_threads

    compiler = Compiler(info, max_threads=1)
    assert compiler.count == 0
    matcher = Matcher(compiler.compile_regex("ab"))
    assert matcher.accept_token(0)
    assert Batch(2).threads == 2
