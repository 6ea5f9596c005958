"""A thousand requests over fifty schemas and three tokenizers from eight threads, some cancelled at random.

What is not cancelled must come out as it does alone, one after the other. What each request writes is decided by its
number, so the order of threads does not matter. Nothing may pile up: after each of several rounds with one manager the
memory is what it was, in blocks of Python's and in bytes of the process.
"""

from __future__ import annotations

import ctypes
import gc
import gzip
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tokenstile as xgr
from tokenstile.structured_output import RequestStatus, StructuredOutputManager, StructuredOutputsParams
from tokenstile.testing import bitmask_to_bool_mask

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "tokenizers"
REQUESTS, SCHEMAS, TOKENIZERS, THREADS, STEPS, ROUNDS = 1000, 50, 3, 8, 14, 4
STATM = Path("/proc/self/statm")
# What the allocator of the system may keep of one round and not of another: its arenas belong to threads.
SLACK_BYTES = 16 << 20


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


def make_courses(tokenizers, schemas):
    return [Course(number, tokenizers, schemas) for number in range(REQUESTS)]


def run_together(manager, courses):
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda course: course.run(manager), courses))


@pytest.mark.timeout(900)
def test_many_threads_write_what_one_writes(deepseek, tmp_path):
    """And the memory after the last of several rounds is that after the second: the first fills the caches."""
    tokenizers, schemas = make_tokenizers(deepseek, tmp_path), make_schemas()
    assert len(tokenizers) == TOKENIZERS
    assert len({tokenizer.fingerprint for tokenizer in tokenizers}) == TOKENIZERS
    assert len({json.dumps(schema) for schema in schemas}) == SCHEMAS
    courses = make_courses(tokenizers, schemas)
    assert len({course.tokenizer.fingerprint for course in courses}) == TOKENIZERS
    assert len({course.schema["title"] for course in courses}) == SCHEMAS
    with StructuredOutputManager(compile_workers=2) as manager:
        serial = [course.run(manager) for course in courses]
    assert 100 < sum(result is None for result in serial) < 400, "cancelled"
    with StructuredOutputManager(compile_workers=4) as manager:
        memory = []
        for _ in range(ROUNDS):
            assert run_together(manager, make_courses(tokenizers, schemas)) == serial
            assert_nothing_is_left(manager)
            memory.append(measure_memory())
        stats = manager.get_stats()
    assert stats["requests_total"]["tokenstile"] == ROUNDS * REQUESTS
    assert stats["active_requests"]["tokenstile"] == 0
    assert stats["compiling_requests"]["tokenstile"] == 0
    assert_flat(memory)


def assert_nothing_is_left(manager):
    """No request, compilation, deadline or backend is left over; backends are kept up to their limit."""
    assert not manager._requests
    assert wait_until(lambda: manager._pool.pending() == 0), "those that were cancelled end soon"
    assert not manager._pool._compilations
    assert len(manager._pool._deadlines) <= REQUESTS // 4
    assert len(manager._backends) == TOKENIZERS


def wait_until(condition):
    for _ in range(6000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def measure_memory():
    """Return how many blocks of memory Python holds, and how many bytes the process has, less what is free."""
    gc.collect()
    blocks = sys.getallocatedblocks()
    if not STATM.exists():
        return blocks, 0
    ctypes.CDLL(None).malloc_trim(0)
    return blocks, int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def assert_flat(memory):
    """A block for every tenth request of a round, or a kilobyte for each, would be seen."""
    rounds = len(memory) - 2
    blocks, resident = ([figures[at] for figures in memory] for at in range(2))
    assert blocks[-1] - blocks[1] < rounds * REQUESTS / 10, memory
    assert resident[-1] - resident[1] < SLACK_BYTES, memory
