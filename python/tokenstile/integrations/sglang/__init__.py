"""SGLang's grammars, done by tokenstile: ``--grammar-backend tokenstile``.

SGLang has a registry of grammar backends and an entry point, ``sglang.srt.plugins``, whose functions run before it
reads its arguments and again in each of its processes. `register` is tokenstile's. Nothing in SGLang is replaced,
unless outputs are to be complete within their ``max_new_tokens`` (`tokenstile.integrations.sglang.budgets`): one method
is wrapped then, because a backend does not see requests.

A backend from the registry is used as it is. SGLang would wrap its own ones so that the grammar waits until the model
has finished thinking; `make_backend` does that for this one, with SGLang's own wrapper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenstile.integrations.budgets import SGLANG_SWITCH, is_switched_on

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NAME", "make_backend", "register"]

NAME = "tokenstile"
"""What SGLang calls the backend."""


def register() -> None:
    """Tell SGLang of the backend; SGLang calls it through the entry point."""
    from sglang.srt.arg_groups import choices  # noqa: PLC0415 - whoever imports this module may not have SGLang
    from sglang.srt.constrained import base_grammar_backend  # noqa: PLC0415

    base_grammar_backend.register_grammar_backend(NAME, make_backend)
    if is_switched_on(SGLANG_SWITCH):
        from tokenstile.integrations.sglang import budgets  # noqa: PLC0415 - imports SGLang's scheduler

        budgets.apply()
    if NAME not in choices.GRAMMAR_BACKEND_CHOICES:
        choices.add_grammar_backend_choices([NAME])


def make_backend(
    server_args: Any,  # noqa: ANN401, ARG001 - of SGLang, which passes it to every backend
    tokenizer: Any,  # noqa: ANN401 - of transformers, or of SGLang
    vocab_size: int,
    eos_token_ids: Iterable[int] | None = None,
) -> Any:  # noqa: ANN401 - a backend of SGLang
    """Make the backend for a model, with the reasoning parser of the server around it where there is one."""
    from sglang.srt.runtime_context import get_serving  # noqa: PLC0415

    from tokenstile.integrations.sglang.backend import BoundedCache, TokenstileGrammarBackend  # noqa: PLC0415

    settings = get_serving()
    if settings.constrained_json_whitespace_pattern:
        raise ValueError(
            "tokenstile does not follow --constrained-json-whitespace-pattern; use "
            "--constrained-json-max-whitespace-cnt or --constrained-json-disable-any-whitespace"
        )
    backend = TokenstileGrammarBackend(
        tokenizer,
        vocab_size,
        eos_token_ids,
        any_whitespace=not settings.constrained_json_disable_any_whitespace,
        max_whitespace_cnt=settings.constrained_json_max_whitespace_cnt,
    )
    reasoning_parser = _reasoning_parser(settings, tokenizer)
    if reasoning_parser is None:
        return backend
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend  # noqa: PLC0415

    wrapped = ReasonerGrammarBackend(
        backend, reasoning_parser, tokenizer, enable_strict_thinking=settings.enable_strict_thinking
    )
    wrapped.cache = BoundedCache()
    return wrapped


def _reasoning_parser(settings: Any, tokenizer: Any) -> Any | None:  # noqa: ANN401 - of SGLang
    """Return the parser that finds the end of thinking, if the server has one and the tokenizer can spell that end."""
    from sglang.srt.parser.reasoning_parser import ReasoningParser  # noqa: PLC0415

    if not settings.reasoning_parser:
        return None
    parser = ReasoningParser(
        model_type=settings.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer
    )
    return parser if parser.detector.get_think_end_token_ids(tokenizer) else None
