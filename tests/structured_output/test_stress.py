"""A thousand requests over fifty schemas and three tokenizers from eight threads, some cancelled at random.

What is not cancelled must come out as it does alone, one after the other. What each request writes is decided by its
number, so the order of threads does not matter. Nothing may pile up: after each round the memory is what it was.
"""

from __future__ import annotations

import ctypes
import gc
import gzip
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.structured_output import RequestStatus, StructuredOutputManager, StructuredOutputsParams
from tokenstile.testing import bitmask_to_bool_mask

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "tokenizers"
REQUESTS, SCHEMAS, THREADS, STEPS = 1000, 50, 8, 14
# Of the memory after the first round, for everything that may grow while caches fill.
SLACK_BYTES = 48 << 20


def make_schemas():
    kinds = [
        {"type": "integer", "minimum": 3},
        {"type": "string", "maxLength": 12},
        {"enum": ["red", "green", None, 7]},
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
        {"type": "number"},
    ]
    return [
        {
            "type": "object",
            "properties": {f"field{at}": kinds[(number + at) % 5] for at in range(number % 4 + 1)},
            "required": [f"field{at}" for at in range(number % 4 + 1)],
            "title": f"schema {number}",
        }
        for number in range(SCHEMAS)
    ]


def make_tokenizers(deepseek, tmp_path):
    """Three real ones where they lie beside the checkout; else one real one, and two that are made of it."""
    if FOLDER.is_dir():
        found = [deepseek]
        for name in ("qwen3", "llama2"):
            folder = tmp_path / name
            folder.mkdir()
            text = gzip.decompress((FOLDER / name / "tokenizer.json.gz").read_bytes())
            (folder / "tokenizer.json").write_bytes(text)
            (folder / "tokenizer_config.json").write_bytes(
                (FOLDER / name / "tokenizer_config.json").read_bytes()
            )
            found.append(xgr.TokenizerInfo.from_file(folder))
        return found
    tokens = deepseek.decoded_vocab
    stop = deepseek.stop_token_ids[0]
    short = [token if len(token) < 5 or at == stop else b"" for at, token in enumerate(tokens)]
    bytewise = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    return [
        deepseek,
        xgr.TokenizerInfo(short, stop_token_ids=[stop]),
        xgr.TokenizerInfo(bytewise, stop_token_ids=[256]),
    ]


class Course:
    """How a request goes, all of it decided by its number."""

    def __init__(self, number, tokenizers, schemas):
        chooser = random.Random(number)  # noqa: S311 - a test
        self.name = str(number)
        self.tokenizer = chooser.choice(tokenizers)
        self.schema = chooser.choice(schemas)
        self.is_cancelled = chooser.random() < 0.2
        self.cancels_late = chooser.random() < 0.5
        self.chooser = chooser

    def run(self, manager):
        """Write an output, and return its tokens with a hash of its masks; nothing if it was cancelled."""
        request = manager.grammar_init(
            self.name, StructuredOutputsParams(json=self.schema), tokenizer=self.tokenizer
        )
        if self.is_cancelled and not self.cancels_late:
            request.cancel()
            manager.release(self.name)
            return None
        request.result(120)
        try:
            return self._write(manager, request)
        finally:
            manager.release(self.name)

    def _write(self, manager, request):
        size = self.tokenizer.vocab_size
        mask = np.empty(xgr.get_bitmask_shape(4, size), dtype=np.int32)
        written, masks = [], []
        for step in range(STEPS):
            if self.is_cancelled and step == STEPS // 2:
                manager.cancel(self.name)
                return None
            if request.status is RequestStatus.FINISHED:
                break
            manager.grammar_bitmask([self.name], out=mask)
            allowed = np.flatnonzero(bitmask_to_bool_mask(mask[0], size))
            token = int(self.chooser.choice(allowed))
            drafts = [token, int(self.chooser.choice(allowed)), -1]
            rows = manager.grammar_bitmask([self.name], {self.name: drafts}, out=mask)
            assert rows.num_acceptable_drafts[0] >= 1
            masks.append(hash(mask.tobytes()))
            assert manager.accept_tokens(self.name, [token])
            written.append(token)
            if self.chooser.random() < 0.1:
                manager.rollback(self.name, 1)
                written.pop()
        return written, masks


def resident_bytes():
    """Memory of the process, after giving back what is free."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.timeout(600)
def test_many_threads_write_what_one_writes(deepseek, tmp_path):
    tokenizers, schemas = make_tokenizers(deepseek, tmp_path), make_schemas()
    assert len({json.dumps(schema) for schema in schemas}) == SCHEMAS

    def courses():
        return [Course(number, tokenizers, schemas) for number in range(REQUESTS)]

    with StructuredOutputManager(compile_workers=2) as manager:
        serial = [course.run(manager) for course in courses()]
    with StructuredOutputManager(compile_workers=4) as manager, ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(lambda course: course.run(manager), courses()))
        stats = manager.get_stats()
    assert together == serial
    cancelled = sum(result is None for result in serial)
    assert 100 < cancelled < 400
    assert stats["requests_total"]["tokenstile"] == REQUESTS
    assert stats["active_requests"]["tokenstile"] == 0
    assert stats["compiling_requests"]["tokenstile"] == 0


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.timeout(600)
def test_memory_stays_flat(deepseek):
    schemas = make_schemas()
    with StructuredOutputManager(compile_workers=2) as manager, ThreadPoolExecutor(THREADS) as pool:
        sizes = []
        for _ in range(4):
            courses = [Course(number, [deepseek], schemas) for number in range(150)]
            list(pool.map(lambda course: course.run(manager), courses))
            sizes.append(resident_bytes())
            assert not manager._requests
            assert manager._pool.pending() == 0
    assert sizes[-1] - sizes[1] < SLACK_BYTES, sizes
