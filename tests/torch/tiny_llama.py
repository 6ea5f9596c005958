"""A Llama with random weights, and a vocabulary of single bytes and some longer tokens."""

from __future__ import annotations

import torch
import transformers

WORDS = ["true", "false", '{"', '":', '"}', "ab", "abc", "12", "  "]
TOKENS = [bytes([byte]) for byte in range(256)] + [word.encode() for word in WORDS] + [b"</s>", b"<pad>"]
STOP, PAD = len(TOKENS) - 2, len(TOKENS) - 1
LOGITS = len(TOKENS) + 13


def llama(seed, layers=2):
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=LOGITS,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        bos_token_id=None,
        eos_token_id=STOP,
        pad_token_id=PAD,
        initializer_range=0.5,
    )
    return transformers.LlamaForCausalLM(config).eval()
