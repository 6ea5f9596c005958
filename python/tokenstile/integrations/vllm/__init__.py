"""vLLM's structured outputs, done by tokenstile.

vLLM has no registry of backends: the names of its four are written into its manager, its settings and its checks.
What it has is a documented group of entry points, ``vllm.general_plugins``, whose functions run in every one of its
processes before anything else. `register` is tokenstile's. It puts tokenstile in the place of the backend called
``xgrammar`` and keeps that name, because a new one would be refused by the settings.

Read in this order:

- `tokenstile.integrations.vllm.switch`: whether to do anything at all, by version and by environment;
- `tokenstile.integrations.vllm.patches`: the places in vLLM that are replaced, all of them or none;
- `tokenstile.integrations.vllm.backend`: the two classes that vLLM's manager works with;
- `tokenstile.integrations.vllm.checks`: the check in the front end, whose errors are the client's;
- `tokenstile.integrations.vllm.layout`: where the rows of a request lie, which is not the same in all releases;
- `tokenstile.integrations.vllm.rows`: the masks of a whole batch, with drafts, in one native call;
- `tokenstile.integrations.vllm.extras`: what a request may choose that vLLM has no parameter for;
- `tokenstile.integrations.vllm.budgets`: outputs that are complete within their ``max_tokens``.

What a constraint means and how rows follow drafts is not here but in `tokenstile.structured_output`.
"""

from __future__ import annotations

import sys

from tokenstile.integrations._limits import time_limit, white_space_limit
from tokenstile.integrations.budgets import VLLM_SWITCH, is_switched_on
from tokenstile.integrations.vllm.switch import SUPPORTED_RELEASES, SWITCH, is_wanted, logger

__all__ = ["SUPPORTED_RELEASES", "SWITCH", "is_active", "register"]


def is_active() -> bool:
    """Tell whether vLLM's structured outputs are tokenstile's in this process."""
    patches = sys.modules.get("tokenstile.integrations.vllm.patches")
    return patches is not None and patches.is_applied()


def register() -> bool:
    """Put tokenstile behind vLLM's structured outputs; return whether that was done, now or before.

    vLLM calls it through the entry point, more than once in some processes. It never raises: a plugin that fails would
    take the server with it, and vLLM without tokenstile works as it always did.
    """
    from vllm import __version__  # noqa: PLC0415 - whoever imports this module may not have vLLM

    if not is_wanted(__version__):
        return False
    try:
        time_limit()  # What is wrong with the variables is better known now than at the first request.
        white_space_limit()
        is_switched_on(VLLM_SWITCH)
        from tokenstile.integrations.vllm import patches  # noqa: PLC0415 - imports much of vLLM

        patches.apply()
    except Exception as error:  # noqa: BLE001 - see above
        logger.warning(
            "tokenstile cannot do the structured outputs of vLLM %s, which stay with vLLM's own backends. %s: %s",
            __version__,
            type(error).__name__,
            error,
        )
        return False
    return True
