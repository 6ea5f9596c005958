"""The fixtures of the other tests, for these."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("shared_conftest", Path(__file__).parent.parent / "conftest.py")
SHARED = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SHARED)

vocab, info, stop, tiny, match = SHARED.vocab, SHARED.info, SHARED.stop, SHARED.tiny, SHARED.match
