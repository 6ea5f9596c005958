"""Where a text leaves a grammar, and what was allowed there.

Bytes, not tokens: a matcher without a vocabulary follows the text, and where it stops each of the 256 bytes is tried.
"""

from dataclasses import dataclass
from typing import Any, Final

from tokenstile._core import Grammar, GrammarCompiler, GrammarMatcher
from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["Refusal", "allowed_bytes", "byte_matcher", "find_refusal", "follow", "spell_bytes"]

_ASCII_END: Final = 0x80
_SHOWN_BEFORE: Final = 24


@dataclass(frozen=True)
class Refusal:
    """The first byte of a text that does not fit, or its end where it breaks off too early."""

    offset: int
    line: int
    column: int
    before: str
    """The text just before it."""
    found: str
    """The character that does not fit; empty at the end of the text."""
    allowed: str
    """The bytes that fit there, in words."""
    forced: str
    """What must come there, if only one text can."""
    may_end: bool
    """Whether the text could have ended there."""

    @property
    def is_early_end(self) -> bool:
        """Whether the text fits as far as it goes."""
        return not self.found

    def fields(self) -> dict[str, Any]:
        """Give it for JSON."""
        names = ("offset", "line", "column", "before", "found", "allowed", "forced", "may_end")
        return {name: getattr(self, name) for name in names}


def byte_matcher(grammar: Grammar, info: TokenizerInfo | None = None) -> GrammarMatcher:
    """Give a matcher for texts only; a grammar that names tokens needs their vocabulary."""
    compiler = GrammarCompiler(info or TokenizerInfo([]), cache_enabled=False)
    return GrammarMatcher(compiler.compile_grammar(grammar))


def find_refusal(grammar: Grammar, text: bytes, info: TokenizerInfo | None = None) -> Refusal | None:
    """Follow a text; nothing, if the grammar has it."""
    matcher = byte_matcher(grammar, info)
    offset = follow(matcher, text)
    if offset == len(text) and matcher.is_completed():
        return None
    before = text[:offset].decode(errors="replace")
    return Refusal(
        offset=offset,
        line=before.count("\n") + 1,
        column=len(before) - (before.rfind("\n") + 1) + 1,
        before=before[-_SHOWN_BEFORE:],
        found=text[offset : offset + 4].decode(errors="replace")[:1],
        allowed=spell_bytes(allowed_bytes(matcher)),
        forced="" if matcher.is_completed() else matcher.find_jump_forward_string(),
        may_end=matcher.is_completed(),
    )


def follow(matcher: GrammarMatcher, text: bytes) -> int:
    """Let a matcher take as many bytes of a text as it does, and give their number."""
    taken, size = 0, len(text)
    while taken < len(text) and size:
        # A piece is taken as a whole or not at all: halving it finds the byte that does not fit.
        size = min(size, len(text) - taken)
        if matcher.accept_string(text[taken : taken + size]):
            taken += size
        else:
            size //= 2
    return taken


def allowed_bytes(matcher: GrammarMatcher) -> list[int]:
    """Give the bytes that a matcher would take next."""
    return [byte for byte in range(256) if matcher.fork().accept_string(bytes([byte]))]


def spell_bytes(allowed: list[int]) -> str:
    """Say which bytes these are, as ranges of characters; beyond ASCII they are parts of characters."""
    ascii_bytes = [byte for byte in allowed if byte < _ASCII_END]
    words = [_spell_range(low, high) for low, high in _ranges(ascii_bytes)]
    if len(ascii_bytes) < len(allowed):
        words.append("characters beyond ASCII")
    return ", ".join(words) or "nothing"


def _ranges(values: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for value in values:
        if found and found[-1][1] == value - 1:
            found[-1] = found[-1][0], value
        else:
            found.append((value, value))
    return found


def _spell_range(low: int, high: int) -> str:
    return _spell(low) if low == high else f"{_spell(low)} to {_spell(high)}"


def _spell(byte: int) -> str:
    return repr(chr(byte)) if chr(byte) != "'" else '"\'"'
