"""Whether a token was forced: whether no text but its own could come.

A token is forced if its bytes lie wholly in the text that must come, however many ways there are to cut that text into
tokens, and wherever the other tokens that fit end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tokenstile._core import GrammarMatcher

__all__ = ["is_forced_text"]

_NUM_BYTES: Final = 256
_ESCAPE: Final = ord("\\")


def is_forced_text(matcher: GrammarMatcher, data: bytes, *, beside_escapes: bool = False) -> bool:
    """Tell whether nothing but these bytes could come next.

    With ``beside_escapes`` a backslash that could come instead does not count: where JSON may be spelled in any way,
    nearly every character may be an escape.
    """
    if not data:
        return False
    if matcher.find_jump_forward_string().encode().startswith(data):
        return True
    if not beside_escapes:
        return False
    probe = matcher.fork()
    return all(_is_alone(probe, byte) and probe.accept_string(bytes([byte])) for byte in data)


def _is_alone(matcher: GrammarMatcher, byte: int) -> bool:
    """Tell whether no other byte than this one and a backslash fits. The matcher is left as it was."""
    if matcher.is_completed():
        return False
    for other in range(_NUM_BYTES):
        if other not in (byte, _ESCAPE) and matcher.accept_string(bytes([other])):
            matcher.rollback(1)
            return False
    return True
