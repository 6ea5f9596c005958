"""The logits processor with torch and transformers themselves."""

from __future__ import annotations

import torch
import transformers

import tokenstile as xgr


def test_greedy_search_follows_the_grammar():
    tokens = ["a", "b", "c", "</s>", "<pad>"]
    info = xgr.TokenizerInfo(tokens, stop_token_ids=[3])
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "b" ("a" | "c"){2}')
    processor = xgr.hf.LogitsProcessor(compiled)
    assert isinstance(processor, transformers.LogitsProcessor)
    config = transformers.GPT2Config(
        vocab_size=len(tokens), n_positions=16, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=3
    )
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(config).eval()
    prompt = torch.zeros((2, 1), dtype=torch.long)
    output = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=8,
        do_sample=True,
        pad_token_id=4,
        logits_processor=[processor],
    )
    for row in output.tolist():
        text = "".join(tokens[token] for token in row[1:])
        assert text.startswith("b")
        assert len(text.split("</s>")[0]) == 3
