"""The tokenizers of real models beside the checkout; where they are not there, tests that need them are skipped."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import tokenstile as xgr

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "tokenizers"
NAMES = [
    "command_r_plus",
    "deepseek_v3",
    "gemma4",
    "gpt2",
    "gpt_oss",
    "llama2",
    "llama3_1",
    "mistral_nemo",
    "qwen3",
    "smollm2",
]


def read(name, copy):
    """Read one, through a folder with its files as they are published."""
    folder = FOLDER / name
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    (copy / "tokenizer.json").write_bytes(gzip.decompress((folder / "tokenizer.json.gz").read_bytes()))
    config = folder / "tokenizer_config.json"
    (copy / config.name).write_bytes(config.read_bytes())
    return xgr.TokenizerInfo.from_file(copy)
