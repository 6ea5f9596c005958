"""Compiling: a grammar and a tokenizer in, a grammar that matchers can follow out.

Compiling is lazy: it checks the grammar and lays out its machine, and leaves the tables to be filled while they are
used. They are shared by all matchers of the grammar.
"""

from tokenstile._core import CancelToken, CompiledGrammar, GrammarCompiler

__all__ = ["CancelToken", "CompiledGrammar", "GrammarCompiler"]
