"""Who asks, as far as turns between clients are concerned."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from starlette.types import Scope

__all__ = ["client_of"]


def client_of(scope: Scope) -> Hashable:
    """Return who sent a request: its machine, or its connection where that is this machine or not known.

    Programs on this machine have one address, and so has everybody behind a proxy that does not name its clients.
    """
    client: tuple[str, int] | None = scope.get("client")
    if client is None:
        return None
    try:
        is_here = ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        is_here = True
    return tuple(client) if is_here else client[0]
