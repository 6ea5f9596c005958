"""Run the examples of XGrammar's README and documentation pages, unchanged, over this package under XGrammar's name.

``make test-xgrammar`` does so after the tests. The blocks of a page run one after the other in one namespace, as a
reader would type them. Tokenizers stand for those of a hub as in the tests. A block that needs a model, a GPU, the
network or another program is counted as left out, by what it imports or calls; everything else has to run.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import traceback
import warnings
from pathlib import Path

_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL
)
# A model, a GPU, another program; or a signature, or a list that is left open.
_NEEDS_MORE = re.compile(
    r"AutoModelForCausalLM|import (?:vllm|sglang|mlx|mlc_llm|openai)\b|from (?:vllm|sglang|mlx|mlc_llm|openai)"
    r"|cuda|\[\.\.\.\]|= \.\.\.|^\) -> |\bmodel\.generate|requests\.",
    re.MULTILINE,
)
# What pages take for granted, and call so.
_GIVEN = """
import asyncio, json
import torch
from typing import *
from pydantic import BaseModel
from transformers import AutoConfig, AutoTokenizer
import xgrammar as xgr
from xgrammar import *
model_path = model_name = model_id = "meta-llama/Llama-3.1-8B-Instruct"
tokenizer = AutoTokenizer.from_pretrained(model_path)
config = AutoConfig.from_pretrained(model_path)
vocab_size = full_vocab_size = config.vocab_size
json_schema_string = '{"type": "object"}'
regex_string = "[0-9]+"
ebnf_string = 'root ::= "a"'
lark_string = 'start: "a"'
batch_size = 2
logits = torch.randn(batch_size, vocab_size)
bitmask = xgr.allocate_token_bitmask(1, vocab_size)
token_id = tokenizer.encode("{", add_special_tokens=False)[0]
sample = lambda logits: logits.argmax(dim=-1).tolist()
tokenizer_info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocab_size)
compiler = grammar_compiler = xgr.GrammarCompiler(tokenizer_info)
compiled_grammar = compiler.compile_builtin_json_grammar()
grammar = grammar1 = grammar2 = xgr.Grammar.builtin_json_grammar()
matcher = xgr.GrammarMatcher(compiled_grammar)
"""


def blocks(page: Path) -> list[str]:
    """Give the code of a page."""
    found = []
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        indent = block["indent"]
        found.append("".join(line.removeprefix(indent) for line in block["code"].splitlines(keepends=True)))
    return found


def run_page(page: Path) -> tuple[int, int, list[str]]:
    """Run a page; give how many blocks ran, how many were left out, and what went wrong."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    exec(_GIVEN, namespace)
    ran = left_out = 0
    problems = []
    for at, code in enumerate(blocks(page), 1):
        if _NEEDS_MORE.search(code):
            left_out += 1
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(code, f"{page.name}, block {at}", "exec", dont_inherit=True), namespace)
        except Exception:  # noqa: BLE001 - whatever went wrong is told
            last = traceback.format_exc(limit=-1).splitlines()
            problems.append(
                f"{page.name}, block {at}: {last[-1]}\n    " + "\n    ".join(code.splitlines()[:40])
            )
        else:
            ran += 1
    return ran, left_out, problems


def main(checkout: Path) -> int:
    """Run all pages."""
    import transformers

    from tests.xgrammar_suite import hub
    from tokenstile.compat import install_as_xgrammar

    install_as_xgrammar()
    transformers.AutoTokenizer.from_pretrained = staticmethod(hub.tokenizer)
    transformers.AutoConfig.from_pretrained = staticmethod(hub.config)
    total = [0, 0]
    wrong = []
    for page in [checkout / "README.md", *sorted((checkout / "docs").rglob("*.md"))]:
        ran, left_out, problems = run_page(page)
        total = [total[0] + ran, total[1] + left_out]
        wrong += problems
    print("\n".join(wrong))
    left_out = f"{total[1]} need a model or another program, or are left open"
    print(f"of XGrammar's documented examples {total[0]} run, {len(wrong)} fail, and {left_out}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
