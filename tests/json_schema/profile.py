"""How much the random tests do.

They draw the same examples each time, so that a green run stays green. To look for more, set
``TOKENSTILE_EXAMPLES=5000``: then every test draws that many, and others each time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

EXAMPLES = os.environ.get("TOKENSTILE_EXAMPLES")


def thorough(examples: int) -> settings:
    """Return settings for a test that draws so many examples by default."""
    return settings(
        max_examples=int(EXAMPLES) if EXAMPLES else examples,
        derandomize=not EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
