"""Every public function with every kind of wrong argument, one at a time.

`calls` gives the functions of a package, ours or XGrammar's, with arguments that are right; `outcomes` puts each of
`WRONG` in the place of each of them.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np

WRONG = {
    "None": None,
    "1": 1,
    "-1": -1,
    "0": 0,
    "huge": 10**30,
    "-huge": -(10**30),
    "1.5": 1.5,
    "nan": float("nan"),
    "'x'": "x",
    "''": "",
    "b'x'": b"x",
    "[]": [],
    "[None]": [None],
    "['x']": ["x"],
    "[1]": [1],
    "[-1]": [-1],
    "{}": {},
    "{'a': 1}": {"a": 1},
    "object()": object(),
    "True": True,
    "False": False,
    "int": int,
    "half a character": "\ud800",
    "()": (),
    "np.int64(1)": np.int64(1),
    "an array": np.zeros(1, np.int32),
}


def calls(package):
    """Give the name, the function and right arguments."""
    info = package.TokenizerInfo(["a", "b", "c", "</s>"])
    grammar = package.Grammar.from_ebnf('root ::= "a" "b"')
    compiled = package.GrammarCompiler(info, max_threads=1).compile_grammar(grammar)
    yield from of_grammars(package.Grammar, grammar, package)
    yield from of_tokenizers(package, info)
    yield from of_compilers(package, info, compiled)
    yield from of_matchers(package, compiled)
    yield from of_batches(package, compiled)
    yield from of_bitmasks(package)
    yield from of_families(package)
    yield from of_helpers(package.testing, grammar)


SCHEMA = {
    "schema": {"type": "array", "items": {"type": "null"}},
    "any_whitespace": False,
    "indent": 2,
    "separators": (",", ":"),
    "strict_mode": True,
    "max_whitespace_cnt": None,
    "any_order": False,
}
TAG = '{"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}'


def of_grammars(made, grammar, package):
    yield "from_ebnf", made.from_ebnf, {"ebnf_string": 'root ::= "a"', "root_rule_name": "root"}
    yield "from_json_schema", made.from_json_schema, SCHEMA | {"print_converted_ebnf": False}
    yield "from_regex", made.from_regex, {"regex_string": "a", "print_converted_ebnf": False}
    lark = {"lark_string": 'start: "a"', "tokenizer_info": None, "named_grammars": None}
    yield "from_lark", made.from_lark, lark
    yield "from_structural_tag", made.from_structural_tag, {"structural_tag": TAG}
    older = {"tags": [package.StructuralTagItem(begin="a", schema={}, end="b")], "triggers": ["a"]}
    yield "from_structural_tag, older", made.from_structural_tag, older
    yield "concat", lambda first: made.concat(first, grammar), {"first": grammar}
    yield "union", lambda first: made.union(first, grammar), {"first": grammar}
    yield "Grammar.deserialize_json", made.deserialize_json, {"json_string": grammar.serialize_json()}
    yield "StructuralTag", package.StructuralTag, {"format": {"type": "const_string", "value": "a"}}
    yield "StructuralTag.from_json", package.StructuralTag.from_json, {"json_str": TAG}
    yield "StructuralTagItem", package.StructuralTagItem, {"begin": "a", "schema": {}, "end": "b"}


def of_tokenizers(package, info):
    right = {"encoded_vocab": ["a"], "vocab_type": package.VocabType.RAW, "vocab_size": None}
    yield "TokenizerInfo", package.TokenizerInfo, right | {"stop_token_ids": None, "add_prefix_space": False}
    metadata = {"encoded_vocab": ["a", "b", "c", "</s>"], "metadata": info.dump_metadata()}
    yield "from_vocab_and_metadata", package.TokenizerInfo.from_vocab_and_metadata, metadata
    saved = {"json_string": info.serialize_json()}
    yield "TokenizerInfo.deserialize_json", package.TokenizerInfo.deserialize_json, saved


def of_compilers(package, info, compiled):
    right = {"tokenizer_info": info, "max_threads": 1, "cache_enabled": True, "cache_limit_bytes": -1}
    yield "GrammarCompiler", package.GrammarCompiler, right
    compiler = package.GrammarCompiler(info, max_threads=1)
    yield "compile_grammar", compiler.compile_grammar, {"grammar": 'root ::= "a"', "root_rule_name": "root"}
    yield "compile_json_schema", compiler.compile_json_schema, SCHEMA
    yield "compile_regex", compiler.compile_regex, {"regex": "a"}
    yield "compile_lark", compiler.compile_lark, {"lark_string": 'start: "a"', "named_grammars": None}
    yield "compile_structural_tag", compiler.compile_structural_tag, {"structural_tag": TAG}
    saved = {"json_str": compiled.serialize_json(), "tokenizer_info": info}
    yield "CompiledGrammar.deserialize_json", package.CompiledGrammar.deserialize_json, saved


def of_matchers(package, compiled):
    right = {"override_stop_tokens": None, "terminate_without_stop_token": False, "max_rollback_tokens": -1}
    matcher = package.GrammarMatcher
    yield "GrammarMatcher", matcher, {"compiled_grammar": compiled, **right, "default_temperature": None}

    def new(name):
        # Each call has a matcher of its own.
        def call(**given):
            return getattr(matcher(compiled), name)(**given)

        return call

    yield "accept_token", new("accept_token"), {"token_id": 0, "debug_print": False}
    yield "accept_string", new("accept_string"), {"input_str": "a", "debug_print": False}
    mask = {"bitmask": np.full((2, 1), -1, np.int32), "index": 0, "debug_print": False}
    yield "fill_next_token_bitmask", new("fill_next_token_bitmask"), mask
    yield "rollback", new("rollback"), {"num_tokens": 0}
    yield "get_captures", new("get_captures"), {"deduplicate": True}
    links = {name: array(-1) for name in ("retrieve_next_token", "retrieve_next_sibling")}
    tree = {"draft_tokens": array(0), "token_bitmask": np.zeros((1, 1), np.int32), "time_threshold": -1.0}
    yield "traverse_draft_tree", new("traverse_draft_tree"), {**links, **tree, "temperatures": None}


def of_batches(package, compiled):
    batch, matchers = package.BatchGrammarMatcher, [package.GrammarMatcher(compiled)]
    yield "BatchGrammarMatcher", batch, {"max_threads": 1}
    right = {
        "matchers": matchers,
        "bitmask": np.zeros((2, 1), np.int32),
        "indices": None,
        "debug_print": False,
    }
    yield "batch_fill_next_token_bitmask", batch(1).batch_fill_next_token_bitmask, right
    yield "batch_accept_token", batch.batch_accept_token, {"matchers": matchers, "tokens": [0]}
    yield "batch_accept_string", batch.batch_accept_string, {"matchers": matchers, "strings": ["a"]}
    yield "batch_rollback", batch.batch_rollback, {"matchers": matchers, "num_tokens": 0}
    temperatures = {"matchers": matchers, "temperatures": np.zeros(1, np.float32), "indices": None}
    yield "batch_fill_temperature", batch.batch_fill_temperature, temperatures


def of_bitmasks(package):
    yield "get_bitmask_shape", package.get_bitmask_shape, {"batch_size": 1, "vocab_size": 4}
    yield "allocate_token_bitmask", package.allocate_token_bitmask, {"batch_size": 1, "vocab_size": 4}
    logits, mask = np.zeros((2, 4), np.float32), np.full((2, 1), -1, np.int32)
    if package.__name__ == "xgrammar":
        torch = importlib.import_module("torch")
        logits, mask = torch.from_numpy(logits), torch.from_numpy(mask)
    right = {"logits": logits, "bitmask": mask, "vocab_size": None, "indices": None}
    yield "apply_token_bitmask_inplace", package.apply_token_bitmask_inplace, right | {"backend": "auto"}

    def set_depth(depth):
        # Put back, as it is a setting of the process.
        with package.max_recursion_depth(depth):
            pass

    yield "max_recursion_depth", set_depth, {"depth": 10_000}


def of_families(package):
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    right = {"model": "qwen_3", "tools": [tool], "tool_choice": "auto", "reasoning": "enabled"}
    more = {"parallel_tool_calls": True, "max_whitespace_cnt": None}
    yield "get_model_structural_tag", package.get_model_structural_tag, right | more
    yield "normalize_tool_choice", package.normalize_tool_choice, {"tools": [tool], "tool_choice": "auto"}


def of_helpers(testing, grammar):
    right = {"regex": "a", "with_rule_name": True}
    yield "_regex_to_ebnf", testing._regex_to_ebnf, right
    schema = {"schema": {"type": "string"}, "strict_mode": True, "json_format": "json"}
    yield "_json_schema_to_ebnf", testing._json_schema_to_ebnf, schema
    accepts = {"grammar": grammar, "input_str": "ab", "require_termination": True}
    yield "_is_grammar_accept_string", testing._is_grammar_accept_string, accepts
    yield "_generate_range_regex", testing._generate_range_regex, {"start": 1, "end": 5}


def array(*values):
    return np.array(values, np.int64)


def own_calls(package):
    """Give the same for what XGrammar does not have."""
    grammar = package.Grammar.from_ebnf('root ::= "a" "b"')
    yield "then_until", grammar.then_until, {"stop": "x"}
    yield "repeat", grammar.repeat, {"min": 0, "max": 2}
    compiler = package.GrammarCompiler(package.TokenizerInfo(["a", "b", "</s>"]), max_threads=1)
    yield "compile_regex, in time", compiler.compile_regex, {"regex": "a", "timeout": 5.0}


def outcomes(package, made=calls):
    """Give for each call what it raised, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function, right in made(package):
            yield f"{name}(...)", outcome(function, right)
            for key in right:
                for said, value in WRONG.items():
                    yield f"{name}({key}={said})", outcome(function, right | {key: value})


def outcome(function, arguments):
    try:
        function(**arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    return None
