"""A compiled grammar that is its own matcher, for scripts that follow one output.

In the rest of the package a compiled grammar has no state, so that many requests share it. Here each compilation gives
an object with one place in the grammar; what was compiled is shared all the same.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenstile import _core
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.key import GrammarType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenstile.json_schema import Schema, Spelling
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["CompiledGrammar", "GrammarCompiler", "GrammarMatcher"]

_DEFAULT_CACHE_BYTES = 512 << 20


@dataclass
class CompiledGrammar:
    """A compiled grammar with one place in it."""

    grammar_type: GrammarType
    grammar_spec: str
    tokenizer_info: TokenizerInfo
    compiled: _core.CompiledGrammar
    """What was compiled, without a place: `tokenstile.CompiledGrammar`."""
    options: str = ""
    """How the text was read, where there is more than one way."""
    cache_key: str = field(init=False)
    """What it is cached by: a hash of its kind, its text, how it was read, and its vocabulary."""

    def __post_init__(self) -> None:
        self.cache_key = self._compute_cache_key()
        self._matcher = _core.GrammarMatcher(self.compiled)

    def _compute_cache_key(self) -> str:
        return _cache_key(self.grammar_type, self.grammar_spec, self.options, self.tokenizer_info)

    def fresh(self) -> CompiledGrammar:
        """Return the same grammar with a place of its own, at the start."""
        return CompiledGrammar(
            self.grammar_type, self.grammar_spec, self.tokenizer_info, self.compiled, self.options
        )

    def accept_token(self, token_id: int) -> bool:
        """Take a token; returns whether it fits."""
        return self._matcher.accept_token(token_id)

    def rollback(self, num_tokens: int) -> None:
        """Take back the last tokens."""
        self._matcher.rollback(num_tokens)

    def reset(self) -> None:
        """Go back to the start."""
        self._matcher.reset()

    def is_terminated(self) -> bool:
        """Tell whether a stop token was accepted."""
        return self._matcher.is_terminated()

    def fill_bitmask(self, bitmask: Any) -> None:  # noqa: ANN401 - any array
        """Write the mask of the tokens that can come next over the first row of ``bitmask``."""
        self._matcher.fill_next_token_bitmask(bitmask)


class GrammarMatcher(_core.GrammarMatcher):
    """`tokenstile.GrammarMatcher`, which also takes a `CompiledGrammar` of this module, and begins at its start."""

    def __new__(
        cls,
        compiled_grammar: CompiledGrammar | _core.CompiledGrammar,
        **options: Any,  # noqa: ANN401 - those of the base class
    ) -> GrammarMatcher:
        """Make a matcher at the start of a grammar."""
        is_ours = isinstance(compiled_grammar, CompiledGrammar)
        compiled = compiled_grammar.compiled if is_ours else compiled_grammar  # type: ignore[union-attr]
        return super().__new__(cls, compiled, **options)  # type: ignore[arg-type, return-value]


class GrammarCompiler:
    """Compiles grammars for one vocabulary, and keeps what it compiled. May be used from many threads.

    ``cache_limit_bytes`` bounds what is kept; the least recently used goes first, and -1 is 512 MiB.
    """

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
    ) -> None:
        self.tokenizer_info = tokenizer_info
        self._compiler = _core.GrammarCompiler(tokenizer_info, max_threads=max_threads, cache_enabled=False)
        self._cache_enabled = cache_enabled
        self._limit = cache_limit_bytes if cache_limit_bytes >= 0 else _DEFAULT_CACHE_BYTES
        self._cache: OrderedDict[str, CompiledGrammar] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = self._misses = self._evictions = 0

    def compile_json_schema(
        self, schema: Schema, any_whitespace: bool = True, spelling: Spelling | None = None
    ) -> CompiledGrammar:
        """Compile a JSON Schema."""
        from tokenstile.json_schema import schema_text  # noqa: PLC0415 - only when used

        text = schema_text(schema)
        spelling = spelling or _core.get_default_spelling()
        return self._compile(
            GrammarType.JSON,
            text,
            lambda: self._compiler.compile_json_schema(
                text,
                any_whitespace=any_whitespace,
                separators=None if any_whitespace else (",", ":"),
                spelling=spelling,
            ),
            options=spelling if any_whitespace else f"compact {spelling}",
        )

    def compile_regex(self, pattern: str) -> CompiledGrammar:
        """Compile a regular expression."""
        return self._compile(GrammarType.REGEX, pattern, lambda: self._compiler.compile_regex(pattern))

    def compile_grammar(self, ebnf: str | _core.Grammar) -> CompiledGrammar:
        """Compile an EBNF text, or a `tokenstile.Grammar`."""
        text = str(ebnf) if isinstance(ebnf, _core.Grammar) else ebnf
        return self._compile(GrammarType.GRAMMAR, text, lambda: self._compiler.compile_grammar(ebnf))

    def compile_structural_tag(
        self,
        spec: Any,  # noqa: ANN401 - a structural tag in any of its forms, or a list of items
        triggers: Sequence[str] | None = None,
        spelling: Spelling | None = None,
    ) -> CompiledGrammar:
        """Compile a structural tag: a text or an object of today's form or of the older one, or items and triggers.

        The older form has ``structures`` and ``triggers``; the triggers may also be given as the second argument.
        """
        from tokenstile.structured_output.structural_tags import (  # noqa: PLC0415 - only when used
            text_of_tag_and_triggers,
        )

        text = text_of_tag_and_triggers(spec, triggers)
        spelling = spelling or _core.get_default_spelling()
        return self._compile(
            GrammarType.STRUCTURAL_TAG,
            text,
            lambda: self._compiler.compile_structural_tag(text, spelling=spelling),
            options=spelling,
        )

    def _compile(
        self,
        grammar_type: GrammarType,
        spec: str,
        work: Callable[[], _core.CompiledGrammar],
        options: str = "",
    ) -> CompiledGrammar:
        if not isinstance(spec, str):
            work()  # which says what is wrong with it
        key = _cache_key(grammar_type, spec, options, self.tokenizer_info)
        grammar = self._get_cached(key)
        if grammar is None:
            grammar = CompiledGrammar(grammar_type, spec, self.tokenizer_info, work(), options)
            self._put_cached(key, grammar)
        return grammar

    def _get_cached(self, key: str) -> CompiledGrammar | None:
        """Return what is kept by a key, at its start."""
        with self._lock:
            kept = self._cache.get(key)
            if kept is None:
                self._misses += 1
                return None
            self._hits += 1
            self._cache.move_to_end(key)
        return kept.fresh()

    def _put_cached(self, key: str, grammar: CompiledGrammar | _core.CompiledGrammar) -> None:
        """Keep a grammar; where it stands is not kept."""
        kept = self._own(grammar)
        if not self._cache_enabled:
            return
        with self._lock:
            self._cache[key] = kept
            # Tables grow while grammars are used, so sizes are asked for when it matters.
            while self._cache and self._size() > self._limit:
                self._cache.popitem(last=False)
                self._evictions += 1

    def _own(self, grammar: object) -> CompiledGrammar:
        """Return a grammar at its start, as it is kept; raise for what is none of this vocabulary."""
        if isinstance(grammar, _core.CompiledGrammar):
            text = str(grammar.grammar)
            grammar = CompiledGrammar(GrammarType.GRAMMAR, text, grammar.tokenizer_info, grammar)
        if not isinstance(grammar, CompiledGrammar):
            raise InvalidArgumentError(f"grammar must be a CompiledGrammar, not {type(grammar).__name__}")
        if grammar.tokenizer_info != self.tokenizer_info:
            raise InvalidArgumentError("grammar was compiled for another vocabulary than this compiler's")
        return grammar.fresh()

    def _size(self) -> int:
        return sum(grammar.compiled.memory_size_bytes for grammar in self._cache.values())

    def get_stats(self) -> dict[str, Any]:
        """Return how often the cache helped, and what it holds, beside the numbers of the compiler inside."""
        with self._lock:
            own = {
                "cache_hits": self._hits,
                "cache_misses": self._misses,
                "cache_entries": len(self._cache),
                "cache_bytes": self._size(),
                "cache_limit_bytes": self._limit,
                "cache_evictions": self._evictions,
            }
        return {**self._compiler.get_stats(), **own}

    def clear_cache(self) -> None:
        """Let go of everything that is kept."""
        with self._lock:
            self._cache.clear()


def _cache_key(grammar_type: GrammarType, spec: str, options: str, info: TokenizerInfo) -> str:
    text = f"{grammar_type.value}\0{options}\0{info.fingerprint}\0{info.vocab_size}\0{spec}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
