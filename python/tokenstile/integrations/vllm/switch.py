"""Whether tokenstile takes over vLLM's structured outputs: a question of vLLM's version and of one variable.

What is replaced in vLLM is private to it, so only releases that the tests ran with are touched. Everything else is
left alone with a warning, because a server that starts with its own backend is better than one that fails in the
middle of a request.
"""

from __future__ import annotations

import logging
import os
import re

__all__ = ["SUPPORTED_RELEASES", "SWITCH", "is_wanted", "logger"]

SWITCH = "TOKENSTILE_VLLM"
"""The environment variable: ``on`` (or unset), ``off``, or ``force`` for a release that was not tested. It does not
help where one of the patched names is missing, or the rows of masks lie in a way that is not known."""

SUPPORTED_RELEASES = ("0.32", "0.33")
"""The releases of vLLM that the tests run with, without their last number."""

_ON = frozenset({"", "on", "1", "true", "yes", "auto"})
_OFF = frozenset({"off", "0", "false", "no"})

# A child of vLLM's own logger, so that its handlers and its level hold here too.
logger = logging.getLogger("vllm.plugins.tokenstile")


def is_wanted(version: str) -> bool:
    """Decide whether this version of vLLM is to be patched, and say so where the answer is no."""
    choice = os.environ.get(SWITCH, "").strip().lower()
    if choice in _OFF:
        logger.info("tokenstile is switched off by %s=%s", SWITCH, choice)
        return False
    if choice == "force":
        return True
    if choice not in _ON:
        logger.warning(
            "%s=%s is not known and counts as off; it can be on, off or force", SWITCH, os.environ[SWITCH]
        )
        return False
    if release_of(version) in SUPPORTED_RELEASES:
        return True
    logger.warning(
        "tokenstile was not tested with vLLM %s, only with %s, and leaves structured outputs to vLLM's own backends. "
        "%s=force tries it all the same, %s=off silences this.",
        version,
        ", ".join(f"{release}.x" for release in SUPPORTED_RELEASES),
        SWITCH,
        SWITCH,
    )
    return False


def release_of(version: str) -> str:
    """Return the first two numbers of a version: ``0.32`` for ``0.32.0+cpu``."""
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else version
