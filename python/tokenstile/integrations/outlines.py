"""Outlines: a processor for ``outlines.Generator``, and the vocabulary of an Outlines model.

Outlines has a fixed list of its own backends; what is not on it comes in as a processor:
``outlines.Generator(model, processor=grammar_processor(model, json_schema=schema))``. Models of transformers and of
llama.cpp are supported, on the CPU and on other devices.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from tokenstile._core import CompiledGrammar, GrammarCompiler
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.integrations.following import Generation, compiled_grammars
from tokenstile.integrations.masking import MaskBuffer

try:
    from outlines.models import LlamaCpp, Transformers
    from outlines.processors import OutlinesLogitsProcessor
except ImportError as error:
    raise ImportError("this needs Outlines: pip install 'tokenstile[outlines]'") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokenstile.json_schema import Schema
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["GrammarProcessor", "grammar_processor", "tokenizer_info"]

_LOG: Final = logging.getLogger(__name__)


def tokenizer_info(model: Any) -> TokenizerInfo:  # noqa: ANN401 - a model of Outlines
    """Read the vocabulary of an Outlines model."""
    if isinstance(model, Transformers):
        from tokenstile.integrations import transformers  # noqa: PLC0415 - only for such models

        return transformers.tokenizer_info(model.model, model.hf_tokenizer)
    if isinstance(model, LlamaCpp):
        from tokenstile.integrations import llama_cpp  # noqa: PLC0415 - only for such models

        return llama_cpp.tokenizer_info(model.model)
    raise InvalidArgumentError(f"models of Outlines of type {type(model).__name__} are not supported")


class GrammarProcessor(OutlinesLogitsProcessor):  # type: ignore[misc,unused-ignore] # it may be missing
    """Holds the outputs of an Outlines generator to grammars: one for all, or one for each prompt of a batch.

    Outlines does not tell a processor how many tokens it may write. Pass ``max_tokens``, the same number as
    ``max_new_tokens`` or ``max_tokens`` of the call, and each output is complete within it; ``TokenBudgetError`` if
    that is too few for any text.
    """

    def __init__(
        self,
        compiled_grammar: CompiledGrammar | Iterable[CompiledGrammar],
        tensor_library_name: str = "torch",
        *,
        max_tokens: int | None = None,
    ) -> None:
        if tensor_library_name not in ("torch", "numpy"):
            raise InvalidArgumentError(
                f"tensors of {tensor_library_name} are not supported, only torch and numpy"
            )
        super().__init__(tensor_library_name)
        self._grammars = compiled_grammars(compiled_grammar)
        self._masks = MaskBuffer(self._grammars[0].tokenizer_info.vocab_size)
        self._generation = Generation(self._grammars, max_tokens)
        # llama.cpp, whose arrays are numpy's, prints exceptions and goes on without the constraint.
        self._may_raise = tensor_library_name == "torch"
        self.error: Exception | None = None
        """What went wrong in the last generation, where that could not be raised; the text was ended there."""

    def reset(self) -> None:
        """Begin anew; Outlines calls this before each generation."""
        self.error = None
        self._generation.reset()

    def process_logits(self, input_ids: Any, logits: Any) -> Any:  # noqa: ANN401 - arrays of either library
        """Give the logits with those of all tokens that cannot follow at minus infinity."""
        logits = logits.clone() if hasattr(logits, "clone") else logits.copy()
        try:
            self._masks.forbid(logits, self._generation.follow(input_ids))
        except Exception as error:
            if self._may_raise:
                raise
            _LOG.exception("the text is ended, because its grammar cannot be followed")
            self.error = error
            self._masks.only_ends(logits, self._grammars[0].tokenizer_info.stop_token_ids)
        return logits


def grammar_processor(
    model: Any,  # noqa: ANN401 - a model of Outlines
    *,
    json_schema: Schema | None = None,
    regex: str | None = None,
    ebnf: str | None = None,
    lark: str | None = None,
    structural_tag: Any = None,  # noqa: ANN401 - as GrammarCompiler takes it
    max_tokens: int | None = None,
) -> GrammarProcessor:
    """Make the processor of a model for one grammar; exactly one is to be given.

    With ``max_tokens`` outputs are complete within so many tokens.
    """
    compiler = GrammarCompiler(tokenizer_info(model))
    kinds: list[tuple[Any, Callable[[Any], CompiledGrammar]]] = [
        (json_schema, compiler.compile_json_schema),
        (regex, compiler.compile_regex),
        (ebnf, compiler.compile_grammar),
        (lark, compiler.compile_lark),
        (structural_tag, compiler.compile_structural_tag),
    ]
    given = [(value, compile_it) for value, compile_it in kinds if value is not None]
    if len(given) != 1:
        raise InvalidArgumentError("give exactly one of json_schema, regex, ebnf, lark and structural_tag")
    ((value, compile_it),) = given
    return GrammarProcessor(compile_it(value), model.tensor_library_name, max_tokens=max_tokens)
