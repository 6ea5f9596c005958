"""Tokens of an output as clients see them: their texts, bytes and probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenstile.engine import GenerationRequest, TokenLogprobs
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["TokenView"]


class TokenView:
    """The tokens of one output, given piece by piece. The stop token at the end is not among them."""

    def __init__(self, request: GenerationRequest, info: TokenizerInfo) -> None:
        self._request = request
        self._info = info
        self._stops = frozenset(info.stop_token_ids).union(request.params.stop_token_ids)
        self._given = 0
        self._offset = 0

    def take(self, upto: int) -> range:
        """Give the places of the tokens that are new, up to a number of tokens."""
        output = self._request.output
        if (
            upto
            and upto == len(output)
            and self._request.finish_reason is not None
            and output[-1] in self._stops
        ):
            upto -= 1
        places = range(self._given, max(upto, self._given))
        self._given = places.stop
        return places

    def ids(self, places: range) -> list[int]:
        """Give the tokens of some places."""
        return self._request.output[places.start : places.stop]

    def chat_logprobs(self, places: range) -> dict[str, Any]:
        """Give the probabilities as chat completions have them."""
        content = [
            {
                **self._entry(token, noted.logprob),
                "top_logprobs": [self._entry(other, logprob) for other, logprob in noted.top],
            }
            for token, noted in self._noted(places)
        ]
        return {"content": content, "refusal": None}

    def completion_logprobs(self, places: range) -> dict[str, Any]:
        """Give the probabilities as completions have them."""
        result: dict[str, Any] = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
        for token, noted in self._noted(places):
            text = self._text(token)
            result["tokens"].append(text)
            result["token_logprobs"].append(noted.logprob)
            result["top_logprobs"].append({self._text(other): logprob for other, logprob in noted.top})
            result["text_offset"].append(self._offset)
            self._offset += len(text)
        return result

    def _noted(self, places: range) -> Iterator[tuple[int, TokenLogprobs]]:
        for at in places:
            yield self._request.output[at], self._request.logprobs[at]

    def _bytes(self, token: int) -> bytes:
        return self._info.token_bytes(token) or b""

    def _text(self, token: int) -> str:
        return self._bytes(token).decode("utf-8", "replace")

    def _entry(self, token: int, logprob: float) -> dict[str, Any]:
        return {"token": self._text(token), "logprob": logprob, "bytes": list(self._bytes(token))}
