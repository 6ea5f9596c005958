"""The page about vLLM: its example runs, in a process of its own as vLLM wants it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

from tests.test_docs import ROOT, examples

NAME = 'LLM("HuggingFaceTB/SmolLM2-135M-Instruct")'


def test_the_example(model, tmp_path):
    ((code, _, _),) = examples(ROOT / "docs/integrations/vllm.md")
    assert NAME in code
    # The model lies in a folder, and the machine is small.
    here = f"LLM({model!r}, dtype='bfloat16', max_model_len=512, max_num_seqs=4, enforce_eager=True)"
    script = tmp_path / "example.py"
    script.write_text(code.replace(NAME, here), encoding="utf-8")
    environment = {**os.environ, "VLLM_LOGGING_LEVEL": "INFO", "TOKENSTILE_MAX_WHITESPACE": "2"}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    # vLLM's log is in between.
    printed = re.search(r'^\s*\[\s*"(?:red|green)"', done.stdout, re.MULTILINE)
    assert printed, done.stdout[-4000:]
    colours, _ = json.JSONDecoder().raw_decode(done.stdout, done.stdout.index("[", printed.start()))
    assert sorted(colours) == ["green", "red"]
    said = done.stdout + done.stderr
    assert "answers for structured outputs in place of xgrammar" in said, "what the page says of the log"
