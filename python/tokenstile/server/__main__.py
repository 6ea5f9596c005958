"""``python -m tokenstile.server``: the command ``tokenstile serve``."""

from __future__ import annotations

from tokenstile.cli.serve import main

if __name__ == "__main__":
    main()
