"""The two classes that SGLang's scheduler works with: a backend for the server, a grammar object for each request.

What SGLang asks of them beyond the signatures, and what holds here:

1. A grammar that cannot be compiled is an ``InvalidGrammarObject`` with the reason, not an exception.
2. ``accept_token`` raises ``ValueError`` for a token that does not fit, and ignores tokens after the end.
3. Compiled grammars are kept by their text; ``copy`` makes a new request's object of a kept one. SGLang's own store
   has no bound, and grammars come from strangers, so this one has.
4. The rows of a batch are filled by the method of its first grammar. If all are tokenstile's, that is one native
   call.
5. Masks are int32 with a bit for each token: SGLang reads them itself to follow trees of drafts.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarStats,
    InvalidGrammarObject,
)
from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch
from sglang.srt.utils.common import is_pin_memory_available

from tokenstile import (
    BatchGrammarMatcher,
    GrammarCompiler,
    GrammarMatcher,
    TokenizerInfo,
    VocabType,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
)
from tokenstile.exceptions import TokenstileError
from tokenstile.integrations._limits import time_limit
from tokenstile.integrations.budgets import count_thought
from tokenstile.structured_output.backend import matcher_within
from tokenstile.structured_output.structural_tags import read_structural_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tokenstile import CompiledGrammar

__all__ = ["BoundedCache", "TokenstileGrammarBackend", "TokenstileGrammarObject"]

logger = logging.getLogger(__name__)

_CACHE_BYTES = 512 * 1024 * 1024
_KEPT_GRAMMARS = 1024
_ANY_JSON = "$$ANY$$"
_BATCH = BatchGrammarMatcher()


class TokenstileGrammarObject(BaseGrammarObject):  # type: ignore[misc,unused-ignore] # SGLang may not be installed
    """The grammar of one request, and how far its text has come."""

    def __init__(self, compiled: CompiledGrammar, key_string: str, grammar_stats: GrammarStats) -> None:
        super().__init__()
        self.compiled = compiled
        self.matcher = GrammarMatcher(compiled)
        self.key_string = key_string
        self.grammar_stats = grammar_stats
        self.thought_tokens = 0
        """How many tokens of the output came before those that the grammar is given, as far as that was counted."""
        self._reasoner: Any = None
        self._accepted = 0

    def keep_within(self, max_tokens: int, reasoner: Any = None) -> None:  # noqa: ANN401 - of SGLang
        """Let the output be complete within so many tokens; ``TokenBudgetError`` if that is too few.

        ``reasoner`` is SGLang's object around this one, if thoughts come first: it counts them.
        """
        self.matcher = matcher_within(self.compiled, None, max_tokens)
        self._reasoner = reasoner

    def _count_thought(self) -> None:
        """See how long the thought was, as long as the answer has not begun."""
        reasoner = self._reasoner
        if reasoner is None or self._accepted:
            return
        has_thought = reasoner.tokens_in_think >= 0 and reasoner.tokens_after_end >= 0
        tokens = reasoner.tokens_in_think + len(reasoner.think_end_ids) if has_thought else 0
        count_thought(self, tokens, f"a request with the grammar {self.key_string[:80]!r}")

    def accept_token(self, token: int) -> None:
        """Take a token; ``ValueError`` if it does not fit. After the end nothing is taken."""
        self._count_thought()
        if self.matcher.is_terminated():
            return
        if not self.matcher.accept_token(token):
            raise ValueError(
                f"token {token} does not fit the grammar {self.key_string[:200]!r} ({self.matcher!r})"
            )
        self.current_token = token
        self._accepted += 1

    def rollback(self, k: int) -> None:
        """Take back the last tokens, also the one that ended the text."""
        if k > 0:
            self.matcher.rollback(k)
            self._accepted -= k

    def is_terminated(self) -> bool:
        """Tell whether a stop token was taken."""
        return self.matcher.is_terminated()

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:  # noqa: ANN401, ARG004 - of SGLang
        """Return rows that forbid nothing, in memory from which a device can copy on its own."""
        shape = get_bitmask_shape(batch_size, vocab_size)
        return torch.full(shape, -1, dtype=torch.int32, pin_memory=is_pin_memory_available())

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write which tokens can come next over a whole row; after the end, all of them."""
        self._count_thought()
        if self.matcher.is_terminated():
            vocab_mask[idx].fill_(-1)
        else:
            self.matcher.fill_next_token_bitmask(vocab_mask, idx)

    @staticmethod
    def fill_vocab_mask_batched(entries: list[Any], vocab_mask: torch.Tensor) -> None:
        """Fill the rows of a batch, in one native call where all of its grammars are tokenstile's."""
        if not all(isinstance(entry.grammar, TokenstileGrammarObject) for entry in entries):
            BaseGrammarObject.fill_vocab_mask_batched(entries, vocab_mask)
            return
        matchers = [entry.grammar.matcher for entry in entries]
        _BATCH.batch_fill_next_token_bitmask(matchers, vocab_mask, [entry.row for entry in entries])

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Make all rows forbid nothing."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:  # noqa: ANN401 - of torch
        """Copy the rows to a device."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Forbid tokens in the logits."""
        apply_token_bitmask_inplace(logits, vocab_mask)

    def copy(self) -> TokenstileGrammarObject:
        """Return the object of another request with the same grammar, at its beginning."""
        stats = dataclasses.replace(self.grammar_stats, is_cache_hit=True, tree_traversal_time=[])
        return TokenstileGrammarObject(self.compiled, self.key_string, stats)

    def try_jump_forward(self, tokenizer: Any) -> tuple[list[int], str] | None:  # noqa: ANN401, ARG002 - of SGLang
        """Return the text that must come next, if there is one."""
        text = "" if self.matcher.is_terminated() else self.matcher.find_jump_forward_string()
        return ([], text) if text else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """Return the text of what `try_jump_forward` gave."""
        return helper[1], -1

    def jump_and_retokenize(
        self,
        old_output_ids: list[int],
        new_output_ids: list[int],
        next_state: int,  # noqa: ARG002 - of SGLang
    ) -> None:
        """Go on with other tokens of a text that has grown: back to where they part, and forth again."""
        pairs = zip(old_output_ids, new_output_ids, strict=False)
        parted = next((at for at, (old, new) in enumerate(pairs) if old != new), None)
        common = min(len(old_output_ids), len(new_output_ids)) if parted is None else parted
        self.rollback(len(old_output_ids) - common)
        for token in new_output_ids[common:]:
            self.accept_token(token)

    def __repr__(self) -> str:
        return f"TokenstileGrammarObject({self.key_string[:80]!r}, {self.matcher!r})"


class BoundedCache(OrderedDict[tuple[str, str], Any]):
    """Keeps what was stored last, up to a number of entries."""

    def __setitem__(self, key: tuple[str, str], value: Any) -> None:  # noqa: ANN401 - a grammar object of SGLang
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > _KEPT_GRAMMARS:
            self.popitem(last=False)


class TokenstileGrammarBackend(BaseGrammarBackend):  # type: ignore[misc,unused-ignore] # SGLang may not be installed
    """Compiles the grammars of a server.

    ``vocab_size`` is the number of the model's logits, and ``eos_token_ids`` are the model's; without them the
    tokenizer's own token ends a text.
    """

    def __init__(
        self,
        tokenizer: Any,  # noqa: ANN401 - of transformers
        vocab_size: int,
        eos_token_ids: Iterable[int] | None = None,
        *,
        any_whitespace: bool = True,
        max_whitespace_cnt: int | None = None,
    ) -> None:
        super().__init__()
        self.cache = BoundedCache()
        self.tokenizer_info = TokenizerInfo.from_huggingface(
            tokenizer, vocab_size=vocab_size, stop_token_ids=sorted(eos_token_ids) if eos_token_ids else None
        )
        self.compiler = _compiler(self.tokenizer_info)
        self._framing_compiler = self.compiler
        self._white_space = {"any_whitespace": any_whitespace, "max_whitespace_cnt": max_whitespace_cnt}

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        """Compile a JSON Schema, or all of JSON."""
        if key_string == _ANY_JSON:
            return self._compile("json", key_string, self.compiler.compile_builtin_json_grammar)
        return self._compile(
            "json", key_string, self.compiler.compile_json_schema, key_string, **self._white_space
        )

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        """Compile a regular expression."""
        return self._compile("regex", key_string, self.compiler.compile_regex, key_string)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        """Compile a grammar in EBNF."""
        return self._compile("ebnf", key_string, self.compiler.compile_grammar, key_string)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        """Compile a structural tag, of today's form or of the older one."""

        def compile_tag(text: str, timeout: float | None) -> CompiledGrammar:
            return self.compiler.compile_structural_tag(read_structural_tag(text), timeout=timeout)

        return self._compile("structural_tag", key_string, compile_tag, key_string)

    def _compile(
        self,
        kind: str,
        key_string: str,
        compile_grammar: Callable[..., CompiledGrammar],
        *arguments: Any,  # noqa: ANN401 - those of the method
        **options: Any,  # noqa: ANN401 - those of the method
    ) -> BaseGrammarObject:
        """Compile a grammar for a request, or say in an object of SGLang's why it cannot be."""
        try:
            compiled = compile_grammar(*arguments, **options, timeout=time_limit())
        except TokenstileError as error:
            logger.warning("a grammar of the kind %s was refused: %s", kind, error)
            return InvalidGrammarObject(str(error))
        return TokenstileGrammarObject(compiled, key_string, GrammarStats(dispatch_type=kind))

    # What a reasoning parser asks for that has the whole turn as one grammar.

    def reserve_framing_tokens(self, token_ids: Sequence[int]) -> None:
        """Let these tokens be matched by their id only, never by their text.

        Their bytes are made such that no text has them: UTF-8 has no byte 0xFF.
        """
        reserved = set(token_ids)
        info = self.tokenizer_info
        names = [
            b"\xff" + text if token in reserved else text for token, text in enumerate(info.decoded_vocab)
        ]
        self._framing_compiler = _compiler(
            TokenizerInfo(
                names,
                VocabType.RAW,
                vocab_size=info.vocab_size,
                stop_token_ids=info.stop_token_ids,
                special_token_ids=info.special_token_ids,
            )
        )

    def compile_framed_grammar(
        self, grammar: TokenstileGrammarObject, frame: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> BaseGrammarObject:
        """Compile the structural tag that ``frame`` makes around a grammar."""
        tag = frame({"type": "grammar", "grammar": str(grammar.compiled.grammar)})
        compile_tag = self._framing_compiler.compile_structural_tag
        return self._compile("structural_tag", json.dumps(tag), compile_tag, tag)

    # What strict thinking asks for: masks without a grammar, with a few tokens allowed or forbidden.

    @property
    def is_support_token_filter(self) -> bool:
        """Whether `set_token_filter` does anything."""
        return True

    @staticmethod
    def set_token_filter(
        vocab_mask: torch.Tensor,
        token_ids: list[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        """Allow or forbid a few tokens in a row."""
        set_token_filter_torch(
            vocab_mask, token_ids, batch_idx, is_allowed=is_allowed, reset_vocab_mask=reset_vocab_mask
        )

    allocate_vocab_mask = staticmethod(TokenstileGrammarObject.allocate_vocab_mask)
    move_vocab_mask = staticmethod(TokenstileGrammarObject.move_vocab_mask)
    apply_vocab_mask = staticmethod(TokenstileGrammarObject.apply_vocab_mask)

    def reset(self) -> None:
        """Forget all grammars."""
        super().reset()
        self.compiler.clear_cache()
        self._framing_compiler.clear_cache()


def _compiler(info: TokenizerInfo) -> GrammarCompiler:
    return GrammarCompiler(info, cache_limit_bytes=_CACHE_BYTES)
