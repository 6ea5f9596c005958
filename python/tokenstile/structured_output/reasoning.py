"""Reasoning: the constraint sleeps while the model thinks.

A reasoning model writes thoughts between two markers and then its answer. Only the answer has a structure, so while a
request thinks its rows allow what it likes and its grammar stays where it is. Where a thought begins and ends is
decided here, token by token, by a pure function from a place to the next one (`ReasoningGate.step`). Rolling back is
then keeping the older place, and drafts are followed without touching anything.

Markers are tokens (ids) or texts. A text is found wherever it falls: as one token, spelled by several, or in the middle
of one, in which case what follows it in the same token belongs to the answer and is fed to the grammar. Such a token is
allowed only if that rest fits (`tokenstile.structured_output.thought_rows`).

Where a request starts is said by the last marker of its prompt. Without one there, a model that has no start marker
thinks from the first token on. One that has one may think or not: its grammar is in force at once, and the start marker
is allowed beside it. So a constraint is never skipped because a model chose not to think.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.feeding import Spelling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["GatePosition", "ReasoningGate", "ReasoningMarkers"]

Blocks = Literal["one", "before_content", "anywhere"]


@dataclass(frozen=True, slots=True)
class ReasoningMarkers:
    """How a model marks its thoughts.

    >>> ReasoningMarkers(start="<think>", end="</think>").blocks
    'before_content'
    """

    end: int | str
    """What ends a thought: a token id or a text."""
    start: int | str | None = None
    """What begins one. To begin one in the middle of an output it must be a token, or a text that is one."""
    content_starts: tuple[int, ...] = ()
    """Tokens that end a thought and belong to the answer, such as the opener of a tool call."""
    blocks: Blocks = "before_content"
    """How many thoughts there may be: one, any number before the answer, or any number also inside of it."""
    starts_thinking: bool | None = None
    """Whether a request begins with a thought; ``None`` to find out from the prompt."""


class GatePosition(NamedTuple):
    """Where a request is among its thoughts."""

    thinking: bool
    """Whether a thought is under way."""
    tail: bytes = b""
    """The last bytes of the thought, in which a marker may have begun."""
    ended_blocks: int = 0
    """How many thoughts have ended."""
    has_content: bool = False
    """Whether something of the answer was written."""


Feed = int | bytes | None
"""What a token gives to the grammar: itself, the bytes after a marker in it, or nothing."""


class ReasoningGate:
    """Decides which tokens belong to the answer; immutable, and shared by all requests of a model."""

    def __init__(self, markers: ReasoningMarkers, tokenizer_info: TokenizerInfo) -> None:
        if markers.blocks not in {"one", "before_content", "anywhere"}:
            raise InvalidArgumentError(
                f"blocks must be one, before_content or anywhere, not {markers.blocks!r}"
            )
        self._markers = markers
        self._end = _marker(markers.end, tokenizer_info, "end")
        self._start = None if markers.start is None else _marker(markers.start, tokenizer_info, "start")
        self._start_token = _token_of(self._start, tokenizer_info)
        self._content_starts = frozenset(
            _check_token(token, tokenizer_info, "content start") for token in markers.content_starts
        )
        self._info = tokenizer_info
        # By how many bytes of the end marker came before them: the tokens that have its other bytes, and more.
        self._overshooting: dict[int, tuple[int, ...]] = {}
        # By the same number: the tokens that spell its other bytes.
        self._closings: dict[int, list[int]] = {}
        # What tokens are made of, which only texts ask for.
        is_text = isinstance(self._end, bytes) or isinstance(self._start, bytes)
        self._tokens: list[bytes] = tokenizer_info.decoded_vocab if is_text else []

    def begin(self, prompt_token_ids: Sequence[int] = ()) -> GatePosition:
        """Return where a request with this prompt starts."""
        thinking = self._markers.starts_thinking
        if thinking is None:
            thinking = self._prompt_is_open(list(prompt_token_ids))
        return GatePosition(thinking=thinking)

    def _prompt_is_open(self, prompt: list[int]) -> bool:
        # PERF: prompts are long, so their bytes are looked at only if a marker is a text.
        tokens, size = self._tokens, len(self._tokens)
        texts = [tokens[token] if 0 <= token < size else b"" for token in prompt] if tokens else []
        ended = _last_place(prompt, texts, self._end)
        started = _last_place(prompt, texts, self._start)
        if ended == started == -1:
            return self._start_token is None
        return started > ended

    def open_token(self, position: GatePosition) -> int | None:
        """Return the token that would begin a thought here, if one may."""
        if position.thinking or self._start_token is None:
            return None
        blocks = self._markers.blocks
        if blocks == "anywhere":
            return self._start_token
        if position.has_content or (blocks == "one" and position.ended_blocks):
            return None
        return self._start_token

    def is_settled(self, position: GatePosition) -> bool:
        """Tell whether the answer is under way and no thought can come any more."""
        return not position.thinking and position.has_content and self.open_token(position) is None

    def step(self, position: GatePosition, token: int) -> tuple[GatePosition, Feed]:
        """Return where a token leads, and what of it the grammar is to read."""
        if position.thinking:
            return self._step_in_thought(position, token)
        if token == self.open_token(position):
            return position._replace(thinking=True, tail=b""), None
        return position if position.has_content else position._replace(has_content=True), token

    def _step_in_thought(self, position: GatePosition, token: int) -> tuple[GatePosition, Feed]:
        closed = GatePosition(
            thinking=False, ended_blocks=position.ended_blocks + 1, has_content=position.has_content
        )
        if token in self._content_starts:
            return closed._replace(has_content=True), token
        if isinstance(self._end, int):
            return (closed, None) if token == self._end else (position, None)
        text = position.tail + self._bytes_of(token)
        at = text.find(self._end)
        if at < 0:
            keep = len(self._end) - 1
            return position._replace(tail=text[-keep:] if keep else b""), None
        rest = text[at + len(self._end) :]
        return (closed._replace(has_content=True), rest) if rest else (closed, None)

    def tokens_with_content(self, position: GatePosition) -> list[tuple[int, Feed]]:
        """Return the tokens that give something to the grammar if they come next in a thought, with what they give."""
        found = set(self._content_starts)
        if isinstance(self._end, bytes):
            for count in range(len(self._end)):
                if position.tail.endswith(self._end[:count]):
                    found.update(self._find_overshooting(self._end, count))
        feeds = ((token, self._step_in_thought(position, token)[1]) for token in sorted(found))
        return [(token, feed) for token, feed in feeds if feed is not None]

    def _find_overshooting(self, end: bytes, count: int) -> tuple[int, ...]:
        """Return the tokens that complete a marker of which ``count`` bytes were written, and go on."""
        known = self._overshooting.get(count)
        if known is None:
            rest = end[count:]
            # A marker that lies inside of a token as a whole may have anything before it.
            known = self._overshooting[count] = tuple(
                number
                for number, token in enumerate(self._tokens)
                if len(token) > len(rest) and (token.startswith(rest) if count else rest in token)
            )
        return known

    @cached_property
    def closing_length(self) -> int | None:
        """How many tokens end a thought, wherever it is; ``None`` if no tokens spell its marker."""
        return len(self._close_after(0)) or None

    def closing(self, position: GatePosition) -> list[int]:
        """Return the tokens that end the thought at a place: the fewest, as far as its marker has not begun there."""
        if isinstance(self._end, int):
            return [self._end]
        begun = (
            count for count in range(len(self._end) - 1, 0, -1) if position.tail.endswith(self._end[:count])
        )
        # The marker as one token is less than what is left of it in letters.
        ways = (self._close_after(next(begun, 0)), self._close_after(0))
        return min((way for way in ways if way), key=len, default=[])

    def _close_after(self, count: int) -> list[int]:
        """Return the fewest tokens that spell the end marker but for its first bytes; none if there are none."""
        if isinstance(self._end, int):
            return [self._end]
        known = self._closings.get(count)
        if known is None:
            rest = self._end[count:]
            # A marker may be a control token, which spells no other text.
            token = _token_of(rest, self._info)
            known = self._closings[count] = (self.spell(rest) or []) if token is None else [token]
        return known

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(self._info)

    def spell(self, text: bytes) -> list[int] | None:
        """Return tokens that are a text together, for grammars that cannot read bytes."""
        return self._spelling.spell(text)

    def _bytes_of(self, token: int) -> bytes:
        """Return the bytes of a token; ids that no token has are no text."""
        return self._tokens[token] if 0 <= token < len(self._tokens) else b""


def _last_place(prompt: list[int], texts: Sequence[bytes], marker: int | bytes | None) -> int:
    """Return where a prompt has a marker last, or -1: in bytes if there are texts, or else in tokens."""
    if isinstance(marker, bytes):
        return b"".join(texts).rfind(marker)
    if marker not in prompt:
        return -1
    at = len(prompt) - 1 - prompt[::-1].index(marker)
    return sum(map(len, texts[:at])) if texts else at


def _marker(marker: int | str, info: TokenizerInfo, name: str) -> int | bytes:
    """Check a marker; texts become bytes."""
    if isinstance(marker, str):
        if not marker:
            raise InvalidArgumentError(f"the {name} marker must not be empty")
        return marker.encode()
    return _check_token(marker, info, f"{name} marker")


def _check_token(token: int, info: TokenizerInfo, name: str) -> int:
    if not 0 <= token < info.vocab_size:
        raise InvalidArgumentError(f"the {name} {token} is outside of the vocabulary")
    return token


def _token_of(marker: int | bytes | None, info: TokenizerInfo) -> int | None:
    """Return the token that a marker is, if it is just one."""
    if marker is None or isinstance(marker, int):
        return marker
    try:
        return info.decoded_vocab.index(marker)
    except ValueError:
        return None
