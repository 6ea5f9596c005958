"""The places in vLLM that are replaced.

1. The class behind the backend name ``xgrammar``, where the manager and where beam search look it up.
2. The check of that backend that needs no tokenizer. It rejects schemas by a list of keywords that xgrammar lacks,
   before any library is asked; the replacement asks tokenstile.
3. The check of a request. With the setting ``auto`` vLLM tries one backend after the other, and the first request
   decides for the whole engine which one it gets. Under tokenstile ``auto`` means tokenstile; what it refuses is
   refused. It also has the tokenizer, which the check above has not, and so compiles what the engine will compile.
4. The manager's loop over the rows of a batch, for grammars of ours: native calls for all rows instead of several
   calls for each.
5. The manager's method that makes the grammar of a request, for what the request chose by
   `tokenstile.integrations.vllm.extras`.

6. Where outputs are to be complete within their ``max_tokens`` (`tokenstile.integrations.vllm.budgets`): the manager's
   methods that make the grammar of a request, once more, and that accept its tokens.

All names are looked up, and how vLLM lays out its rows, before the first is replaced, so an unknown vLLM is patched in
no place at all. Applying twice changes nothing.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias

import vllm.sampling_params
import vllm.v1.structured_output as manager_module
from vllm.v1.structured_output import backend_xgrammar

from tokenstile import __version__
from tokenstile.integrations.budgets import VLLM_SWITCH, is_switched_on
from tokenstile.integrations.vllm import budgets, checks, extras, layout, rows
from tokenstile.integrations.vllm.backend import VllmBackend
from tokenstile.integrations.vllm.switch import SWITCH, logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _Place: TypeAlias = tuple[Any, str, Callable[..., Any]]

__all__ = ["apply", "is_applied", "remove"]

_OURS = ("auto", "xgrammar")
"""The settings of the backend that mean tokenstile."""

_replaced: list[tuple[Any, str, Any]] = []
"""What was where before."""


def apply() -> None:
    """Replace all of the places, unless that was done before.

    ``AttributeError`` if one is not there, ``RuntimeError`` if the rows of masks lie in a way that is not known.
    """
    if _replaced:
        return
    places = _PLACES + (_BUDGET_PLACES if is_switched_on(VLLM_SWITCH) else ())
    for owner, name, before, after in _changes(places):
        setattr(owner, name, after)
        _replaced.append((owner, name, before))
    logger.info(
        "tokenstile %s answers for structured outputs in place of xgrammar; %s=off leaves them to vLLM",
        __version__,
        SWITCH,
    )


def is_applied() -> bool:
    """Tell whether the places are replaced in this process."""
    return bool(_replaced)


def remove() -> None:
    """Put back what `apply` has replaced; engines that have their backend already keep it."""
    while _replaced:
        owner, name, original = _replaced.pop()
        setattr(owner, name, original)


def _changes(places: Iterable[_Place]) -> list[tuple[Any, str, Any, Any]]:
    """Return what each place has before and after, without changing any; what is listed twice is wrapped twice."""
    latest: dict[tuple[Any, str], Any] = {}
    changes = []
    for owner, name, replacement in places:
        before = latest[owner, name] if (owner, name) in latest else getattr(owner, name)
        latest[owner, name] = replacement(before)
        changes.append((owner, name, before, latest[owner, name]))
    return changes


def _checked_request(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap ``SamplingParams._validate_structured_outputs``: vLLM's general checks, then tokenstile's."""

    @functools.wraps(original)
    def validate(self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any) -> None:  # noqa: ANN401 - of vLLM
        config = structured_outputs_config
        if config is None or self.structured_outputs is None or config.backend not in _OURS:
            original(self, model_config, config, tokenizer)
            return
        if self.structured_outputs._backend == "auto":  # noqa: SLF001 - what an earlier check under `auto` has left
            self.structured_outputs._backend = None  # noqa: SLF001
        with checks.check_follows():
            original(self, model_config, _AsXgrammar(config), tokenizer)
        most = self.max_tokens if is_switched_on(VLLM_SWITCH) else None
        checks.check(
            self.structured_outputs,
            tokenizer,
            model_config.get_vocab_size(),
            config,
            max_tokens=most,
            spelling=checks.chosen_spelling(self),
        )

    return validate


class _AsXgrammar:
    """A view of vLLM's settings in which the backend is fixed, so that no other one is tried."""

    backend = "xgrammar"

    def __init__(self, config: Any) -> None:  # noqa: ANN401 - of vLLM
        self._config = config

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the setting is
        return getattr(self._config, name)


def _native_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``StructuredOutputManager.grammar_bitmask``: native rows for tokenstile's grammars, vLLM's for others.

    Diffusion models fill a canvas, not a text from left to right; vLLM refuses constraints for them and has rows of
    their own, which are left to it.
    """
    rows_lie = layout.find(manager_module.StructuredOutputManager)

    @functools.wraps(original)
    def grammar_bitmask(
        self: Any,  # noqa: ANN401 - of vLLM
        requests: dict[str, Any],
        structured_output_request_ids: list[str],
        scheduled_spec_decode_tokens: dict[str, list[int]],
    ) -> Any:  # noqa: ANN401 - an array, or None
        arguments = (requests, structured_output_request_ids, scheduled_spec_decode_tokens)
        is_ours = isinstance(self.backend, VllmBackend)
        if is_ours and structured_output_request_ids and not self.vllm_config.model_config.is_diffusion:
            return rows.fill(self, rows_lie, *arguments)
        return original(self, *arguments)

    return grammar_bitmask


_PLACES: tuple[_Place, ...] = (
    (manager_module, "XgrammarBackend", lambda _: VllmBackend),
    (backend_xgrammar, "XgrammarBackend", lambda _: VllmBackend),
    (backend_xgrammar, "validate_xgrammar_grammar", lambda _: checks.check_without_tokenizer),
    (vllm.sampling_params.SamplingParams, "_validate_structured_outputs", _checked_request),
    (manager_module.StructuredOutputManager, "grammar_bitmask", _native_rows),
    (manager_module.StructuredOutputManager, "_create_grammar", extras.spelled),
)
"""Where a name is looked up, the name, and what makes the new value of the old one."""

_BUDGET_PLACES: tuple[_Place, ...] = (
    (manager_module.StructuredOutputManager, "_create_grammar", budgets.within_budget),
    (manager_module.StructuredOutputManager, "accept_tokens", budgets.counting),
)
"""The same for outputs that are complete in time."""
