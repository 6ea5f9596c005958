"""Budgets inside of engines that keep thoughts to themselves.

vLLM and SGLang show a grammar the tokens of the answer, and not those of the thought before it, while ``max_tokens``
counts both. So a matcher that keeps within it has to be told how many tokens came before its first one; that may
change, because engines go back over the end of a thought. And a thought has to be ended in time, which the plug-ins do
where their engine lets them.
"""

from __future__ import annotations

import logging
import os
from typing import Final, Protocol

from tokenstile._core import GrammarMatcher
from tokenstile.exceptions import InvalidArgumentError

__all__ = [
    "SGLANG_SWITCH",
    "VLLM_SWITCH",
    "count_thought",
    "is_switched_on",
    "room_for_thought",
]

_LOG: Final = logging.getLogger(__name__)

VLLM_SWITCH: Final = "TOKENSTILE_VLLM_COMPLETE_IN_TIME"
"""The environment variable that lets outputs of vLLM be complete within their ``max_tokens``: ``on``, or ``off`` or
unset."""

SGLANG_SWITCH: Final = "TOKENSTILE_SGLANG_COMPLETE_IN_TIME"
"""The same for outputs of SGLang and their ``max_new_tokens``."""

_ON: Final = frozenset({"on", "1", "true", "yes"})
_OFF: Final = frozenset({"", "off", "0", "false", "no"})


class Holder(Protocol):
    """What has the matcher of one request, and may be given another one."""

    matcher: GrammarMatcher
    thought_tokens: int


def is_switched_on(switch: str) -> bool:
    """Tell whether a variable of the environment is on."""
    choice = os.environ.get(switch, "").strip().lower()
    if choice not in _ON | _OFF:
        raise InvalidArgumentError(f"{switch} is on or off, not {choice!r}")
    return choice in _ON


def room_for_thought(matcher: GrammarMatcher) -> int | None:
    """Return how many tokens may come before an answer that has not begun; ``None`` for any number."""
    left, needed = matcher.tokens_left, matcher.tokens_needed
    return None if left is None or needed is None else left - needed


def count_thought(holder: Holder, tokens: int, request: str) -> None:
    """Tell the matcher of an answer that has not begun how many tokens came before it.

    If the thought was not ended in time the answer cannot be complete in time either. It is then held to the grammar as
    far as it comes, and the engine says that it was cut off.
    """
    matcher = holder.matcher
    if matcher.tokens_left is None or tokens == holder.thought_tokens:
        return
    matcher.reset()
    holder.thought_tokens = tokens
    if tokens and not matcher.accept_string(b"", token_count=tokens):
        _LOG.warning(
            "the answer of %s may be cut off: its thought took %s tokens, and %s of %s are left where %s are needed",
            request,
            tokens,
            max((matcher.tokens_left or 0) - tokens, 0),
            matcher.tokens_left,
            matcher.tokens_needed,
        )
        holder.matcher = GrammarMatcher(
            matcher.compiled_grammar, override_stop_tokens=list(matcher.stop_token_ids)
        )
