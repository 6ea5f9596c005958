"""Where answers come from.

A source takes an `Ask` and gives an `Answering`: an answer that can be waited for, read while it is written, or given
up, each from plain and from asynchronous code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from tokenstile.engine.sampling import SamplingParams
    from tokenstile.generation.outputs import Answer, Output

__all__ = ["Answering", "Ask", "Source", "messages_of"]


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt, and what is to come of it."""

    prompt: str | Sequence[Mapping[str, str]]
    system: str | None
    output: Output
    params: SamplingParams


class Answering(Protocol):
    """An answer that is being written. It can be waited for, or gone through once."""

    def result(self) -> Answer:
        """Wait for the whole answer."""
        ...

    async def result_async(self) -> Answer:
        """Wait for the whole answer."""
        ...

    def parts(self) -> Iterator[Answer]:
        """Give the answer so far, each time that there is more of it; the last one is whole."""
        ...

    def parts_async(self) -> AsyncIterator[Answer]:
        """Give the answer so far, each time that there is more of it; the last one is whole."""
        ...

    def cancel(self) -> None:
        """Give it up; nothing happens if it is done."""
        ...


class Source(Protocol):
    """Somebody who answers."""

    def ask(self, ask: Ask, *, stream: bool) -> Answering:
        """Begin an answer, which is gone through in parts if ``stream``."""
        ...


def messages_of(ask: Ask) -> list[dict[str, str]]:
    """Give a prompt as messages, the system's first."""
    system = [{"role": "system", "content": ask.system}] if ask.system else []
    if isinstance(ask.prompt, str):
        return [*system, {"role": "user", "content": ask.prompt}]
    return [*system, *(dict(message) for message in ask.prompt)]
