"""llama-cpp-python: the vocabulary of a GGUF model, and a logits processor for ``Llama``.

How the library calls a processor decides what this one is like:

- It views the scores as one field of an array of records, so they are strided; the kernel takes that.
- It prints an exception that a processor raises, and goes on without the constraint. So this one never raises: where
  something is wrong it allows nothing but the end, keeps the error in `GrammarLogitsProcessor.error`, and logs it.
- With ``logit_bias`` it replaces the list of processors by what ``list.extend`` returns, which is ``None``: no
  constraint is left. So this processor is such a list itself, whose ``extend`` returns a list.
- With a ``draft_model`` it shows tokens that are not verified, without saying where they begin. That cannot work, and
  such calls are found out by their lengths.
- A model may have several tokens that end a text. All of them are stop tokens here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from tokenstile.engine.models.gguf_vocabulary import read_control_token_names, read_vocabulary
from tokenstile.exceptions import InvalidArgumentError, MatcherError
from tokenstile.integrations.following import Generation, compiled_grammars
from tokenstile.integrations.masking import MaskBuffer

try:
    import llama_cpp
    import numpy as np
except ImportError as error:
    raise ImportError("this needs llama-cpp-python: pip install 'tokenstile[llama-cpp]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenstile._core import CompiledGrammar
    from tokenstile.integrations.following import Follower
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["GrammarLogitsProcessor", "control_token_names", "tokenizer_info"]

_LOG: Final = logging.getLogger(__name__)


def tokenizer_info(llama: llama_cpp.Llama, *, special: bool = False) -> TokenizerInfo:
    """Read the vocabulary of a loaded model, with all tokens that end a text.

    Control tokens such as ``<|im_start|>`` are special, because llama.cpp leaves them out of the texts that it gives: a
    grammar has them only where it names them. With ``special`` they are text like any other.
    """
    return read_vocabulary(llama_cpp, llama_cpp.llama_model_get_vocab(llama.model), special=special)


def control_token_names(llama: llama_cpp.Llama) -> dict[int, str]:
    """Give the names of the special tokens, by their ids: ``<|im_start|>`` and its like."""
    return read_control_token_names(llama_cpp, llama_cpp.llama_model_get_vocab(llama.model))


class GrammarLogitsProcessor(llama_cpp.LogitsProcessorList):  # type: ignore[misc,unused-ignore] # it may be missing
    """Holds the texts of a ``Llama`` to a grammar; pass it as ``logits_processor``, without a list around it.

    It may serve one text after another. To go on from a text that it wrote itself, call `reset` in between.

    The library does not tell a processor how many tokens it may write. Pass ``max_tokens``, the same number as to the
    library, and each text is complete within it; ``TokenBudgetError`` if that is too few for any text.
    """

    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        llama: llama_cpp.Llama | None = None,
        *,
        max_tokens: int | None = None,
    ) -> None:
        """Take a grammar, and the model to check that they go together."""
        super().__init__([self._process])
        (grammar,) = compiled_grammars(compiled_grammar)
        if llama is not None:
            _check_model(llama, grammar)
        self.error: Exception | None = None
        """What went wrong since the last `reset`, if anything did; the text was ended there."""
        self._grammar = grammar
        self._masks = MaskBuffer(grammar.tokenizer_info.vocab_size)
        self._generation = Generation([grammar], max_tokens)
        self._length = 0

    def extend(self, processors: Iterable[Any]) -> llama_cpp.LogitsProcessorList:  # type: ignore[override,unused-ignore]
        """Give a list that has other processors in front of this one; ``logit_bias`` comes in this way."""
        return llama_cpp.LogitsProcessorList([*processors, *self])

    def reset(self) -> None:
        """Forget the prompt and the error: the next call is the first of another text."""
        self.error = None
        self._generation.reset()

    def check(self) -> None:
        """Raise what went wrong, if anything did."""
        if self.error is not None:
            raise self.error

    def _process(self, input_ids: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        try:
            follower = self._follow(np.asarray(input_ids).reshape(1, -1))
            self._masks.forbid(scores, [follower])
        except Exception as error:  # noqa: BLE001 - the library would go on without the constraint
            self._close(scores, error)
        return scores

    def _follow(self, input_ids: np.ndarray[Any, Any]) -> Follower:
        length, self._length = self._length, input_ids.shape[1]
        generation = self._generation
        if generation.continues(input_ids):
            written = self._length - generation.prompts.shape[1]
            if written and self._length != length + 1:
                raise MatcherError(
                    f"{self._length - length} tokens were added at once: a draft model does not go with a grammar, "
                    "and to go on from a text that this processor wrote, call reset() before"
                )
        (follower,) = generation.follow(input_ids)
        if follower.strayed:
            token = follower.tokens[follower.accepted]
            raise MatcherError(f"the text went on with token {token}, which the grammar does not allow")
        return follower

    def _close(self, scores: np.ndarray[Any, Any], error: Exception) -> None:
        """Allow nothing but the end."""
        if self.error is None:
            self.error = error
            _LOG.error("the text is ended, because its grammar cannot be followed: %s", error)
        self._masks.only_ends(scores, self._grammar.tokenizer_info.stop_token_ids)


def _check_model(llama: llama_cpp.Llama, grammar: CompiledGrammar) -> None:
    if llama.draft_model is not None:
        raise InvalidArgumentError(
            "a draft model does not go with a grammar: llama.cpp shows tokens not yet verified"
        )
    info = grammar.tokenizer_info
    if llama.n_vocab() != info.vocab_size:
        raise InvalidArgumentError(
            f"the model has {llama.n_vocab()} tokens, and the grammar's vocabulary {info.vocab_size}: "
            "compile it for tokenizer_info(llama)"
        )
