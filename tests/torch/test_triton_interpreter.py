"""The Triton kernel without a GPU: Triton's interpreter runs it on the CPU, in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.timeout(900)  # the interpreter takes its time
def test_the_kernel_in_the_interpreter():
    pytest.importorskip("triton")
    command = [sys.executable, "-m", "pytest", "-q", "-k", "triton", str(TESTS / "test_cuda_kernels.py")]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=TESTS.parent.parent
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) > 50
