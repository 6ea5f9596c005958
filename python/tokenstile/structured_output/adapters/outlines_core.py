"""outlines-core behind the contract: regular languages only, compiled to tables of tokens."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import outlines_core
import outlines_core.json_schema

from tokenstile.bitmask import get_bitmask_shape
from tokenstile.exceptions import UnsupportedFeatureError
from tokenstile.structured_output.adapters.stopping import GrammarWithOwnStops
from tokenstile.structured_output.choice import read_choices
from tokenstile.structured_output.contract import StructuredOutputBackend
from tokenstile.structured_output.key import GrammarType

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from tokenstile._core import CancelToken
    from tokenstile.structured_output.contract import BackendContext

__all__ = ["OutlinesCoreAdapter", "OutlinesCoreGrammar"]

_MIN_ROLLBACK = 32
_WORD_BYTES = 4


class OutlinesCoreGrammar(GrammarWithOwnStops):
    """A request's place in an index of outlines-core."""

    def __init__(
        self,
        index: Any,  # noqa: ANN401 - of outlines-core
        context: BackendContext,
        stop_token_ids: Collection[int] | None,
    ) -> None:
        defaults = context.tokenizer_info.stop_token_ids
        super().__init__(context.vocab_size, stop_token_ids or defaults, defaults)
        self.context = context
        self.index = index
        self.guide = outlines_core.Guide(index, max(_MIN_ROLLBACK, context.num_speculative_tokens))

    def _read(self, token: int) -> bool:
        if not self.guide.accepts_tokens([token]):
            return False
        self.guide.advance(token, return_tokens=False)
        return True

    def _unread(self, count: int) -> None:
        if count:
            self.guide.rollback_state(count)

    def _may_end(self) -> bool:
        return bool(self.guide.is_finished())

    def _fill_row(self, row: npt.NDArray[np.int32]) -> None:
        scratch = np.zeros(row.shape, dtype=np.int32)
        self.guide.write_mask_into(scratch.ctypes.data, scratch.size, _WORD_BYTES)
        row[:] = scratch

    def reset(self) -> None:
        """Go back to the start."""
        self._terminated = False
        self.guide.reset()

    def fresh(self, stop_token_ids: Collection[int] | None = None) -> OutlinesCoreGrammar:
        """Make a second grammar at the start."""
        return OutlinesCoreGrammar(self.index, self.context, stop_token_ids)


class OutlinesCoreAdapter(StructuredOutputBackend):
    """Compiles regular expressions, choices and JSON Schemas with outlines-core."""

    name: ClassVar[str] = "outlines_core"

    def __init__(self, context: BackendContext) -> None:
        self.context = context
        info = context.tokenizer_info
        stops = set(info.stop_token_ids)
        tokens: dict[bytes, list[int]] = defaultdict(list)
        for number, token in enumerate(info.decoded_vocab):
            if token and number not in stops:
                tokens[token].append(number)
        end = min(stops, default=info.vocab_size - 1)
        self.vocabulary = outlines_core.Vocabulary(end, dict(tokens))

    def compile_grammar(
        self,
        grammar_type: GrammarType,
        grammar_spec: str,
        stop_token_ids: Collection[int] | None = None,
        *,
        timeout: float | None = None,  # noqa: ARG002 - it cannot be stopped
        cancel: CancelToken | None = None,  # noqa: ARG002 - it cannot be stopped
    ) -> OutlinesCoreGrammar:
        """Compile a grammar."""
        regex = _regex(
            grammar_type, grammar_spec, white_space="" if self.context.disable_any_whitespace else None
        )
        index = outlines_core.Index(regex, self.vocabulary)
        return OutlinesCoreGrammar(index, self.context, stop_token_ids)

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:  # noqa: ANN401 - the contract's
        """Make a bitmask, of numpy."""
        return np.full(get_bitmask_shape(max_num_seqs, self.context.vocab_size), -1, dtype=np.int32)

    def destroy(self) -> None:
        """Let go of the vocabulary."""
        self.vocabulary = None


def _regex(grammar_type: GrammarType, spec: str, white_space: str | None) -> str:
    """Return the regular expression of what is asked for. Objects that name properties have no others."""
    match grammar_type:
        case GrammarType.REGEX:
            return spec
        case GrammarType.CHOICE:
            return "(" + "|".join(re.escape(text) for text in read_choices(spec)) + ")"
        case GrammarType.JSON:
            return str(outlines_core.json_schema.build_regex_from_schema(spec, white_space))
    raise UnsupportedFeatureError(f"outlines-core has no grammars of the kind {grammar_type.value}")
