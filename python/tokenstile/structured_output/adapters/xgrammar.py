"""XGrammar behind the contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Final

import torch
import xgrammar

from tokenstile.exceptions import UnsupportedFeatureError
from tokenstile.structured_output.choice import choices_as_ebnf, read_choices
from tokenstile.structured_output.constraint import looks_like_lark
from tokenstile.structured_output.contract import StructuredOutputBackend, StructuredOutputGrammar
from tokenstile.structured_output.key import GrammarType

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tokenstile._core import CancelToken
    from tokenstile.structured_output.contract import BackendContext

__all__ = ["XGrammarAdapter", "XGrammarAdapterGrammar"]

_MOST_THREADS: Final = 8


class XGrammarAdapterGrammar(StructuredOutputGrammar):
    """A request's place in a grammar of XGrammar."""

    def __init__(self, compiled: Any, stop_token_ids: Collection[int] | None) -> None:  # noqa: ANN401
        self.compiled = compiled
        stops = sorted(stop_token_ids) if stop_token_ids else None
        self.matcher = xgrammar.GrammarMatcher(compiled, override_stop_tokens=stops)

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:  # noqa: ARG002 - the contract's
        """Take tokens, all of them or none."""
        for count, token in enumerate(tokens):
            if self.matcher.is_terminated():
                return True
            if not self.matcher.accept_token(token):
                self.rollback(count)
                return False
        return True

    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix that would be accepted."""
        count = 0
        for token in tokens:
            if self.matcher.is_terminated() or not self.matcher.accept_token(token):
                break
            count += 1
        self.rollback(count)
        return list(tokens[:count])

    def rollback(self, num_tokens: int) -> None:
        """Take back the last accepted tokens."""
        if num_tokens > 0:
            self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: Any, index: int) -> None:  # noqa: ANN401 - any array
        """Write the mask of the tokens that can come next over row ``index``."""
        self.matcher.fill_next_token_bitmask(torch.as_tensor(bitmask), index)

    def is_terminated(self) -> bool:
        """Tell whether a stop token was accepted."""
        return bool(self.matcher.is_terminated())

    def reset(self) -> None:
        """Go back to the start."""
        self.matcher.reset()

    def fresh(self, stop_token_ids: Collection[int] | None = None) -> XGrammarAdapterGrammar:
        """Make a second grammar at the start."""
        return XGrammarAdapterGrammar(self.compiled, stop_token_ids)

    def jump_forward_string(self) -> str:
        """Return the text that must come next."""
        return "" if self.is_terminated() else str(self.matcher.find_jump_forward_string())


class XGrammarAdapter(StructuredOutputBackend):
    """Compiles grammars with XGrammar."""

    name: ClassVar[str] = "xgrammar"

    def __init__(self, context: BackendContext) -> None:
        self.context = context
        info = context.tokenizer_info
        vocabulary = xgrammar.TokenizerInfo(
            info.decoded_vocab,
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=info.vocab_size,
            stop_token_ids=info.stop_token_ids or None,
            add_prefix_space=info.add_prefix_space,
        )
        self.compiler = xgrammar.GrammarCompiler(
            vocabulary,
            max_threads=min(context.max_threads, _MOST_THREADS),
            cache_enabled=True,
            cache_limit_bytes=context.cache_limit_bytes,
        )

    def compile_grammar(
        self,
        grammar_type: GrammarType,
        grammar_spec: str,
        stop_token_ids: Collection[int] | None = None,
        *,
        timeout: float | None = None,  # noqa: ARG002 - it cannot be stopped
        cancel: CancelToken | None = None,  # noqa: ARG002 - it cannot be stopped
    ) -> XGrammarAdapterGrammar:
        """Compile a grammar."""
        return XGrammarAdapterGrammar(self._compile(grammar_type, grammar_spec), stop_token_ids)

    def _compile(self, grammar_type: GrammarType, spec: str) -> Any:  # noqa: ANN401 - of XGrammar
        compiler = self.compiler
        match grammar_type:
            case GrammarType.JSON | GrammarType.JSON_OBJECT:
                compact = self.context.disable_any_whitespace
                return compiler.compile_json_schema(
                    spec or '{"type": "object"}',
                    any_whitespace=not compact,
                    separators=(",", ":") if compact else None,
                    strict_mode=bool(spec),
                )
            case GrammarType.ALL_OF | GrammarType.ANY_OF | GrammarType.THEN:
                raise UnsupportedFeatureError(f"XGrammar puts no structures together: {grammar_type.value}")
            case GrammarType.REGEX:
                if "\0" in spec:
                    # It crashes the whole process.
                    raise UnsupportedFeatureError("XGrammar cannot read a regular expression with NUL")
                return compiler.compile_regex(spec)
            case GrammarType.CHOICE:
                return compiler.compile_grammar(choices_as_ebnf(read_choices(spec)))
            case GrammarType.STRUCTURAL_TAG:
                return self._compile_structural_tag(spec)
        if looks_like_lark(spec):
            return compiler.compile_lark(spec)
        return compiler.compile_grammar(spec)

    def _compile_structural_tag(self, spec: str) -> Any:  # noqa: ANN401 - of XGrammar
        document = json.loads(spec)
        if "structures" not in document:
            return self.compiler.compile_structural_tag(spec)
        tags = [
            xgrammar.StructuralTagItem(begin=tag["begin"], schema=json.dumps(tag["schema"]), end=tag["end"])
            for tag in document["structures"]
        ]
        return self.compiler.compile_structural_tag(tags, document["triggers"])

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:  # noqa: ANN401 - of torch
        """Make a bitmask, of torch."""
        return xgrammar.allocate_token_bitmask(max_num_seqs, self.context.vocab_size)

    def destroy(self) -> None:
        """Let go of compiled grammars."""
        self.compiler.clear_cache()

    def get_stats(self) -> dict[str, float]:
        """Return the memory of the cache."""
        return {"cache_bytes": float(self.compiler.get_cache_size_bytes())}
