"""Real tokenizers in the place of those that XGrammar's tests ask a hub for.

The tests name some seventy models, and nothing here reaches a hub. The tokenizers beside the checkout stand for them:
that of the same family where there is one, and another of the same kind where there is none.
"""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from transformers import PreTrainedTokenizerFast

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "tokenizers"

# The first pattern that is found in the name decides.
_STAND_INS = [
    (r"Llama-2|llama-7b|vicuna|Phi-3(\.5)?-mini|Mixtral|chatglm3|Teuken|internlm", "llama2"),
    (r"Llama|Hermes", "llama3_1"),
    (r"gpt-oss", "gpt_oss"),
    (r"(?i)deepseek", "deepseek_v3"),
    (r"(?i)gemma", "gemma4"),
    (r"CohereForAI", "command_r_plus"),
    (r"(?i)mistral", "mistral_nemo"),
    (r"phi-2", "gpt2"),
    (r"", "qwen3"),
]


def _stand_in(name: str) -> str:
    return next(folder for pattern, folder in _STAND_INS if re.search(pattern, str(name)))


class _Shared(PreTrainedTokenizerFast):
    """A tokenizer that is copied by each test, which takes a second, and changed by none."""

    def __deepcopy__(self, _known):
        return self


@cache
def _tokenizer(folder: str):
    source = FOLDER / folder
    if not source.exists():
        pytest.skip(f"{source} is not there")
    config = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    named = {
        key: value["content"] if isinstance(value, dict) else value
        for key, value in config.items()
        if key in {"bos_token", "eos_token", "pad_token", "unk_token"} and value
    }
    with tempfile.TemporaryDirectory() as copy:
        file = Path(copy) / "tokenizer.json"
        file.write_bytes(gzip.decompress((source / "tokenizer.json.gz").read_bytes()))
        return _Shared(tokenizer_file=str(file), **named)


def tokenizer(name, *_arguments, **_options):
    """Stand for `AutoTokenizer.from_pretrained`."""
    return _tokenizer(_stand_in(name))


def config(name, *_arguments, **_options):
    """Stand for `AutoConfig.from_pretrained`: only the number of logits is asked for."""
    source = FOLDER / _stand_in(name)
    if not source.exists():
        pytest.skip(f"{source} is not there")
    size = json.loads((source / "meta.json").read_text(encoding="utf-8"))["logits_size"]
    return SimpleNamespace(vocab_size=size, text_config=SimpleNamespace(vocab_size=size))
