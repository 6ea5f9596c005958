"""The check of a request in vLLM's front end, whose errors go to the client.

vLLM answers a ``VLLMValidationError`` with status 400 and everything else with 500, so every error becomes one, with
the place in the constraint: the JSON Pointer of a keyword, or a line and a column.

The check compiles the constraint for the model's own vocabulary, as the engine will, so what passes here compiles
there. Compiling is lazy and takes well under a millisecond for most schemas. Where it takes longer, the time limit
ends it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from vllm.exceptions import VLLMValidationError
from vllm.v1.structured_output.request import get_structured_output_key

from tokenstile.exceptions import GrammarError, InvalidArgumentError, TokenBudgetError, TokenstileError
from tokenstile.integrations.vllm.backend import compile_for, kind_of
from tokenstile.integrations.vllm.extras import spelling_of
from tokenstile.integrations.vllm.vocabulary import compiler_for
from tokenstile.structured_output.backend import matcher_within
from tokenstile.structured_output.constraint import parse_constraint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenstile.json_schema import Spelling

__all__ = ["check", "check_follows", "check_without_tokenizer", "chosen_spelling"]

_follows: ContextVar[bool] = ContextVar("tokenstile_check_follows", default=False)


@contextmanager
def check_follows() -> Iterator[None]:
    """Within it `check_without_tokenizer` does nothing, because `check` will do all of it."""
    token = _follows.set(True)
    try:
        yield
    finally:
        _follows.reset(token)


def check(
    params: Any,  # noqa: ANN401 - of vLLM
    tokenizer: Any,  # noqa: ANN401 - of vLLM
    vocab_size: int,
    config: Any,  # noqa: ANN401 - of vLLM
    *,
    max_tokens: int | None = None,
    spelling: Spelling | None = None,
) -> None:
    """Compile the constraint of a request for its model; ``VLLMValidationError`` if it cannot be followed.

    ``config`` are the engine's settings for structured outputs, and ``spelling`` is what the request chose. With
    ``max_tokens`` there has to be a text that is so short; how much room the prompt leaves is only known in the engine.
    """
    _check_options(params, config)
    kind, text = _key(params)
    compiler = compiler_for(tokenizer, vocab_size)
    try:
        compiled = compile_for(compiler, kind, text, config, spelling)
        matcher_within(compiled, None, max_tokens)
    except TokenBudgetError as error:
        raise VLLMValidationError(
            f"The structured output does not fit: {error}", parameter="max_tokens"
        ) from error
    except TokenstileError as error:
        raise _refused(params, error) from error


def chosen_spelling(sampling_params: Any) -> Spelling | None:  # noqa: ANN401 - of vLLM
    """Return the spelling that a request chose, if any; ``VLLMValidationError`` if it is none."""
    try:
        return spelling_of(sampling_params)
    except InvalidArgumentError as error:
        raise VLLMValidationError(str(error), parameter="extra_args") from error


def check_without_tokenizer(sampling_params: Any) -> None:  # noqa: ANN401 - of vLLM
    """Check what can be checked before the tokenizer is known, in place of vLLM's check for xgrammar.

    A grammar may name tokens by their text. Whether there are such tokens is left to `check`, which every request meets
    later.
    """
    params = sampling_params.structured_outputs
    if params is None or _follows.get():
        return
    kind, text = _key(params)
    try:
        parse_constraint(kind_of(kind), text)
    except TokenstileError as error:
        if not _needs_tokenizer(error):
            raise _refused(params, error) from error


def _check_options(params: Any, config: Any) -> None:  # noqa: ANN401 - of vLLM
    """Refuse options of a request that vLLM does not hand on to the engine, so that they would not be followed."""
    for name in ("whitespace_pattern", "disable_any_whitespace", "disable_additional_properties"):
        if getattr(params, name) and not getattr(config, name, False):
            raise VLLMValidationError(
                f"{name} cannot be chosen by a request; disable_any_whitespace is a setting of the server",
                parameter=f"structured_outputs.{name}",
            )


def _key(params: Any) -> tuple[Any, str]:  # noqa: ANN401 - of vLLM
    """Return the kind and the text of a constraint."""
    try:
        kind, text = get_structured_output_key(params)
    except (TypeError, ValueError, RecursionError) as error:
        raise VLLMValidationError(f"The structured output cannot be read: {error}") from error
    if not isinstance(text, str):
        raise VLLMValidationError(f"A structured output is given as text, not as {type(text).__name__}")
    return kind, text


def _needs_tokenizer(error: TokenstileError) -> bool:
    return isinstance(error, GrammarError) and "tokenizer_info" in str(error)


def _refused(params: Any, error: TokenstileError) -> VLLMValidationError:  # noqa: ANN401 - of vLLM
    """Return the client's error for ours."""
    names = ("json", "json_object", "regex", "choice", "grammar", "structural_tag")
    name = next(name for name in names if getattr(params, name) is not None)
    return VLLMValidationError(
        f"The structured output cannot be followed: {error}", parameter=f"structured_outputs.{name}"
    )
