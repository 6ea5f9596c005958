"""The command ``tokenstile``: what the library does, from a shell.

One command a file, and the function in it has the command's name; `app` lists them. What they share:

- `outcome`: exit codes, errors as text or JSON, and what goes to which stream;
- `sources`: grammars named on the command line, of whatever kind;
- `vocabularies`: tokenizers named on the command line, the embedded model's by default;
- `refusal`: where a text leaves a grammar, and what was allowed there;
- `ebnf_tree`, `railroad`: the text of a grammar as a tree, and the tree as a drawing.

It needs the packages of ``tokenstile[cli]``. Nothing here is imported by the library.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command."""
    try:
        from tokenstile.cli.app import app  # noqa: PLC0415 - it needs packages that may be missing
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit(f"the command needs the package {error.name}: pip install 'tokenstile[cli]'")
    app()
