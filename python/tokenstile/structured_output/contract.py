"""The contract between an engine and a structured-output backend.

It is the contract that vLLM has, with the corners written down, so that any backend can be checked against it
(`tokenstile.structured_output.conformance`) and any engine can rely on it.

A backend compiles grammars for one vocabulary. A grammar, here, is one request's place in one: it accepts tokens, says
which can come next, and goes back. The rules:

1. ``compile_grammar`` may be called from many threads at once. What cannot be compiled raises, and that is all.
2. ``accept_tokens`` returns True for no tokens and after termination, and False for a token that does not fit; ids that
   are negative or outside the vocabulary do not fit.
3. ``validate_tokens`` returns the longest prefix that would be accepted, and moves nothing. A stop token that ends the
   text is a part of it, and its end. After termination the prefix is empty.
4. ``rollback`` takes back accepted tokens, also the one that terminated; zero and less do nothing.
5. ``fill_bitmask`` overwrites the whole row, and no other. Rows of one array may be filled by several threads at once.
   A bit is set if and only if the token would be accepted. It is never called after termination.
6. A stop token is masked until the text can end; then any of the request's stop tokens ends it. ``is_terminated`` is
   True after that and not before, is cheap, and changes nothing.
7. ``fresh`` makes a second grammar at the start, for another request with the same key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tokenstile._core import CancelToken
    from tokenstile.json_schema import Spelling
    from tokenstile.structured_output.key import GrammarType
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["BackendContext", "StructuredOutputBackend", "StructuredOutputGrammar"]


@dataclass(frozen=True, slots=True)
class BackendContext:
    """What a backend is made for."""

    tokenizer_info: TokenizerInfo
    """The vocabulary, with the number of logits and the stop tokens."""
    num_speculative_tokens: int = 0
    """The most draft tokens of a request at a step."""
    disable_any_whitespace: bool = False
    """Whether JSON has no white space between its parts."""
    disable_additional_properties: bool = False
    """Whether objects have no properties but those that their schema names, if it names some and is silent of others.

    A backend for which that is not so in any case closes the schema, or refuses."""
    spelling: Spelling | None = None
    """How values of JSON are written, for backends that know ways to: ``"canonical"`` or ``"any"``."""
    max_threads: int = 8
    """How many threads may compile at once; for backends that share a compilation out, how many it may use."""
    cache_limit_bytes: int = 512 << 20
    """What the compiled grammars that are kept may take, for backends that keep them."""
    encode: Callable[[str], list[int]] | None = field(default=None, compare=False)
    """How the model's own tokenizer cuts a text, where that is known."""

    @property
    def vocab_size(self) -> int:
        """The number of logits."""
        return self.tokenizer_info.vocab_size


class StructuredOutputGrammar(ABC):
    """One request's place in a grammar."""

    @abstractmethod
    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:
        """Take tokens that the model has written. Returns whether they fit."""

    @abstractmethod
    def validate_tokens(self, tokens: Sequence[int]) -> list[int]:
        """Return the longest prefix of ``tokens`` that would be accepted; nothing moves."""

    @abstractmethod
    def rollback(self, num_tokens: int) -> None:
        """Take back the last ``num_tokens`` accepted tokens."""

    @abstractmethod
    def fill_bitmask(self, bitmask: Any, index: int) -> None:  # noqa: ANN401 - torch is optional
        """Write the mask of the tokens that can come next over row ``index``."""

    @abstractmethod
    def is_terminated(self) -> bool:
        """Tell whether a stop token was accepted."""

    @abstractmethod
    def reset(self) -> None:
        """Go back to the start."""

    @abstractmethod
    def fresh(self, stop_token_ids: Collection[int] | None = None) -> StructuredOutputGrammar:
        """Make a second grammar at the start, which shares what was compiled."""

    def jump_forward_string(self) -> str:
        """Return the text that must come next whatever the model says; empty where that is not known."""
        return ""


class StructuredOutputBackend(ABC):
    """Compiles grammars for one vocabulary."""

    name: ClassVar[str] = ""
    """What it is called in the registry, in metrics and in messages."""

    @abstractmethod
    def compile_grammar(
        self,
        grammar_type: GrammarType,
        grammar_spec: str,
        stop_token_ids: Collection[int] | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> StructuredOutputGrammar:
        """Compile a grammar, and return the place of a request at its start.

        ``stop_token_ids`` replace the tokenizer's stop tokens. ``timeout`` and ``cancel`` may be ignored by backends
        that cannot stop a compilation; the manager keeps time by itself too.
        """

    @abstractmethod
    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:  # noqa: ANN401 - torch is optional
        """Make an int32 array of ``max_num_seqs`` rows of ``ceil(vocab_size / 32)`` words on the CPU."""

    @abstractmethod
    def destroy(self) -> None:
        """Let go of everything. Nothing is called afterwards."""

    def get_stats(self) -> dict[str, float]:
        """Return numbers about the backend: ``cache_bytes`` is its memory; the others are its own."""
        return {}
