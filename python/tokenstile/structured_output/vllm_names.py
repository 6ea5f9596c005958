"""vLLM's names of what a manager does, for code that was written against vLLM's manager.

They are thin: each asks the request that the manager has. A request is given by its id, or as an object with a
``request_id``, as vLLM's are. What differs is said where it does; the manager's own names are the better ones for new
code, since `tokenstile.structured_output.StructuredOutputManager.accept_tokens` follows thoughts by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.params import StructuredOutputsParams
from tokenstile.structured_output.request import RequestStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from tokenstile.structured_output.batch import Drafts, GrammarBitmask
    from tokenstile.structured_output.request import StructuredOutputRequest

__all__ = ["OF_REQUEST", "RequestOfEngine", "VllmNames", "apply_grammar_bitmask", "id_of_request"]

OF_REQUEST: Final[Any] = object()
"""In place of params: those of the request."""


class RequestOfEngine(Protocol):
    """A request as an engine has it: vLLM's, say, with the params and the prompt in it."""

    @property
    def request_id(self) -> str:
        """What the engine calls it."""


class _Manager(Protocol):
    """What the names stand for."""

    def grammar_init(
        self,
        request_id: str,
        params: StructuredOutputsParams | None,
        *,
        prompt_token_ids: Sequence[int],
        stop_token_ids: Collection[int] | None,
    ) -> StructuredOutputRequest:
        """Begin a request."""

    def get(self, request_id: str) -> StructuredOutputRequest:
        """Return a request."""

    def shutdown(self) -> None:
        """Let go of everything."""

    def _fill(
        self,
        requests: Sequence[StructuredOutputRequest],
        drafts: Mapping[str, Drafts] | None,
        out: Any,  # noqa: ANN401 - any array
    ) -> GrammarBitmask: ...


class VllmNames:
    """The methods of vLLM's manager that tokenstile's has by other names."""

    def _begin_for_vllm(self: _Manager, request: Any) -> StructuredOutputRequest:  # noqa: ANN401
        """Begin a request that brings everything itself; its ``structured_output_request`` gets the grammar to come."""
        sampling = getattr(request, "sampling_params", None)
        own = self.grammar_init(
            id_of_request(request),
            _params_of_request(request),
            prompt_token_ids=getattr(request, "prompt_token_ids", None) or (),
            stop_token_ids=getattr(sampling, "all_stop_token_ids", None) or None,
        )
        if own.future is not None:
            request.structured_output_request.grammar = own.future
        return own

    def should_advance(self: _Manager, request: Any, new_token_ids: Sequence[int] | None = None) -> bool:  # noqa: ANN401
        """Tell whether a request's grammar is to read the tokens that it has written.

        It is not while a thought is under way, nor for a request without structure. Tokens of thoughts among
        ``new_token_ids`` are taken here, as vLLM notes here that a thought has ended; what is left for the grammar is
        what `trim_reasoning_for_advance` returns of the same tokens.
        """
        own = self.get(id_of_request(request))
        if own.grammar is None and own.future is None:
            return False
        own.trimmed = 0
        if new_token_ids is None:
            return not own.is_thinking
        own.trimmed = own.take_thought(new_token_ids)
        return own.trimmed < len(new_token_ids)

    def trim_reasoning_for_advance(self: _Manager, request: Any, new_token_ids: Sequence[int]) -> list[int]:  # noqa: ANN401
        """Return the tokens without those of the thought that `should_advance` has taken of them."""
        own = self.get(id_of_request(request))
        trimmed, own.trimmed = own.trimmed, 0
        return list(new_token_ids[trimmed:])

    def should_fill_bitmask(self: _Manager, request: Any) -> bool:  # noqa: ANN401 - an id or a request
        """Tell whether a request's row is filled by its grammar, and not left free."""
        own = self.get(id_of_request(request))
        return own.poll() is RequestStatus.READY and own.grammar is not None and not own.is_thinking

    def clear_backend(self: _Manager) -> None:
        """Let go of everything: `StructuredOutputManager.shutdown`."""
        self.shutdown()

    def _rows_for_vllm(
        self: _Manager,
        request_ids: Iterable[str],
        drafts: Mapping[str, Sequence[int]],
    ) -> npt.NDArray[np.int32] | None:
        """Return the rows of a batch as vLLM's ``grammar_bitmask`` does: nothing for no requests."""
        requests = [self.get(id_of_request(request)) for request in request_ids]
        if not requests:
            return None
        own = {one.request_id: drafts[one.request_id] for one in requests if drafts.get(one.request_id)}
        rows: npt.NDArray[np.int32] = np.asarray(self._fill(requests, own, None).bitmask)
        return rows


def id_of_request(request: Any) -> str:  # noqa: ANN401 - an id or a request
    """Return the id of a request that is given by it, or as an object that has one."""
    request_id = request if isinstance(request, str) else getattr(request, "request_id", None)
    if not isinstance(request_id, str):
        raise InvalidArgumentError(
            f"a request is given by its id or as an object with a request_id, not as {type(request).__name__}"
        )
    return request_id


def _params_of_request(request: Any) -> StructuredOutputsParams | None:  # noqa: ANN401 - vLLM's request
    """Return what a request of vLLM asks for; nothing if it asks for no structure."""
    params = getattr(getattr(request, "structured_output_request", None), "params", None)
    if params is None or isinstance(params, StructuredOutputsParams):
        return params
    known = StructuredOutputsParams.__dataclass_fields__
    given = {name: value for name in known if (value := getattr(params, name, None)) is not None}
    return StructuredOutputsParams(**given)


def apply_grammar_bitmask(scheduler_output: Any, grammar_output: Any, input_batch: Any, logits: Any) -> None:  # noqa: ANN401
    """Apply the rows of a batch to the logits of an engine's batch, in place; the arguments are vLLM's.

    ``grammar_output`` has ``structured_output_request_ids`` and, in their order, the rows of ``grammar_bitmask``: one
    for each request, and one for each of its drafts in ``scheduler_output.scheduled_spec_decode_tokens``. The rows of
    ``logits`` are those of ``input_batch.req_ids``. Rows of requests without structure stay as they are.
    """
    from tokenstile.bitmask import apply_token_bitmask_inplace  # noqa: PLC0415 - only when used

    drafts = scheduler_output.scheduled_spec_decode_tokens
    rows = np.asarray(grammar_output.grammar_bitmask)
    starts, filled = {}, 0
    for request_id in grammar_output.structured_output_request_ids:
        starts[request_id] = filled
        filled += 1 + len(drafts.get(request_id, ()))
    if filled > len(rows):
        raise InvalidArgumentError(f"grammar_bitmask has {len(rows)} rows, and its requests have {filled}")
    in_order = np.full((len(logits), rows.shape[1]), -1, dtype=np.int32)
    indices: list[int] = []
    at = 0
    for request_id in input_batch.req_ids:
        count = 1 + len(drafts.get(request_id, ()))
        if request_id in starts:
            in_order[at : at + count] = rows[starts[request_id] : starts[request_id] + count]
            indices += range(at, at + count)
        at += count
    if at > len(logits):
        raise InvalidArgumentError(f"logits has {len(logits)} rows, and the batch has {at}")
    mask = _on_device(in_order, logits)
    apply_token_bitmask_inplace(logits, mask, indices=None if len(indices) == len(logits) else indices)


def _on_device(rows: npt.NDArray[np.int32], logits: Any) -> Any:  # noqa: ANN401 - arrays of any library
    """Return rows as an array of the library of some logits, and on their device."""
    if isinstance(logits, np.ndarray):
        return rows
    import torch  # noqa: PLC0415 - the logits are its tensors

    return torch.from_numpy(rows).to(logits.device, non_blocking=True)
