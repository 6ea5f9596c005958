"""Answers of ``/v1/completions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from tokenstile.server.answers.tokens import TokenView
from tokenstile.server.answers.writer import AnswerWriter, end_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenstile.engine import Chunk
    from tokenstile.server.api.completion import CompletionRequest
    from tokenstile.server.preparing import Prepared
    from tokenstile.server.service import Generation

__all__ = ["CompletionWriter"]


class CompletionWriter(AnswerWriter):
    """Writes texts."""

    prefix: ClassVar[str] = "cmpl"
    whole: ClassVar[str] = "text_completion"
    part: ClassVar[str] = "text_completion"

    def __init__(self, generation: Generation, prepared: Prepared, model: str) -> None:
        super().__init__(generation, prepared, model)
        request = cast("CompletionRequest", prepared.request)
        self._logprobs = request.logprobs is not None
        info = generation.service.engine.model.tokenizer_info
        self._tokens = [TokenView(each, info) for each in generation.requests]

    def opening(self) -> Iterable[dict[str, Any]]:
        """Nothing: texts begin with their first piece."""
        return ()

    def pieces(self, at: int, chunk: Chunk) -> Iterable[dict[str, Any]]:
        """Give what a chunk adds to a text; thoughts are text here."""
        places = self._tokens[at].take(chunk.num_tokens)
        piece: dict[str, Any] = {"index": at, "text": chunk.reasoning + chunk.text, "logprobs": None}
        if self._logprobs:
            piece["logprobs"] = self._tokens[at].completion_logprobs(places)
        if self.request.return_token_ids:
            piece["token_ids"] = self._tokens[at].ids(places)
        return [{**piece, **end_of(chunk)}]

    def choice(self, at: int, pieces: list[dict[str, Any]]) -> dict[str, Any]:
        """Put a text together."""
        whole: dict[str, Any] = {
            "index": at,
            "text": "".join(piece["text"] for piece in pieces),
            "logprobs": None,
        }
        if self._logprobs:
            noted = [piece["logprobs"] for piece in pieces]
            whole["logprobs"] = {name: [one for each in noted for one in each[name]] for name in noted[0]}
        if self.request.return_token_ids:
            whole["token_ids"] = [token for piece in pieces for token in piece["token_ids"]]
        ends = ("finish_reason", "length_reason")
        return {**whole, **{name: pieces[-1][name] for name in ends if name in pieces[-1]}}
