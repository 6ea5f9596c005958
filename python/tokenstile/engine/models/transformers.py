"""Models of transformers, with one block of memory for the keys and values of all slots.

Requests that write feed one token, or one and its guesses. They are read in one pass: rows are padded on the right to
one width, and each says by its positions where its keys go and by its mask what it may look at. Padding is written to
one more position that nobody looks at. Prompts are read one by one. Attention must be over the whole sequence: models
with sliding windows or other kinds of state are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tokenstile.exceptions import InvalidArgumentError
from tokenstile.integrations.transformers import tokenizer_info as read_tokenizer

try:
    import torch
    from transformers import Cache
except ImportError as error:
    raise ImportError("this needs torch and transformers: pip install 'tokenstile[transformers]'") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenstile.engine.models import Feed
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["TransformersModel"]

_FEW_TOKENS: Final = 8


class TransformersModel:
    """A causal language model of transformers."""

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - a PreTrainedModel
        tokenizer: Any = None,  # noqa: ANN401 - a tokenizer of transformers
        *,
        info: TokenizerInfo | None = None,
        num_slots: int = 8,
        max_length: int = 1024,
    ) -> None:
        """Take a model and its tokenizer, or the vocabulary in its place; prompts are then lists of tokens."""
        if tokenizer is None and info is None:
            raise InvalidArgumentError("give the model's tokenizer, or its vocabulary as info")
        _check_attention(model.config)
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.tokenizer_info = info or read_tokenizer(model, tokenizer)
        self.num_slots = num_slots
        self.max_length = min(max_length, getattr(model.config, "max_position_embeddings", max_length))
        self._cache = _SlotCache(model, num_slots, self.max_length)

    def encode(self, text: str) -> list[int]:
        """Give the tokens of a text; names of special tokens in it stand for these tokens."""
        if self.tokenizer is None:
            raise InvalidArgumentError("the model has no tokenizer: give prompts as lists of tokens")
        tokens: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return tokens

    def forward(self, feeds: Sequence[Feed]) -> Any:  # noqa: ANN401 - an array of numpy
        """Read tokens. Gives a row of logits for each wanted token."""
        rows: dict[int, torch.Tensor] = {}
        with torch.inference_mode():
            for group in _groups(feeds):
                rows |= zip(group, self._read([feeds[at] for at in group]), strict=True)
            return torch.cat([rows[at] for at in range(len(feeds))]).float().cpu().numpy()

    def _read(self, feeds: Sequence[Feed]) -> list[torch.Tensor]:
        """Read tokens in one pass, padded to the longest."""
        width = max(len(feed.tokens) for feed in feeds)
        tokens = torch.tensor([feed.tokens + [0] * (width - len(feed.tokens)) for feed in feeds])
        positions = torch.tensor([self._positions(feed, width) for feed in feeds])
        device = self.model.device
        self._cache.aim([feed.slot for feed in feeds], positions.to(device))
        output = self.model(
            input_ids=tokens.to(device),
            position_ids=positions.to(device),
            attention_mask=self._mask(positions).to(device),
            past_key_values=self._cache,
            use_cache=True,
        )
        return [
            output.logits[row, len(feed.tokens) - feed.num_logits : len(feed.tokens)]
            for row, feed in enumerate(feeds)
        ]

    def _positions(self, feed: Feed, width: int) -> list[int]:
        """Say where the tokens of a row stand; padding goes behind the longest sequence."""
        count = len(feed.tokens)
        return [*range(feed.position, feed.position + count), *[self.max_length] * (width - count)]

    def _mask(self, positions: torch.Tensor) -> torch.Tensor:
        """Let each token look at its sequence up to itself, as numbers to add to attention's scores."""
        keys = torch.arange(self._cache.used)
        seen = keys[None, None, :] <= positions[:, :, None]
        mask = torch.full(seen.shape, torch.finfo(self.model.dtype).min, dtype=self.model.dtype)
        return mask.masked_fill(seen, 0)[:, None]

    def truncate(self, slot: int, length: int) -> None:
        """Forget the end of a sequence: nobody looks beyond its length, and what is there is written over."""


class _SlotCache(Cache):  # type: ignore[misc,unused-ignore] # transformers has no types
    """Keys and values by slot and position."""

    def __init__(self, model: Any, num_slots: int, max_length: int) -> None:  # noqa: ANN401 - a PreTrainedModel
        super().__init__(layers=[])
        config = model.config
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        # The last position is for padding.
        shape = config.num_hidden_layers, num_slots, heads, max_length + 1, size
        self._keys = torch.zeros(shape, dtype=model.dtype, device=model.device)
        self._values = torch.zeros_like(self._keys)
        self._slots = torch.zeros(0, dtype=torch.long)
        self._positions = self._slots
        self.used = 0
        """How many positions are looked at in this step."""

    def aim(self, slots: list[int], positions: torch.Tensor) -> None:
        """Say which rows and positions the next step writes."""
        self._slots = torch.tensor(slots, device=positions.device)
        self._positions = positions
        padding = self._keys.shape[3] - 1
        self.used = int(positions[positions < padding].max()) + 1

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *args: object,  # noqa: ARG002 - transformers'
        **kwargs: object,  # noqa: ARG002 - transformers'
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep the keys and values of a layer, and give those of the sequences so far."""
        found = []
        for kept, new in ((self._keys, key_states), (self._values, value_states)):
            # The rows are indexed by slot and position, so the heads come last in what is written.
            kept[layer_idx][self._slots[:, None], :, self._positions] = new.transpose(1, 2)
            found.append(kept[layer_idx][self._slots, :, : self.used])
        return found[0], found[1]

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002 - transformers'
        """Give the length of the longest sequence; positions are always said, so nothing depends on it."""
        return self.used


def _groups(feeds: Sequence[Feed]) -> list[list[int]]:
    """Put those that feed a few tokens together, and let prompts go alone: padding costs as much as tokens."""
    few = [at for at, feed in enumerate(feeds) if len(feed.tokens) <= _FEW_TOKENS]
    alone = [[at] for at, feed in enumerate(feeds) if len(feed.tokens) > _FEW_TOKENS]
    return [few, *alone] if few else alone


def _check_attention(config: Any) -> None:  # noqa: ANN401 - a PretrainedConfig
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"} or (
        getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True)
    ):
        raise InvalidArgumentError(f"only models with full attention can be served, not {config.model_type}")
