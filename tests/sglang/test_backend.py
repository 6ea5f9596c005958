"""The backend in SGLang's registry, driven by SGLang's manager, batches and tree of drafts."""

from __future__ import annotations

import json
import re
from importlib.metadata import entry_points

import pytest
import torch
from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES
from sglang.srt.constrained.base_grammar_backend import GRAMMAR_BACKEND_REGISTRY, GrammarRow
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo
from sglang.srt.speculative.spec_utils import traverse_tree
from transformers import AutoModelForCausalLM

from tokenstile.integrations import sglang as integration
from tokenstile.integrations.sglang import backend as backend_module
from tokenstile.integrations.sglang.backend import TokenstileGrammarBackend, TokenstileGrammarObject

MULTIPLES = {
    "type": "array",
    "items": {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 99},
    "uniqueItems": True,
    "minItems": 2,
}


def allowed(row):
    """Return the tokens of a row of bits."""
    bits = torch.arange(32, dtype=torch.int32)
    return set(((row.unsqueeze(1) >> bits) & 1).flatten().nonzero().flatten().tolist())


def mask_of(grammar):
    mask = grammar.allocate_vocab_mask(vocab_size=49_152, batch_size=1, device="cpu")
    grammar.fill_vocab_mask(mask, 0)
    return allowed(mask[0])


def take(grammar, tokens):
    for token in tokens:
        grammar.accept_token(token)


def reason(request):
    """Return why a request was refused."""
    assert request.grammar is None
    return request.to_finish.message


def test_it_is_registered_through_the_entry_point(server):
    (point,) = [it for it in entry_points(group="sglang.srt.plugins") if it.name == "tokenstile"]
    assert point.load() is integration.register
    made = server()
    assert isinstance(made.backend, TokenstileGrammarBackend)
    assert GRAMMAR_BACKEND_REGISTRY["tokenstile"] is integration.make_backend
    integration.register()
    assert GRAMMAR_BACKEND_CHOICES.count("tokenstile") == 1


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        ({"json_schema": json.dumps(MULTIPLES)}, "[7, 14]", "[7, 7]"),
        ({"json_schema": "$$ANY$$"}, "[1]", "[1}"),
        ({"regex": "a[bc]+"}, "abc", "ad"),
        ({"ebnf": 'root ::= "x" ("y" | "z")'}, "xz", "xx"),
        (
            {
                "structural_tag": json.dumps(
                    {"format": {"type": "tag", "begin": "<", "content": {"type": "any_text"}, "end": ">"}}
                )
            },
            "<hello>",
            "hello",
        ),
        (
            {
                "structural_tag": json.dumps(
                    {
                        "structures": [{"begin": "<f>", "schema": MULTIPLES, "end": "</f>"}],
                        "triggers": ["<f"],
                        "at_least_one": True,
                    }
                )
            },
            "<f>[7,14]</f>",
            "<f>[7,8]",
        ),
    ],
)
def test_constraints(server, ids, end, constraint, good, bad):  # noqa: PLR0917 - two of them are fixtures
    made = server()
    first = made.request(**constraint)
    take(first.grammar, [*ids(good), end])
    assert first.grammar.is_terminated()
    second = made.request(**constraint)
    assert second.grammar is not first.grammar
    assert second.grammar.grammar_stats.is_cache_hit
    with pytest.raises(ValueError, match="does not fit"):
        take(second.grammar, ids(bad))


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ({"json_schema": '{"properties": {"a": {"type": "strin"}}}'}, "/properties/a/type"),
        ({"json_schema": "{"}, "line 1"),
        ({"regex": "((("}, "column"),
        ({"ebnf": "root ::= nobody"}, "nobody"),
        ({"structural_tag": "[]"}, "structural tag"),
        ({"structural_tag": '{"structures": 3, "triggers": []}'}, "list"),
        ({"structural_tag": '{"format": {"type": "token", "token": "<nobody>"}}'}, "format.token"),
    ],
)
def test_refusals_say_why(server, constraint, words):
    made = server()
    for _ in range(2):  # Compiled, and then kept.
        assert words in reason(made.request(**constraint))
    assert made.request(regex="a").grammar is not None


def test_object(server, ids, end):
    grammar = server().request(regex="ab?").grammar
    (a,), (b,) = ids("a"), ids("b")
    assert mask_of(grammar) >= {a}
    assert b not in mask_of(grammar)
    take(grammar, [a])
    assert grammar.current_token == a
    assert grammar.try_jump_forward(None) is None
    take(grammar, [end])
    take(grammar, [a, b, -1])  # After the end nothing is taken.
    assert mask_of(grammar) == set(range(49_152))
    assert grammar.is_terminated()
    grammar.rollback(1)
    assert not grammar.is_terminated()
    assert mask_of(grammar) >= {b, end}
    for wrong in (-1, 10**7):
        with pytest.raises(ValueError, match="does not fit"):
            grammar.accept_token(wrong)
    fresh = grammar.copy()
    assert end not in mask_of(fresh)


def test_jumping_forward(server, ids):
    grammar = server().request(regex="hello world!?").grammar
    state = grammar.try_jump_forward(None)
    assert grammar.jump_forward_str_state(state) == ("hello world", -1)
    old, new = ids("hello")[:1], ids("hello world")
    take(grammar, old)
    grammar.jump_and_retokenize(old, new, -1)
    assert grammar.matcher.is_completed()


def batch(grammars):
    tensors = {name: torch.ones(len(grammars)) for name in ("temperatures", "top_ps", "top_ks", "min_ps")}
    flags = (
        "is_all_greedy",
        "is_any_greedy",
        "need_top_p_sampling",
        "need_top_k_sampling",
        "need_min_p_sampling",
    )
    return SamplingBatchInfo(
        **tensors, **dict.fromkeys(flags, False), vocab_size=49_152, grammars=grammars, device="cpu"
    )


def test_batch(server, ids, monkeypatch):
    """SGLang fills a batch by one native call, and applies it to logits; rows without a grammar stay free."""
    made = server()
    texts = ["a", "b", "c"]
    grammars = [made.request(regex=text).grammar for text in texts]
    native = []
    original = backend_module._BATCH

    class Counting:
        def batch_fill_next_token_bitmask(self, matchers, *arguments):
            native.append(len(matchers))
            original.batch_fill_next_token_bitmask(matchers, *arguments)

    monkeypatch.setattr(backend_module, "_BATCH", Counting())
    info = batch([grammars[0], None, *grammars[1:]])
    info.update_regex_vocab_mask()
    assert native == [3]
    for dtype in (torch.float32, torch.bfloat16):
        logits = torch.zeros(4, 49_152, dtype=dtype)
        info.apply_logits_bias(logits)
        kept = [set(row.isfinite().nonzero().flatten().tolist()) for row in logits]
        assert kept == [set(ids("a")), set(range(49_152)), set(ids("b")), set(ids("c"))]


def test_batch_with_others(server, ids):
    """A batch in which some grammars are wrapped goes through the common loop."""
    plain = server().request(regex="a").grammar
    wrapped = server(reasoning_parser="qwen3").request(regex="b").grammar
    mask = plain.allocate_vocab_mask(vocab_size=49_152, batch_size=2, device="cpu")
    plain.fill_vocab_mask_batched([GrammarRow(0, plain), GrammarRow(1, wrapped)], mask)
    assert [allowed(row) for row in mask] == [set(ids("a")), set(ids("b"))]
    plain.reset_vocab_mask(mask)
    assert (mask == -1).all()


def test_tree_of_drafts(server, ids, end):
    """SGLang's own walk over a tree: a, then b or x, and an end that nothing can follow."""
    grammar = server().request(regex="ab?c?").grammar
    (a,), (b,), (c,), (x,) = ids("a"), ids("b"), ids("c"), ids("x")
    take(grammar, [a])
    draft = torch.tensor([a, b, x, end])  # the root, and three children of it
    child = torch.tensor([1, -1, -1, -1])
    sibling = torch.tensor([-1, 2, 3, -1])
    mask = grammar.allocate_vocab_mask(vocab_size=49_152, batch_size=4, device="cpu")
    before = mask_of(grammar)
    traverse_tree(child, sibling, draft, grammar, mask, vocab_size=49_152)
    assert allowed(mask[0]) == before >= {b, c, end}
    assert allowed(mask[1]) >= {c, end}
    assert b not in allowed(mask[1])
    assert mask_of(grammar) == before


def test_reasoning(server, ids, end):
    """The grammar waits for the end of thinking, over rollbacks across that end; SGLang leaves that to us."""
    made = server(reasoning_parser="qwen3")
    assert isinstance(made.backend, ReasonerGrammarBackend)
    request = made.request(regex="yes|no", require_reasoning=True)
    grammar = request.grammar
    assert mask_of(grammar) == set(range(49_152))
    thought, stop = ids("well, no and yes"), ids("</think>")
    take(grammar, thought + stop[:-1])
    assert mask_of(grammar) == set(range(49_152))
    take(grammar, stop[-1:])
    assert mask_of(grammar) == {token for text in ("yes", "no", "y", "n", "ye") for token in ids(text)[:1]}
    take(grammar, [*ids("no"), end])
    assert grammar.is_terminated()
    grammar.rollback(len(ids("no")) + 2)
    assert mask_of(grammar) == set(range(49_152))
    take(grammar, [*stop[-1:], *ids("yes"), end])
    assert grammar.is_terminated()
    at_once = made.request(regex="yes|no", require_reasoning=False).grammar
    take(at_once, [*ids("no"), end])


def test_strict_thinking(server, ids):
    """With a budget for thinking, its end is forced by masks that need no grammar."""
    made = server(reasoning_parser="qwen3", enable_strict_thinking=True)
    grammar = made.request(regex="a", require_reasoning=True, custom_params={"thinking_budget": 2}).grammar
    stop = ids("</think>")
    grammar.enable_token_filter = True
    grammar.token_filter_fn = made.backend.grammar_backend.set_token_filter
    take(grammar, ids("hm") + ids("hm"))
    for token in stop:
        assert mask_of(grammar) == {token}
        take(grammar, [token])
    assert mask_of(grammar) == set(ids("a"))


def test_framed_grammars(server, ids, end):
    """A frame names tokens by id, and text in it cannot stand for them."""
    made = server()
    (start,) = ids("<|im_start|>")
    made.backend.reserve_framing_tokens([start])
    inner = made.request(regex=r"[a-z]+").grammar

    def frame(content):
        return {"format": {"type": "sequence", "elements": [{"type": "token", "token": start}, content]}}

    framed = made.backend.compile_framed_grammar(inner, frame)
    assert isinstance(framed, TokenstileGrammarObject)
    assert mask_of(framed) == {start}
    take(framed, [start, *ids("ab"), end])
    assert framed.is_terminated()
    text = {"format": {"type": "any_text"}}
    assert start not in mask_of(made.backend.compile_framed_grammar(inner, lambda _: text))


def test_settings(server, ids):
    schema = json.dumps({"type": "array", "items": {"const": 1}, "minItems": 2})
    bounded = server(constrained_json_max_whitespace_cnt=1).request(json_schema=schema).grammar
    take(bounded, ids("[ 1"))
    with pytest.raises(ValueError, match="does not fit"):
        take(bounded.copy(), ids("[") + ids(" ") + ids(" "))
    compact = server(constrained_json_disable_any_whitespace=True).request(json_schema=schema).grammar
    with pytest.raises(ValueError, match="does not fit"):
        take(compact, ids("[ 1"))
    with pytest.raises(ValueError, match="whitespace-pattern"):
        server(constrained_json_whitespace_pattern="[ ]?")


def test_kept_grammars_are_bounded(server, monkeypatch):
    monkeypatch.setattr(backend_module, "_KEPT_GRAMMARS", 3)
    made = server()
    for number in range(8):
        assert made.request(regex=f"a{number}").grammar is not None
    assert len(made.backend.cache) == 3
    made.manager.clear()
    assert not made.backend.cache


def test_a_real_model(server, model, tokenizer, end):
    """SmolLM2 under SGLang's own steps: fill, apply, sample, accept; three requests with different constraints."""
    made = server(constrained_json_disable_any_whitespace=True)
    schema = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3}
    constraints = [
        {"json_schema": json.dumps(schema)},
        {"regex": "[A-Z][a-z]{3,8}"},
        {"ebnf": 'root ::= "yes" | "no"'},
    ]
    grammars = [made.request(**constraint).grammar for constraint in constraints]
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    prompt = tokenizer("The capital of France is", return_tensors="pt").input_ids
    outputs = [[] for _ in grammars]
    for _ in range(24):
        going = [at for at, grammar in enumerate(grammars) if not grammar.is_terminated()]
        if not going:
            break
        rows = [torch.cat([prompt[0], torch.tensor(outputs[at], dtype=torch.long)]) for at in going]
        with torch.no_grad():
            logits = torch.stack([network(row.unsqueeze(0)).logits[0, -1] for row in rows])
        info = batch([grammars[at] for at in going])
        info.update_regex_vocab_mask()
        info.apply_logits_bias(logits)
        for at, token in zip(going, logits.argmax(dim=1).tolist(), strict=True):
            grammars[at].accept_token(token)
            outputs[at].append(token)
    assert all(output[-1] == end for output in outputs)
    letters, name, choice = (tokenizer.decode(output[:-1]) for output in outputs)
    assert sorted(json.loads(letters)) == ["a", "b", "c"]
    assert re.fullmatch("[A-Z][a-z]{3,8}", name)
    assert choice in {"yes", "no"}
