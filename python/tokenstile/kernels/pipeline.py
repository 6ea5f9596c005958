"""Masks made while the forward pass runs: fill on the CPU, copy beside it, apply behind it.

A step of a model takes milliseconds in which the CPU has nothing to do. `MaskPipeline` puts all work on masks there:

.. code-block:: text

    GPU   | forward pass n ------------------------------| apply n | sample n | forward pass n + 1 ---
    copy  |                              [masks of n] ---^
    CPU   | accept tokens of n - 1 | fill masks of n |  (waits for the tokens of n)

The forward pass does not wait for the matchers, for it reads the sampled tokens where they are. So what is left of the
cost of a step is the kernel that applies the masks. For that to be so:

1. Masks are filled into one buffer of pinned memory, so that the GPU copies them by itself, on a stream of its own.
2. The buffer is written again only after it was copied, and the masks on the GPU only after they were applied. Events
   see to both, in whatever order and on whatever stream the caller works.
3. Matchers take tokens and fill masks in one native call each, for the whole batch, without the GIL.

On a device without streams everything is done at once, with the same results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch

from tokenstile._core import BatchGrammarMatcher
from tokenstile.bitmask import Backend, apply_token_bitmask_inplace, get_bitmask_shape
from tokenstile.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokenstile._core import GrammarMatcher

__all__ = ["MaskPipeline"]


class MaskPipeline:
    """The masks of a batch of at most ``max_rows`` outputs, on their way from the matchers to the logits.

    A matcher stands for a row; None is a row that is not constrained. ``device`` is where the logits are,
    ``max_threads`` how many threads fill masks, and ``backend`` the kernel that applies them. A pipeline is used by one
    thread at a time.
    """

    def __init__(
        self,
        max_rows: int,
        vocab_size: int,
        *,
        device: Any = "cuda",  # noqa: ANN401 - what torch takes for a device
        max_threads: int | Literal["auto"] = "auto",
        backend: Backend = "auto",
    ) -> None:
        self._batch = BatchGrammarMatcher(max_threads)
        self._backend: Backend = backend
        shape = get_bitmask_shape(max_rows, vocab_size)
        self._masks = torch.full(shape, -1, dtype=torch.int32, device=device)
        self._device = self._masks.device
        is_gpu = self._device.type == "cuda"
        self._host = torch.full(shape, -1, dtype=torch.int32, pin_memory=is_gpu)
        self._rows = 0
        self._is_sent = True
        self._stream: Any = None
        self._copied: Any = None
        self._applied: Any = None
        if is_gpu:
            self._stream = torch.cuda.Stream(self._device)
            self._copied, self._applied = torch.cuda.Event(), torch.cuda.Event()
            # The masks were made on the current stream.
            self._applied.record(torch.cuda.current_stream(self._device))

    @property
    def bitmask(self) -> Any:  # noqa: ANN401 - a torch tensor
        """The bitmask on the device, as wide as the last batch; only work that is put behind `wait` may read it."""
        return self._masks[: self._rows]

    def accept(self, matchers: Sequence[GrammarMatcher | None], tokens: Iterable[int]) -> list[bool]:
        """Let each matcher take its token; returns which fit. Rows without a matcher, and terminated ones, take any.

        ``tokens`` is a list or an array. For a tensor on the GPU, this waits for it.
        """
        ids = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
        if len(ids) != len(matchers):
            raise InvalidArgumentError(f"there are {len(ids)} tokens for {len(matchers)} matchers")
        rows, live = _live(matchers)
        fits = [True] * len(ids)
        for row, fit in zip(
            rows, self._batch.batch_accept_token(live, [ids[row] for row in rows]), strict=True
        ):
            fits[row] = fit
        return fits

    def fill(self, matchers: Sequence[GrammarMatcher | None]) -> None:
        """Fill the masks of all matchers, and begin to copy them. Rows without a matcher, or terminated, allow all."""
        buffer = self.buffer(len(matchers))
        rows, live = _live(matchers)
        if len(live) < len(matchers):
            buffer[sorted(set(range(len(matchers))).difference(rows))] = -1
        self._batch.batch_fill_next_token_bitmask(live, buffer, rows)
        self.send()

    def advance(self, matchers: Sequence[GrammarMatcher | None], tokens: Iterable[int]) -> list[bool]:
        """Do `accept`, then `fill`: all that is between two steps of a batch, while the next forward pass runs."""
        fits = self.accept(matchers, tokens)
        self.fill(matchers)
        return fits

    def buffer(self, rows: int) -> Any:  # noqa: ANN401 - a torch tensor
        """Return ``rows`` rows of the pinned buffer to write masks into by other means; then call `send`."""
        if not 0 <= rows <= self._host.shape[0]:
            raise InvalidArgumentError(
                f"the pipeline was made for {self._host.shape[0]} rows, not for {rows}"
            )
        if self._copied is not None:
            self._copied.synchronize()
        self._rows, self._is_sent = rows, False
        return self._host[:rows]

    def send(self) -> None:
        """Begin to copy the rows that `buffer` last gave."""
        self._is_sent = True
        if self._stream is None:
            self.bitmask.copy_(self._host[: self._rows])
            return
        with torch.cuda.stream(self._stream):
            self._stream.wait_event(self._applied)
            self.bitmask.copy_(self._host[: self._rows], non_blocking=True)
            self._copied.record(self._stream)
        self._masks.record_stream(self._stream)

    def wait(self) -> None:
        """Let the current stream wait for the copy; the calling thread goes on."""
        if not self._is_sent:
            raise InvalidArgumentError(
                "the masks of this step were not sent: filling them failed, or is not done"
            )
        if self._copied is not None:
            torch.cuda.current_stream(self._device).wait_event(self._copied)

    def apply(
        self,
        logits: Any,  # noqa: ANN401 - a torch tensor
        *,
        vocab_size: int | None = None,
        indices: Any = None,  # noqa: ANN401 - a sequence or a tensor
    ) -> None:
        """Write minus infinity over the logits of the tokens that are forbidden, once the masks are there.

        Nothing waits but the current stream. ``vocab_size`` and ``indices`` are those of
        `tokenstile.apply_token_bitmask_inplace`.
        """
        self.wait()
        apply_token_bitmask_inplace(
            logits, self.bitmask, vocab_size=vocab_size, indices=indices, backend=self._backend
        )
        if self._applied is not None:
            self._applied.record(torch.cuda.current_stream(self._device))


def _live(matchers: Sequence[GrammarMatcher | None]) -> tuple[list[int], list[GrammarMatcher]]:
    """Return the matchers that constrain and have not ended, and their rows."""
    rows, live = [], []
    for row, matcher in enumerate(matchers):
        if matcher is not None and not matcher.is_terminated():
            rows.append(row)
            live.append(matcher)
    return rows, live
