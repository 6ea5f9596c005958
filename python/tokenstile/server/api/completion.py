"""The request of ``/v1/completions``."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from tokenstile.server.api.bounds import Count, Few, Many, TokenId
from tokenstile.server.api.common import GenerationFields

__all__ = ["CompletionRequest"]

_Tokens = Annotated[Many[TokenId], Field(min_length=1)]


class CompletionRequest(GenerationFields):
    """A request to go on with a text, or with several."""

    prompt_field: ClassVar[str] = "prompt"

    prompt: (
        str
        | _Tokens
        | Annotated[Few[str], Field(min_length=1)]
        | Annotated[Few[_Tokens], Field(min_length=1)]
    )
    max_tokens: Count = 16
    logprobs: int | None = Field(None, ge=0, le=20)
    echo: Literal[False] = False
    best_of: Count | None = None
    suffix: None = None

    @model_validator(mode="after")
    def _goes_together(self) -> CompletionRequest:
        if self.best_of is not None and self.best_of != self.n:
            raise ValueError("best_of is not supported; leave it out")
        return self

    @property
    def prompts(self) -> list[str | list[int]]:
        """The prompts one by one."""
        if isinstance(self.prompt, str):
            return [self.prompt]
        if all(isinstance(part, int) for part in self.prompt):
            return [list(self.prompt)]  # type: ignore[arg-type] # all are numbers
        return list(self.prompt)  # type: ignore[arg-type] # none is a number

    @property
    def most_tokens(self) -> int | None:
        """The most tokens of an output."""
        return self.max_tokens

    @property
    def num_logprobs(self) -> int | None:
        """How many of the likeliest tokens are wanted at each place."""
        return self.logprobs
