"""What a request may ask of tokenstile that vLLM has no parameter for.

vLLM's `StructuredOutputsParams` refuses fields that it does not know. What vLLM hands on as it is are the
``extra_args`` of `SamplingParams`, which clients of its server give as ``vllm_xargs``. One of them is tokenstile's: the
spelling of JSON. vLLM compiles a grammar without saying for whom, so the method that knows the request is wrapped.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.json_schema import Spelling

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SPELLING", "spelled", "spelling", "spelling_of"]

SPELLING: Final = "tokenstile_spelling"
"""The extra argument with the spelling of one request: ``canonical`` or ``any``."""

_OURS: Final = "tokenstile_"

spelling: ContextVar[Spelling | None] = ContextVar("tokenstile_spelling", default=None)
"""The spelling that the request chose whose grammar is being compiled; ``None`` for that of the process."""


def spelling_of(sampling_params: Any) -> Spelling | None:  # noqa: ANN401 - of vLLM
    """Return the spelling that a request chose, if any; ``InvalidArgumentError`` if it is none."""
    extra: dict[str, Any] = getattr(sampling_params, "extra_args", None) or {}
    unknown = [name for name in extra if str(name).startswith(_OURS) and name != SPELLING]
    if unknown:
        raise InvalidArgumentError(f"tokenstile has no extra argument {unknown[0]!r}, only {SPELLING}")
    chosen = extra.get(SPELLING)
    if chosen is not None and chosen not in get_args(Spelling):
        known = " or ".join(f'"{one}"' for one in get_args(Spelling))
        raise InvalidArgumentError(f"{SPELLING} must be {known}, not {chosen!r}")
    return cast("Spelling | None", chosen)


def spelled(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``StructuredOutputManager._create_grammar``: the grammar has the spelling that its request chose."""

    @functools.wraps(original)
    def create_grammar(self: Any, request: Any) -> Any:  # noqa: ANN401 - of vLLM
        token = spelling.set(spelling_of(request.sampling_params))
        try:
            return original(self, request)
        finally:
            spelling.reset(token)

    return create_grammar
