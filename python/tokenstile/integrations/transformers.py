"""Transformers: a logits processor for ``generate``, and one for continuous batching.

`GrammarLogitsProcessor` is for ``generate`` in all its modes: greedy, sampling, beams, several outputs of a prompt,
assisted decoding and prompt lookup, with padded prompts. Transformers tells a processor nothing but the tokens so far,
so where each row is in its grammar is derived from them at each call, as `tokenstile.integrations.following` says.

`GrammarBatchingProcessor` is for the manager of continuous batching. That one shows an ordinary processor the last
token of each request only, without saying whose it is, which is why an ordinary processor cannot work there and
refuses. It does show the requests themselves to processors of its own kind, before each forward pass.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from tokenstile._core import CompiledGrammar, GrammarCompiler, GrammarMatcher
from tokenstile.exceptions import InvalidArgumentError, TokenstileError
from tokenstile.integrations.following import Follower, Generation, compiled_grammars
from tokenstile.integrations.masking import MaskBuffer
from tokenstile.tokenizer_info import TokenizerInfo

try:
    import torch
    from transformers import LogitsProcessor
except ImportError as error:
    raise ImportError("this needs torch and transformers: pip install 'tokenstile[transformers]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["GrammarBatchingProcessor", "GrammarLogitsProcessor", "tokenizer_info"]

_LOG: Final = logging.getLogger(__name__)


def tokenizer_info(model: Any, tokenizer: Any) -> TokenizerInfo:  # noqa: ANN401 - classes of transformers
    """Read the vocabulary of a tokenizer, with as many tokens as the model has scores, and all tokens that end a text.

    Chat models often end with a token other than the tokenizer's: the generation config lists them all.
    """
    config = getattr(model, "generation_config", None)
    ends = getattr(config, "eos_token_id", None)
    if ends is None:
        ends = tokenizer.eos_token_id
    stops = {ends} if isinstance(ends, int) else set(ends or ())
    if tokenizer.eos_token_id is not None:
        stops.add(tokenizer.eos_token_id)
    return TokenizerInfo.from_huggingface(
        tokenizer,
        vocab_size=model.get_output_embeddings().weight.shape[0],
        stop_token_ids=sorted(stops) or None,
    )


class GrammarLogitsProcessor(LogitsProcessor):  # type: ignore[misc,unused-ignore] # transformers has no types
    """Holds the outputs of ``generate`` to grammars.

    Given one compiled grammar, all outputs follow it; given several, each prompt of the batch has its own. The first
    call after `reset` says what the prompts are. Calls with other prompts, or with another number of rows, begin anew;
    so a processor may serve one ``generate`` after another. Prompts that go on from those of the generation before are
    an error: call `reset` in between. The exceptions, which look just like one more step of that generation, are
    prompts that are its whole output, and prompts that are a part of an output written with drafts.

    Transformers does not tell a processor how many tokens it may write. Pass ``max_tokens``, the same number as
    ``max_new_tokens``, and each output is complete within it, the token that ends it included; ``TokenBudgetError`` if
    that is too few for any text.
    """

    supports_continuous_batching = True
    """So that transformers does not drop it in silence; `__call__` refuses."""

    def __init__(
        self,
        compiled_grammar: CompiledGrammar | Iterable[CompiledGrammar],
        *,
        max_tokens: int | None = None,
    ) -> None:
        grammars = compiled_grammars(compiled_grammar)
        self._masks = MaskBuffer(grammars[0].tokenizer_info.vocab_size)
        self._generation = Generation(grammars, max_tokens)
        self._has_drafts = False

    def reset(self) -> None:
        """Forget the prompts: the next call is the first of another generation."""
        self._generation.reset()
        self._has_drafts = False

    def _may_shrink(self, input_ids: torch.Tensor) -> bool:
        """Tell whether this generation tries drafts, whose tokens are taken back.

        Transformers does not say so. But only then it passes a part of longer sequences, or passes the same ones twice;
        without drafts each call has new sequences with one token more.
        """
        length, before = input_ids.shape[1], self._generation.length
        if not self._generation.continues(input_ids) or length == self._generation.prompts.shape[1] < before:
            self._has_drafts = False
        stored = input_ids.untyped_storage().nbytes()
        is_part = stored > input_ids.numel() * input_ids.element_size()
        self._has_drafts = self._has_drafts or is_part or length == before
        return self._has_drafts

    @property
    def strayed(self) -> list[bool]:
        """Tell for each row whether its last sequence has a token that its grammar does not allow."""
        return [follower.strayed for follower in self._generation.followers]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Give the scores with those of all tokens that cannot follow ``input_ids`` at minus infinity."""
        if input_ids.dim() != 2:  # noqa: PLR2004 - rows and columns
            raise InvalidArgumentError(
                "a GrammarLogitsProcessor needs whole sequences, which continuous batching does not show: "
                "attach a GrammarBatchingProcessor to its manager"
            )
        followers = self._generation.follow(input_ids, may_shrink=self._may_shrink(input_ids))
        # Prompt lookup passes the same scores several times, so they are not changed in place.
        scores = scores.clone()
        self._masks.forbid(scores, followers)
        return scores


def _batching_processor() -> Any:  # noqa: ANN401 - a class of transformers, or one in its place
    """Find the class that processors of continuous batching have, which older releases do not have."""
    try:
        from transformers.generation.continuous_batching.cb_logits_processors import (  # noqa: PLC0415 - may be missing
            ContinuousBatchingLogitsProcessor,
        )
    except ImportError:
        return object
    return ContinuousBatchingLogitsProcessor


class GrammarBatchingProcessor(_batching_processor()):  # type: ignore[misc] # the class may be missing
    """Holds the requests of a continuous batch to grammars, each to its own or all to a common one.

    Make it for the vocabulary of the model, attach it to a manager before that is started, and give each request its
    grammar: ``manager.add_request(ids, grammar=compiled)``. A request without one follows ``default``, or is free.
    With ``complete_in_time`` an output is complete within the ``max_new_tokens`` of its request. Where no text is so
    short the request gets none, and what would be enough is logged.
    """

    supported_kwargs = {"grammar": CompiledGrammar}  # noqa: RUF012 - the name and the form are transformers'
    ignored_kwargs = ()

    def __init__(
        self,
        info: TokenizerInfo,
        default: CompiledGrammar | None = None,
        *,
        complete_in_time: bool = False,
    ) -> None:
        if _batching_processor() is object:
            raise ImportError("continuous batching with grammars needs transformers 5.20 or later")
        if default is not None and default.tokenizer_info != info:
            raise InvalidArgumentError("the default grammar is compiled for another vocabulary")
        self._info = info
        self._default = default
        self._complete_in_time = complete_in_time
        self._masks = MaskBuffer(info.vocab_size)
        self._followers: dict[str, Follower] = {}
        self._batch: list[Follower | None] = []

    def attach(self, manager: Any) -> None:  # noqa: ANN401 - a manager of transformers
        """Become part of a manager that is not running yet."""
        config = manager.continuous_batching_config
        compiled = config.varlen_compile_config or config.decode_compile_config
        if config.use_async_batching or any(config.cuda_graph_booleans) or compiled:
            # Graphs replay what was computed once, and asynchronous batches begin before their last token is known.
            raise InvalidArgumentError(
                "grammars need ContinuousBatchingConfig(use_async_batching=False, use_cuda_graph=False) and no compile"
            )
        if manager.is_running():
            raise InvalidArgumentError("attach the processor before the manager is started")
        processors = manager.logit_processor
        # In front, so that top-k and top-p choose among what is allowed.
        processors.logits_processor.insert(0, self)
        processors.tensors_required += 1
        processors.supported_keys.update(self.supported_kwargs)
        processors.do_processing = True

    def fill_defaults(self, int32_tensor: torch.Tensor) -> None:
        """Fill what transformers keeps for this processor; masks are not in it."""
        int32_tensor.zero_()

    def prepare_tensor_args(self, requests_with_new_token: list[Any]) -> torch.Tensor:
        """Find out where the requests of the next batch are; transformers calls this before each forward pass."""
        states = [request.state for request in requests_with_new_token]
        self._batch = [self._follow(state) for state in states]
        running = {state.request_id for state in states}
        # A request whose prompt is read in parts has no new token for a while: it begins again, which costs little.
        self._followers = {name: follower for name, follower in self._followers.items() if name in running}
        return torch.zeros(len(states), dtype=torch.int32)

    def _follow(self, state: Any) -> Follower | None:  # noqa: ANN401 - a request of transformers
        grammar = state.logit_processor_kwargs.get("grammar", self._default)
        if grammar is None:
            return None
        follower = self._followers.get(state.request_id)
        if follower is None:
            follower = self._followers[state.request_id] = self._begin(state, grammar)
        follower.move_to(_generated(state))
        return follower

    def _begin(self, state: Any, grammar: CompiledGrammar) -> Follower:  # noqa: ANN401 - a request of transformers
        try:
            if grammar.tokenizer_info != self._info:
                raise InvalidArgumentError("its grammar is compiled for another vocabulary")
            most = _most_tokens(state) if self._complete_in_time else None
            return Follower(GrammarMatcher(grammar, max_tokens=most))
        except TokenstileError as error:
            # An exception would end all requests of the manager, so this one only gets no text.
            _LOG.error("%s gets no text: %s", state.request_id, error)
            return Follower(GrammarMatcher(GrammarCompiler(self._info).compile_grammar('root ::= ""')))

    def __call__(self, scores: torch.Tensor, tensor_arg: torch.Tensor) -> torch.Tensor:  # noqa: ARG002 - see above
        """Give the scores of the batch with those of all tokens that cannot follow at minus infinity."""
        scores = scores.clone()
        self._masks.forbid(scores[: len(self._batch)], self._batch)
        return scores


def _most_tokens(state: Any) -> int | None:  # noqa: ANN401 - a request of transformers
    """Give how many tokens a request may write in all: what was pushed out of the cache is taken off its number."""
    most: int | None = state.max_new_tokens
    return None if most is None else most + len(_generated(state)) - len(state.generated_tokens)


def _generated(state: Any) -> list[int]:  # noqa: ANN401 - a request of transformers
    """Give what a request has written: when it was pushed out of the cache, a part of that has become its prompt."""
    prompt = state._true_initial_tokens  # noqa: SLF001 - the only place that says so
    before: list[int] = state.initial_tokens[prompt:] if prompt else []
    written: list[int] = state.generated_tokens
    return before + written
