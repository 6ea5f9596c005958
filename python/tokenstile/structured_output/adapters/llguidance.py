"""llguidance behind the contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import llguidance
import llguidance.numpy
import numpy as np

from tokenstile.bitmask import get_bitmask_shape
from tokenstile.exceptions import GrammarError, UnsupportedFeatureError
from tokenstile.structured_output.adapters.closing import close_schema
from tokenstile.structured_output.adapters.stopping import GrammarWithOwnStops
from tokenstile.structured_output.constraint import looks_like_lark
from tokenstile.structured_output.contract import StructuredOutputBackend
from tokenstile.structured_output.key import GrammarType

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from tokenstile._core import CancelToken
    from tokenstile.structured_output.contract import BackendContext

__all__ = ["LLGuidanceAdapter", "LLGuidanceGrammar"]


class _Vocabulary:
    """What llguidance wants to know of a tokenizer."""

    bos_token_id = None

    def __init__(self, context: BackendContext) -> None:
        info = context.tokenizer_info
        self.tokens = info.decoded_vocab
        self.eos_token_id = info.stop_token_ids[0] if info.stop_token_ids else len(self.tokens) - 1
        self.special_token_ids = sorted({*info.special_token_ids, *info.stop_token_ids})
        self._encode = context.encode
        self._single = {bytes([byte]): None for byte in range(256)} | {
            token: number for number, token in enumerate(self.tokens) if len(token) == 1
        }

    def __call__(self, text: str | bytes) -> list[int]:
        """Cut a text: with the tokenizer where there is one, or else byte by byte."""
        if isinstance(text, str) and self._encode is not None:
            return self._encode(text)
        data = text.encode() if isinstance(text, str) else text
        numbers = (self._single[data[at : at + 1]] for at in range(len(data)))
        return [number for number in numbers if number is not None]


class LLGuidanceGrammar(GrammarWithOwnStops):
    """A request's place in a grammar of llguidance."""

    def __init__(
        self,
        matcher: Any,  # noqa: ANN401 - of llguidance
        context: BackendContext,
        stop_token_ids: Collection[int] | None,
    ) -> None:
        defaults = context.tokenizer_info.stop_token_ids
        super().__init__(context.vocab_size, stop_token_ids or defaults, defaults)
        self.context = context
        self.matcher = matcher

    def _read(self, token: int) -> bool:
        if self.matcher.is_stopped():
            return False
        fits = bool(self.matcher.try_consume_tokens([token]) == 1)
        self._check()
        return fits

    def _check(self) -> None:
        if self.matcher.is_error():
            raise GrammarError(self.matcher.get_error())

    def _unread(self, count: int) -> None:
        if count:
            self.matcher.rollback(count)
            self._check()

    def _may_end(self) -> bool:
        return bool(self.matcher.is_accepting())

    def _fill_row(self, row: npt.NDArray[np.int32]) -> None:
        if self.matcher.is_stopped():
            row.fill(0)
            return
        llguidance.numpy.fill_next_token_bitmask(self.matcher, row[None], 0)
        self._check()

    def reset(self) -> None:
        """Go back to the start."""
        self._terminated = False
        self.matcher.reset()

    def fresh(self, stop_token_ids: Collection[int] | None = None) -> LLGuidanceGrammar:
        """Make a second grammar at the start."""
        matcher = self.matcher.deep_copy()
        matcher.reset()
        return LLGuidanceGrammar(matcher, self.context, stop_token_ids)

    def jump_forward_string(self) -> str:
        """Return the text that must come next."""
        forced: bytes = b"" if self._terminated else self.matcher.compute_ff_bytes()
        return forced.decode("utf-8", "ignore")


class LLGuidanceAdapter(StructuredOutputBackend):
    """Compiles grammars with llguidance."""

    name: ClassVar[str] = "llguidance"

    def __init__(self, context: BackendContext) -> None:
        self.context = context
        wrapper = llguidance.TokenizerWrapper(_Vocabulary(context))
        self.tokenizer = llguidance.LLTokenizer(wrapper, n_vocab=context.vocab_size)

    def compile_grammar(
        self,
        grammar_type: GrammarType,
        grammar_spec: str,
        stop_token_ids: Collection[int] | None = None,
        *,
        timeout: float | None = None,  # noqa: ARG002 - it cannot be stopped
        cancel: CancelToken | None = None,  # noqa: ARG002 - it cannot be stopped
    ) -> LLGuidanceGrammar:
        """Compile a grammar."""
        matcher = llguidance.LLMatcher(
            self.tokenizer, self._definition(grammar_type, grammar_spec), log_level=0
        )
        if matcher.is_error():
            raise GrammarError(matcher.get_error())
        return LLGuidanceGrammar(matcher, self.context, stop_token_ids)

    def _definition(self, grammar_type: GrammarType, spec: str) -> str:
        match grammar_type:
            case GrammarType.JSON | GrammarType.JSON_OBJECT:
                return self._schema(spec or '{"type": "object"}')
            case GrammarType.ALL_OF | GrammarType.ANY_OF | GrammarType.THEN:
                raise UnsupportedFeatureError(f"llguidance puts no structures together: {grammar_type.value}")
            case GrammarType.REGEX | GrammarType.CHOICE | GrammarType.LARK:
                return str(llguidance.grammar_from(grammar_type.value, spec))
            case GrammarType.GRAMMAR:
                return str(llguidance.grammar_from("lark" if looks_like_lark(spec) else "ebnf", spec))
        return _tags(spec)

    def _schema(self, schema: str) -> str:
        overrides = {"whitespace_flexible": not self.context.disable_any_whitespace}
        if self.context.disable_additional_properties:
            schema = close_schema(schema)
        return str(llguidance.LLMatcher.grammar_from_json_schema(schema, overrides=overrides))

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:  # noqa: ANN401 - the contract's
        """Make a bitmask, of numpy."""
        return np.full(get_bitmask_shape(max_num_seqs, self.context.vocab_size), -1, dtype=np.int32)

    def destroy(self) -> None:
        """Nothing is kept."""


def _tags(spec: str) -> str:
    """Return the definition of a structural tag of the older form; the newer one has no counterpart."""
    document = json.loads(spec)
    if "structures" not in document:
        raise UnsupportedFeatureError("llguidance has structural tags of the older form only")
    tags = [
        llguidance.StructTag(
            trigger=next((one for one in document["triggers"] if tag["begin"].startswith(one)), tag["begin"]),
            begin=tag["begin"],
            grammar=tag["schema"],
            end=tag["end"],
        )
        for tag in document["structures"]
    ]
    return str(llguidance.LLMatcher.grammar_from_lark(llguidance.StructTag.to_grammar(tags)))
